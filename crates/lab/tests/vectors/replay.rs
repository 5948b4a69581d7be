//! Holds a port against vectors: each call, and each decision.

use std::sync::{Arc, Mutex};

use flowsieve_core::controller::{Published, Table};
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Meta, PortScheduler, Time};

use super::line::{Arrive, Leave, Line, Parameter, Parameters, TableArrives, Victim};
use super::record::parameters;
use flowsieve_sim::in_memory::{Cause, Event, InMemory};

/// What a port decides about a packet that arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Whether it takes it.
    pub(super) queued: bool,
    /// The queue that it is for.
    pub(super) queue: u8,
    /// Whether it marks it now.
    pub(super) marked: bool,
    /// The packets that make room, by number.
    pub(super) victims: Vec<Victim>,
}

/// What vectors have said, and a port has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replayed {
    /// Packets that arrived.
    pub(super) arrived: u64,
    /// Packets that were turned away.
    pub(super) dropped: u64,
    /// Packets that made room for others.
    pub(super) evicted: u64,
    /// Packets that were marked as they arrived or left.
    pub(super) marked: u64,
    /// Packets that left.
    pub(super) left: u64,
    /// Changes of parameters, the first values of a case included.
    pub(super) parameters: u64,
    /// Tables.
    pub(super) tables: u64,
}

/// Why a port does not conform.
#[derive(Debug, thiserror::Error)]
pub(super) enum Differs {
    /// The port cannot take a table.
    #[error("line {line}: {why}")]
    Refused {
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// The port decided otherwise.
    #[error("line {line}: {field:?} is {found} at the port, {expected} in the vectors")]
    Field {
        /// The line, from 1.
        line: usize,
        /// What differs.
        field: Field,
        /// What the port did.
        found: String,
        /// What the vectors say.
        expected: String,
    },
}

/// A part of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Whether an arriving packet is queued.
    Queued,
    /// The queue.
    Queue,
    /// The mark.
    Marked,
    /// The packets that make room.
    Victims,
    /// The packet that leaves, and when.
    Leaves,
    /// The parameters.
    Parameters,
}

/// Plays vectors to a port, and stops at the first decision that differs.
///
/// # Errors
/// Fails if a decision differs, or if the port refuses a table.
pub(super) fn replay(lines: &[Line], port: &mut Memory<'_>) -> Result<Replayed, Differs> {
    let mut replayed = Replayed::default();
    let mut in_force = Parameters::default();
    for (number, line) in (1..).zip(lines) {
        match line {
            Line::Begin(_) => {
                in_force = Parameters::default();
                port.begin();
            }
            Line::Arrive(arrive) => {
                let decided = port.arrive(arrive);
                replayed.arrived += 1;
                replayed.dropped += u64::from(!arrive.queued);
                replayed.evicted += arrive.victims.len() as u64;
                replayed.marked += u64::from(arrive.marked);
                same(number, Field::Queued, &decided.queued, &arrive.queued)?;
                same(number, Field::Queue, &decided.queue, &arrive.queue)?;
                same(number, Field::Marked, &decided.marked, &arrive.marked)?;
                let sorted = |mut victims: Vec<Victim>| {
                    victims.sort_unstable();
                    victims
                };
                same(number, Field::Victims, &sorted(decided.victims), &sorted(arrive.victims.clone()))?;
            }
            Line::Leave(leave) => {
                replayed.left += 1;
                replayed.marked += u64::from(leave.marked);
                let expected = Leave { drawn: Vec::new(), ..leave.clone() };
                same(number, Field::Leaves, &port.leave(Time(expected.at)), &Some(expected))?;
            }
            Line::Parameters(parameters) => {
                replayed.parameters += 1;
                in_force.update(parameters);
                same(number, Field::Parameters, &sorted(port.parameters()), &sorted(in_force.values.clone()))?;
            }
            Line::Table(table) => {
                replayed.tables += 1;
                port.table(table).map_err(|why| Differs::Refused { line: number, why })?;
            }
        }
    }
    Ok(replayed)
}

/// Sorts parameters by name and queue: a port may list them in another order.
fn sorted(mut values: Vec<Parameter>) -> Vec<Parameter> {
    values.sort_by(|one, other| (&one.name, one.queue).cmp(&(&other.name, other.queue)));
    values
}

fn same<T: PartialEq + std::fmt::Debug>(line: usize, field: Field, found: &T, expected: &T) -> Result<(), Differs> {
    if found == expected {
        return Ok(());
    }
    Err(Differs::Field { line, field, found: format!("{found:?}"), expected: format!("{expected:?}") })
}

/// The port of a link of a fabric in memory. It has a line of its own, so its departures come when they are due, and not
/// when they are called. A packet that leaves as it arrives shows the marks of both together, as those of its arrival.
pub(super) struct Memory<'a> {
    build: &'a dyn Fn() -> InMemory,
    /// Names that tables may have.
    tables: &'static [&'static str],
    link: u32,
    fabric: Option<InMemory>,
    seen: Arc<Mutex<Seen>>,
    /// By packet of the fabric: its number in the vectors, and whether it was marked as it arrived.
    numbers: Vec<(u32, bool)>,
    arrived: Vec<u32>,
}

/// What the fabric has told since it was last asked.
#[derive(Default)]
struct Seen {
    /// (when, packet, queue, whether it has a mark), in the order of departure; the first are taken first.
    left: std::collections::VecDeque<(Time, u32, u8, bool)>,
    /// (packet, queue, cause).
    dropped: Vec<(u32, u8, Cause)>,
}

impl<'a> Memory<'a> {
    /// Holds the port of link `link` against vectors. `build` builds a fabric for each case, with links that lose nothing;
    /// `tables` are the names of the tables that may come.
    pub(super) fn new(link: u32, tables: &'static [&'static str], build: &'a dyn Fn() -> InMemory) -> Memory<'a> {
        let (fabric, seen) = (None, Arc::default());
        Memory { build, tables, link, fabric, seen, numbers: Vec::new(), arrived: Vec::new() }
    }

    fn work_off(&mut self, until: Time) {
        let Some(fabric) = &mut self.fabric else { return };
        let arrived = &mut self.arrived;
        fabric.work_off(until, |packet, _| arrived.push(packet.packet));
        arrived.drain(..).for_each(|packet| fabric.release(packet));
    }

    /// A case begins: the port is empty, and its clock at zero.
    fn begin(&mut self) {
        let mut fabric = (self.build)();
        let seen: Arc<Mutex<Seen>> = Arc::default();
        (self.seen, self.numbers) = (Arc::clone(&seen), Vec::new());
        let own = self.link;
        fabric.observe(Box::new(move |event: Event, meta: &Meta| {
            let Ok(mut seen) = seen.lock() else { return };
            match event {
                Event::Sent { link, at, packet } if link == own => {
                    seen.left.push_back((at, packet, meta.queue, meta.ecn == Ecn::Marked));
                }
                Event::Dropped { link, cause, packet, .. } if link == own => {
                    seen.dropped.push((packet, meta.queue, cause));
                }
                _ => {}
            }
        }));
        self.fabric = Some(fabric);
    }

    /// A packet arrives.
    fn arrive(&mut self, arrive: &Arrive) -> Decision {
        self.work_off(Time(arrive.at));
        let Some(fabric) = &mut self.fabric else { return Decision::default() };
        let Some(packet) = fabric.claim() else { return Decision::default() };
        let place = packet as usize;
        *fabric.meta(packet) = arrive.meta;
        fabric.send_by(self.link, packet);
        let meta = *fabric.meta(packet);
        self.numbers.resize(self.numbers.len().max(place + 1), (u32::MAX, false));
        self.numbers[place] = (arrive.packet, meta.ecn == Ecn::Marked);
        let Ok(mut seen) = self.seen.lock() else { return Decision::default() };
        // One that left at once has passed no queue, and counts for one.
        let left = seen.left.back().filter(|left| left.1 == packet);
        let queue = left.map_or(meta.queue, |&(_, _, queue, _)| queue);
        let mut decision = Decision { queued: true, queue, marked: meta.ecn == Ecn::Marked, victims: Vec::new() };
        for (dropped, queue, cause) in seen.dropped.drain(..) {
            match cause {
                Cause::Evicted => {
                    decision.victims.push(Victim { packet: self.numbers[dropped as usize].0, queue });
                }
                Cause::Buffer | Cause::Loss => decision.queued = false,
            }
        }
        decision
    }

    /// The line is free, or becomes free: returns the packet that it takes, with its instant and queue.
    fn leave(&mut self, at: Time) -> Option<Leave> {
        self.work_off(at);
        if let Some(fabric) = &mut self.fabric {
            fabric.scheduler(self.link); // what is due has left
        }
        let (at, packet, queue, has_mark) = self.seen.lock().ok()?.left.pop_front()?;
        let (packet, had_mark) = *self.numbers.get(packet as usize)?;
        Some(Leave { at: at.0, packet, queue, marked: has_mark && !had_mark, drawn: Vec::new() })
    }

    /// A controller's table arrives.
    fn table(&mut self, table: &TableArrives) -> Result<(), String> {
        if table.at > 0 {
            self.work_off(Time(table.at - 1));
        }
        let name = self.tables.iter().find(|&&name| name == table.name);
        let name = name.ok_or_else(|| format!("the port follows no table named `{}`", table.name))?;
        let published = Published { version: table.version, table: Table { name, values: table.values.clone() } };
        if let Some(fabric) = &mut self.fabric {
            fabric.scheduler(self.link).on_table(&published);
        }
        Ok(())
    }

    /// Returns the port's own parameters, which must be those of the vectors.
    fn parameters(&mut self) -> Vec<Parameter> {
        self.fabric.as_mut().map_or_else(Vec::new, |fabric| parameters(fabric.scheduler(self.link)))
    }
}
