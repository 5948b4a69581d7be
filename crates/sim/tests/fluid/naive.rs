//! Against a naive twin: every flow looked at in every step.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use flowsieve_core::coflow::{Coflow, Demand, LevelRule, Levels, OrderRule, Snapshot};
use flowsieve_core::units::Time;
use flowsieve_sim::fluid::{Crossing, Discipline, Flow, Network, Order, Outcome, Path, Spec, run};
use proptest::prelude::*;

/// Runs flows; when each ends, in ps.
struct Naive<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    /// Work left of those under way, by flow.
    left: BTreeMap<usize, f64>,
    /// Their rates.
    rates: BTreeMap<usize, f64>,
    levels: Option<Levels>,
    /// Keys of the coflows under way, in the order of their beginning, and in that of the rule.
    since: Vec<(u32, Time)>,
    /// How many coflows began before each of them.
    numbers: BTreeMap<u32, usize>,
    begun: usize,
    order: Vec<u32>,
    /// By receiver: its flows as [`Discipline::Smallest`] sorts them.
    queues: BTreeMap<u32, Vec<usize>>,
    /// Aalo's queues of coflows, by key, and the work that each has sent.
    attained: Vec<Vec<u32>>,
    sent: BTreeMap<u32, f64>,
}

impl Naive<'_> {
    fn run(network: &Network, flows: &[Flow], discipline: &Discipline) -> Vec<f64> {
        let levels = match discipline {
            Discipline::Strict { rule, levels, .. } => Some(Levels::new(*rule, *levels)),
            _ => None,
        };
        let (left, rates, since, numbers, begun, order) = Default::default();
        let (queues, attained, sent) = Default::default();
        let mut naive =
            Naive { network, flows, left, rates, levels, since, numbers, begun, order, queues, attained, sent };
        let mut ends = vec![f64::NAN; flows.len()];
        let (mut now, mut begun) = (0.0, 0);
        while begun < flows.len() || !naive.left.is_empty() {
            let start = flows.get(begun).map_or(f64::INFINITY, |flow| flow.start.0 as f64);
            let until = |(flow, left): (&usize, &f64)| now + left / naive.rates[flow];
            let next = naive.left.iter().map(until).fold(start, f64::min);
            for (flow, left) in &mut naive.left {
                *left -= naive.rates[flow] * (next - now);
                *naive.sent.entry(flows[*flow].coflow).or_default() += naive.rates[flow] * (next - now);
            }
            now = next;
            let before = naive.keys();
            // What a thousandth of a ps would do counts as done.
            let over = |(flow, left): (&usize, &f64)| (*left <= naive.rates[flow] * 1e-3).then_some(*flow);
            let over: Vec<usize> = naive.left.iter().filter_map(over).collect();
            for flow in over {
                ends[flow] = now;
                naive.left.remove(&flow);
                naive.rates.remove(&flow);
            }
            let mut renewed = naive.keys() != before;
            while flows.get(begun).is_some_and(|flow| flow.start.0 as f64 <= now) {
                let size = flows[begun].wire as f64 * 8e12;
                let queue = naive.queues.entry(network.paths[flows[begun].path as usize].to).or_default();
                queue.retain(|flow| naive.left.contains_key(flow));
                let place = queue.iter().position(|flow| naive.left[flow] > size).unwrap_or(queue.len());
                queue.insert(place, begun);
                naive.left.insert(begun, size);
                renewed = true;
                begun += 1;
            }
            naive.allocate(now, discipline, renewed);
        }
        ends
    }

    fn keys(&self) -> Vec<u32> {
        let mut keys: Vec<u32> = self.left.keys().map(|&flow| self.flows[flow].coflow).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn renew(&mut self, now: f64, order: &Order) {
        let keys = self.keys();
        self.since.retain(|(key, _)| keys.contains(key));
        for flow in self.left.keys() {
            let key = self.flows[*flow].coflow;
            if !self.since.iter().any(|(other, _)| *other == key) {
                self.since.push((key, Time(now.round() as u64)));
                self.numbers.insert(key, self.begun);
                self.begun += 1;
            }
        }
        let coflow = |&(key, since): &(u32, Time)| {
            let of = |flow: &&Flow| flow.coflow == key && since <= flow.start && flow.start.0 as f64 <= now;
            let flows: Vec<&Flow> = self.flows.iter().filter(of).collect();
            let mut demands = BTreeMap::<u32, f64>::new();
            for (index, flow) in self.flows.iter().enumerate().filter(|(_, flow)| of(flow)) {
                let left = self.left.get(&index).copied().unwrap_or(0.0);
                let work = if order.remaining { left } else { flow.wire as f64 * 8e12 };
                let path = &self.network.paths[flow.path as usize];
                for (port, link) in [
                    (path.from, self.network.up[path.from as usize]),
                    (path.to + self.network.hosts() as u32, self.network.down[path.to as usize]),
                ] {
                    *demands.entry(port).or_default() += work / self.network.rates[link as usize];
                }
            }
            Coflow {
                key,
                since,
                flows: flows.len() as u32,
                longest: flows.iter().map(|flow| flow.payload).max().unwrap(),
                bytes: flows.iter().map(|flow| flow.payload).sum(),
                sent: 0,
                weight: 1.0,
                demands: demands.into_iter().map(|(port, time)| Demand { port, time: time.round() as u64 }).collect(),
            }
        };
        let coflows = self.since.iter().map(coflow).collect();
        let snapshot = Snapshot { ports: 2 * self.network.hosts(), coflows };
        self.order = order.rule.order(&snapshot).into_iter().map(|index| snapshot.coflows[index].key).collect();
        if let Some(levels) = &mut self.levels {
            levels.assign(&self.order);
        }
    }

    fn allocate(&mut self, now: f64, discipline: &Discipline, renewed: bool) {
        let order = match discipline {
            Discipline::MaxMin | Discipline::Equal | Discipline::Smallest | Discipline::Attained { .. } => None,
            Discipline::Strict { order, .. }
            | Discipline::Greedy(order)
            | Discipline::Madd(order)
            | Discipline::MaddByDeadline(order)
            | Discipline::Shares(order) => Some(order),
        };
        if let Some(order) = order.filter(|_| renewed) {
            self.renew(now, order);
        }
        let mut free = self.network.rates.clone();
        match discipline {
            Discipline::MaxMin => {
                let all = self.left.keys().copied().collect();
                self.water(all, &mut free);
            }
            Discipline::Strict { levels, .. } => {
                let order = self.order.clone();
                // The same levels again.
                let of = self.levels.as_mut().unwrap().assign(&order).clone();
                for level in 0..*levels {
                    let class = self.left.keys().filter(|flow| usize::from(of[&self.flows[**flow].coflow]) == level);
                    self.water(class.copied().collect(), &mut free);
                }
            }
            Discipline::Greedy(_) => {
                self.rates = self.left.keys().map(|&flow| (flow, 0.0)).collect();
                for key in self.order.clone() {
                    let mut flows = self.of(key);
                    let path = |flow: usize| &self.network.paths[self.flows[flow].path as usize];
                    flows.sort_by_key(|&flow| (path(flow).from, path(flow).to, flow));
                    self.fill(flows, &mut free);
                }
            }
            Discipline::Madd(_) | Discipline::MaddByDeadline(_) if renewed => {
                self.rates = self.left.keys().map(|&flow| (flow, 0.0)).collect();
                let mut skipped = Vec::new();
                for key in self.order.clone() {
                    let flows: Vec<usize> = self.of(key);
                    let wanted =
                        |link: usize| flows.iter().map(|&flow| self.share(flow, link) * self.left[&flow]).sum();
                    let wanted: Vec<f64> = (0..free.len()).map(wanted).collect();
                    let time = |(wanted, free): (&f64, &f64)| if *wanted > 0.0 { wanted / free } else { 0.0 };
                    let bottleneck = wanted.iter().zip(&free).map(time).fold(0.0, f64::max);
                    if bottleneck == f64::INFINITY {
                        skipped.push(key);
                        continue;
                    }
                    for flow in flows {
                        self.rates.insert(flow, self.left[&flow] / bottleneck);
                    }
                    for (free, (wanted, rate)) in free.iter_mut().zip(wanted.iter().zip(&self.network.rates)) {
                        *free = nothing(*free - wanted / bottleneck, *rate);
                    }
                }
                self.fill_fairly(skipped.into_iter().flat_map(|key| self.of(key)).collect(), &mut free);
                let mut rest = self.since.clone();
                if let Discipline::MaddByDeadline(_) = discipline {
                    rest.sort_by(|one, other| self.deadline(*one, now).total_cmp(&self.deadline(*other, now)));
                }
                for (key, _) in rest {
                    self.fill(self.of(key), &mut free);
                }
            }
            Discipline::Equal => {
                let flows = |link: usize| self.left.keys().map(|&flow| self.share(flow, link)).sum::<f64>();
                let part: Vec<f64> = (0..free.len()).map(|link| free[link] / flows(link)).collect();
                let least =
                    |&flow: &usize| self.links(flow).map(|link| part[link.link as usize]).fold(f64::INFINITY, f64::min);
                self.rates = self.left.keys().map(|flow| (*flow, least(flow))).collect();
            }
            Discipline::Smallest => {
                self.rates = self.left.keys().map(|&flow| (flow, 0.0)).collect();
                let mut senders = Vec::new();
                for queue in self.queues.clone().into_values() {
                    let from = |flow: usize| self.network.paths[self.flows[flow].path as usize].from;
                    let can = |&flow: &usize| {
                        self.left.contains_key(&flow)
                            && !senders.contains(&from(flow))
                            && self.links(flow).all(|link| free[link.link as usize] > 0.0)
                    };
                    if let Some(flow) = queue.into_iter().find(can) {
                        senders.push(from(flow));
                        self.fill(vec![flow], &mut free);
                    }
                }
            }
            Discipline::Shares(_) | Discipline::Attained { .. } if renewed => {
                if let Discipline::Attained { first, factor, queues } = discipline {
                    self.fall(*first, *factor, *queues);
                }
                self.rates = self.left.keys().map(|&flow| (flow, 0.0)).collect();
                for key in self.order.clone() {
                    self.fill_fairly(self.of(key), &mut free);
                }
            }
            Discipline::Madd(_)
            | Discipline::MaddByDeadline(_)
            | Discipline::Shares(_)
            | Discipline::Attained { .. } => {}
        }
    }

    /// A coflow's deadline, as CoflowSim has it: its bottleneck's time, drawn longer, after its start.
    fn deadline(&self, (key, since): (u32, Time), now: f64) -> f64 {
        let mut work = BTreeMap::<(bool, u32), f64>::new();
        for flow in self.flows.iter().filter(|flow| flow.coflow == key && since <= flow.start) {
            if flow.start.0 as f64 <= now {
                let path = &self.network.paths[flow.path as usize];
                *work.entry((true, path.from)).or_default() += flow.wire as f64 * 8e12;
                *work.entry((false, path.to)).or_default() += flow.wire as f64 * 8e12;
            }
        }
        let link =
            |up: bool, host: u32| if up { self.network.up[host as usize] } else { self.network.down[host as usize] };
        let time = |(&(up, host), work): (&(bool, u32), &f64)| work / self.network.rates[link(up, host) as usize];
        let bottleneck = work.iter().map(time).fold(0.0, f64::max).round();
        // `new Random(17)`, and its `nextDouble` of each coflow before.
        let mut state: u64 = 17 ^ 0x5DEECE66D;
        let mut next = |bits: u32| {
            state = (state.wrapping_mul(0x5DEECE66D) + 11) % (1 << 48);
            state >> (48 - bits)
        };
        let drawn = (0..=self.numbers[&key]).map(|_| next(26) * (1 << 27) + next(27)).last().unwrap();
        since.0 as f64 + bottleneck * (1.0 + drawn as f64 / (1u64 << 53) as f64) * 1_000.0 / 1_024.0
    }

    /// Orders coflows by the queues of what they have sent.
    fn fall(&mut self, first: u64, factor: u64, queues: usize) {
        let keys = self.keys();
        self.attained.resize(queues, Vec::new());
        self.attained.iter_mut().for_each(|queue| queue.retain(|key| keys.contains(key)));
        self.sent.retain(|key, _| keys.contains(key));
        for flow in self.left.keys() {
            let key = self.flows[*flow].coflow;
            if !self.attained.iter().flatten().any(|other| *other == key) {
                self.attained[0].push(key);
                self.sent.insert(key, 0.0);
            }
        }
        for queue in 0..queues - 1 {
            let limit = (first * factor.pow(queue as u32)) as f64 * 8e12;
            // Half a byte less has been sent by those that have sent it but for rounding.
            let falls = |key: &u32| self.sent[key] >= limit - 4e12;
            let (fall, stay): (Vec<u32>, Vec<u32>) = self.attained[queue].iter().partition(|key| falls(key));
            self.attained[queue] = stay;
            self.attained[queue + 1].extend(fall);
        }
        self.order = self.attained.iter().flatten().copied().collect();
    }

    fn links(&self, flow: usize) -> impl Iterator<Item = &Crossing> {
        self.network.paths[self.flows[flow].path as usize].links.iter()
    }

    /// The flows of a coflow, by number.
    fn of(&self, key: u32) -> Vec<usize> {
        self.left.keys().copied().filter(|&flow| self.flows[flow].coflow == key).collect()
    }

    /// Each of some flows gets all that is left, in turn.
    fn fill(&mut self, flows: Vec<usize>, free: &mut [f64]) {
        for flow in flows {
            let of = |link: &Crossing| free[link.link as usize] / link.share;
            let links = &self.network.paths[self.flows[flow].path as usize].links;
            let rate = links.iter().map(of).fold(f64::INFINITY, f64::min);
            for link in links {
                let link_rate = self.network.rates[link.link as usize];
                let free = &mut free[link.link as usize];
                *free = nothing(*free - rate * link.share, link_rate);
            }
            *self.rates.get_mut(&flow).unwrap() += rate;
        }
    }

    /// Flows share what each link has left; only those that have something left everywhere count.
    fn fill_fairly(&mut self, flows: Vec<usize>, free: &mut [f64]) {
        let open = |flow: &usize| self.links(*flow).all(|link| free[link.link as usize] > 0.0);
        let flows: Vec<usize> = flows.into_iter().filter(open).collect();
        let together = |link: usize| flows.iter().map(|&flow| self.share(flow, link)).sum::<f64>();
        let of = |link: &Crossing| free[link.link as usize] / together(link.link as usize);
        let more: Vec<f64> = flows.iter().map(|&flow| self.links(flow).map(of).fold(f64::INFINITY, f64::min)).collect();
        for (&flow, more) in flows.iter().zip(more) {
            for link in &self.network.paths[self.flows[flow].path as usize].links {
                let rate = self.network.rates[link.link as usize];
                let free = &mut free[link.link as usize];
                *free = nothing(*free - more * link.share, rate);
            }
            *self.rates.get_mut(&flow).unwrap() += more;
        }
    }

    fn share(&self, flow: usize, link: usize) -> f64 {
        let links = &self.network.paths[self.flows[flow].path as usize].links;
        links.iter().filter(|crossing| crossing.link as usize == link).map(|crossing| crossing.share).sum()
    }

    /// Water-filling: the link with the least for each of its flows, again and again.
    fn water(&mut self, mut rising: Vec<usize>, free: &mut [f64]) {
        while !rising.is_empty() {
            let flows = |link: usize| rising.iter().map(|&flow| self.share(flow, link)).sum::<f64>();
            let level =
                |link: usize| if flows(link) > 0.0 { (free[link] / flows(link)).max(0.0) } else { f64::INFINITY };
            let link = (0..free.len()).min_by(|&a, &b| level(a).total_cmp(&level(b))).unwrap();
            let level = level(link);
            let (full, rest): (Vec<usize>, _) = rising.iter().partition(|&&flow| self.share(flow, link) > 0.0);
            for flow in full {
                self.rates.insert(flow, level);
                for (other, free) in free.iter_mut().enumerate() {
                    *free -= level * self.share(flow, other);
                }
            }
            free[link] = 0.0;
            rising = rest;
        }
    }
}

fn outcome(network: &Network, flows: &[Flow], discipline: &Discipline) -> Outcome {
    run(&Spec { network, flows, discipline, until: Time::NEVER }, &mut |_| ControlFlow::Continue(()))
}

fn nothing(free: f64, rate: f64) -> f64 {
    if free > 1e-9 * rate { free } else { 0.0 }
}

/// Two racks of two hosts with two ways between them: a flow takes one, or each by a half.
fn racks(host: f64, between: f64) -> Network {
    let whole = |link| Crossing { link, share: 1.0 };
    let half = |link| Crossing { link, share: 0.5 };
    let mut paths = Vec::new();
    for (from, to) in (0..4u32).flat_map(|from| (0..4).map(move |to| (from, to))) {
        let (up, down) = (whole(from), whole(4 + to));
        if from / 2 == to / 2 {
            paths.push(Path { from, to, links: vec![up, down] });
            continue;
        }
        let first = 8 + 2 * (from / 2);
        paths.extend([first, first + 1].map(|link| Path { from, to, links: vec![up, whole(link), down] }));
        paths.push(Path { from, to, links: vec![up, half(first), half(first + 1), down] });
    }
    let rates = [vec![host; 8], vec![between; 4]].concat();
    Network { rates, up: (0..4).collect(), down: (4..8).collect(), paths }
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0u64..3, 0usize..32, 1u64..3_000_000, 0u32..5);
    prop::collection::vec(flow, 1..25).prop_map(|flows| {
        let paths = racks(1e10, 1e10).paths.len();
        let flow = |(start, path, bytes, coflow): (u64, usize, u64, u32)| Flow {
            start: Time::from_us(700 * start),
            payload: bytes,
            wire: bytes + bytes / 20 + 40,
            path: (path % paths) as u32,
            coflow,
        };
        let mut flows: Vec<Flow> = flows.into_iter().map(flow).collect();
        flows.sort_by_key(|flow| flow.start);
        flows
    })
}

/// A rule whose ties no rounding decides, and what it looks at.
fn order() -> impl Strategy<Value = Order> {
    use OrderRule::{Bssi, Fifo, Ncf, Scf, Sebf, Tcf};
    let rule = prop::sample::select(vec![Bssi, Sebf, Scf, Ncf, Tcf, Fifo]);
    (rule, any::<bool>()).prop_map(|(rule, remaining)| Order { rule, remaining, weights: Default::default() })
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    let rule = prop::sample::select(vec![LevelRule::Rank, LevelRule::Sparse { slack: 1 }]);
    prop_oneof![
        Just(Discipline::MaxMin),
        (order(), rule, 1usize..4).prop_map(|(order, rule, levels)| Discipline::Strict { order, rule, levels }),
        order().prop_map(Discipline::Greedy),
        order().prop_map(Discipline::Madd),
        order().prop_map(Discipline::MaddByDeadline),
        Just(Discipline::Equal),
        Just(Discipline::Smallest),
        order().prop_map(Discipline::Shares),
        (1u64..1_000_000, 2u64..5, 1usize..5).prop_map(|(first, factor, queues)| Discipline::Attained {
            first,
            factor,
            queues
        }),
    ]
}

fn ends_as_the_twin(network: &Network, flows: &[Flow], discipline: &Discipline) -> Result<(), TestCaseError> {
    let ends = outcome(network, flows, discipline).ends;
    for (found, expected) in ends.iter().zip(Naive::run(network, flows, discipline)) {
        let found = found.expect("each ends").0 as f64;
        prop_assert!((found - expected).abs() <= 50.0, "{found} {expected}\n{ends:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn ends__are_those_of_the_naive_twin(
        flows in flows(), discipline in disciplines(), between in prop::sample::select(vec![4e9, 1e10, 4e10]),
    ) {
        ends_as_the_twin(&racks(1e10, between), &flows, &discipline)?;
    }

    /// Without links between racks, where receivers that nothing has changed for are passed over.
    #[test]
    fn ends__behind_one_switch(flows in flows(), discipline in disciplines()) {
        let mut network = racks(1e10, 1e10);
        network.rates.truncate(8);
        network.paths.iter_mut().for_each(|path| path.links.retain(|crossing| crossing.link < 8));
        ends_as_the_twin(&network, &flows, &discipline)?;
    }

    /// No link carries more than its rate allows until the last end, and what has crossed it is what flows had there.
    #[test]
    fn links__carry_what_they_can(flows in flows(), discipline in disciplines()) {
        let network = racks(1e10, 4e9);
        let outcome = outcome(&network, &flows, &discipline);
        let last = flows.last().unwrap().start;
        let mut crossed = vec![0.0; network.rates.len()];
        let mut most = vec![0.0; network.rates.len()];
        for (flow, end) in flows.iter().zip(&outcome.ends) {
            for crossing in &network.paths[flow.path as usize].links {
                let bytes = flow.wire as f64 * crossing.share;
                most[crossing.link as usize] += bytes;
                if end.unwrap() <= last {
                    crossed[crossing.link as usize] += bytes;
                }
            }
        }
        for (link, &bytes) in outcome.crossed.iter().enumerate() {
            let can = network.rates[link] / 8.0 * last.as_secs();
            prop_assert!(bytes <= can * (1.0 + 1e-6) + 1.0, "{bytes} of {can}");
            prop_assert!(bytes >= crossed[link] - 1.0 && bytes <= most[link] + 1.0);
        }
    }
}
