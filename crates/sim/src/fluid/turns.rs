//! Coflow by coflow, each with equal shares for its flows: the rates of CoflowSim's Aalo (`CoflowSimulatorDark.java`, by the
//! author of SIGCOMM 2015).
//!
//! The flows of a coflow share what its predecessors leave of each link equally, and a flow gets the least of its links'
//! shares. What a flow cannot use of a share goes to the next coflow, not to its own. A flow with a full link waits.
//!
//! Coflows come in an order that a rule makes, or in Aalo's queues (D-CLAS, §4.2). There a coflow falls from queue to
//! queue by the bytes that it has sent. The coflows of a queue are served in the order in which they entered it. As in
//! CoflowSim and unlike in the paper, a queue is served before the next one. Coflows fall only when rates are renewed:
//! when a coflow comes or ends.

use flowsieve_core::controllers::coordinator::attained_level;
use flowsieve_core::units::Time;

use crate::fluid::coflow_rates::CoflowRates;
use crate::fluid::coflows::Coflows;
use crate::fluid::engine::{Flow, Sharing};
use crate::fluid::network::{Network, bytes};

pub(crate) struct Turns<'a> {
    rates: CoflowRates<'a>,
    /// Aalo's queues; `None`: a rule orders coflows.
    queues: Option<Queues>,
    /// The slots of coflows in order.
    order: Vec<u32>,
    /// A coflow came or ended, so rates must be renewed.
    renewed: bool,
}

impl<'a> Turns<'a> {
    pub(crate) fn in_order(network: &'a Network, flows: &'a [Flow]) -> Turns<'a> {
        Turns { rates: CoflowRates::new(network, flows), queues: None, order: Vec::new(), renewed: false }
    }

    /// `first`, `factor` and `queues` as in [`crate::fluid::Discipline::Attained`].
    pub(crate) fn attained(
        network: &'a Network,
        flows: &'a [Flow],
        first: u64,
        factor: u64,
        queues: usize,
    ) -> Turns<'a> {
        let queues = Queues { first, factor, slots: vec![Vec::new(); queues], sent: Vec::new() };
        Turns { queues: Some(queues), ..Turns::in_order(network, flows) }
    }
}

/// The queues of D-CLAS.
struct Queues {
    /// Bytes at which a coflow leaves the first queue, and the factor from each limit to the next.
    first: u64,
    factor: u64,
    /// By queue: the slots of coflows in the order in which they entered it.
    slots: Vec<Vec<u32>>,
    /// By slot: the work that a coflow has sent.
    sent: Vec<f64>,
}

impl Queues {
    /// Adds a coflow, which has sent nothing.
    fn add(&mut self, slot: u32) {
        if self.sent.len() <= slot as usize {
            self.sent.resize(slot as usize + 1, 0.0);
        }
        self.sent[slot as usize] = 0.0;
        self.slots[0].push(slot);
    }

    fn remove(&mut self, slot: u32) {
        self.slots.iter_mut().for_each(|queue| queue.retain(|&other| other != slot));
    }

    /// Moves coflows to the queues of what they have sent. Those that leave a queue enter the next in the same order.
    fn fall(&mut self) {
        let queues = self.slots.len();
        for queue in 0..queues {
            let (sent, first, factor) = (&self.sent, self.first, self.factor);
            let falls = |&mut slot: &mut u32| {
                attained_level(bytes(sent[slot as usize]), first, factor, queues) as usize > queue
            };
            let fallen: Vec<u32> = self.slots[queue].extract_if(.., falls).collect();
            if let Some(next) = self.slots.get_mut(queue + 1) {
                next.extend(fallen);
            }
        }
    }
}

impl Sharing for Turns<'_> {
    fn advance(&mut self, to: Time, _: &mut Coflows<'_>, ended: &mut Vec<(u32, Time)>) {
        let before = ended.len();
        let Some(queues) = &mut self.queues else { return self.rates.advance(to, ended, |_, _| {}) };
        self.rates.advance(to, ended, |slot, work| queues.sent[slot as usize] += work);
        if ended.len() > before {
            let over = |slot: &u32| self.rates.coflows[*slot as usize].is_empty();
            for slot in self.order.extract_if(.., |slot| over(slot)) {
                queues.remove(slot);
                self.renewed = true;
            }
        }
    }

    fn begin(&mut self, _: Time, flow: u32, slot: u32) {
        self.rates.begin(flow, slot);
        if let Some(queues) = &mut self.queues {
            if self.rates.coflows[slot as usize].len() == 1 {
                queues.add(slot);
            }
            self.renewed = true;
        }
    }

    fn tell_left(&mut self, _: Time, coflows: &mut Coflows<'_>) {
        self.rates.tell_left(coflows);
    }

    fn order(&mut self, order: &[u32], _: &Coflows<'_>) {
        self.order.clear();
        self.order.extend(order);
        self.renewed = true;
    }

    fn allocate(&mut self, now: Time, coflows: &mut Coflows<'_>) {
        if !std::mem::take(&mut self.renewed) {
            return;
        }
        if let Some(queues) = &mut self.queues {
            queues.fall();
            self.order.clear();
            self.order.extend(queues.slots.iter().flatten());
        }
        self.rates.renew(now, coflows);
        for &slot in &self.order {
            self.rates.stop(slot, now);
            self.rates.share(&[slot], now);
        }
        self.rates.finish();
    }

    fn next(&self) -> Time {
        self.rates.next()
    }

    fn each_left(&self, now: Time, visit: &mut dyn FnMut(u32, f64)) {
        self.rates.each_left(now, visit);
    }
}
