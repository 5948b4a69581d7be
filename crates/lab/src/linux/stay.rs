//! A lab that stays until it is told to end, for programs of one's own: it answers requests meanwhile.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flowsieve_core::{Node, PortScheduler, Time};

use flowsieve_sim::in_memory::PortCounts;

use super::generator::Signals;
use super::network::{Network, ip_of, ip6_of};
use super::requests::{Door, HostInfo, Info, LinkInfo, PortView, Request, View};
use super::session::Plan;
use super::tallies::{LinkTally, Tallies};
use crate::carrier::Carrier;
use crate::error::LabError;
use crate::io::PacketIo;

/// How often requests are looked for.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest wait for the fabric's thread to say what its ports do.
const PATIENCE: Duration = Duration::from_secs(2);

/// What others ask the fabric's thread while it works.
#[derive(Default)]
pub(super) struct Live {
    wanted: AtomicBool,
    view: Mutex<Option<View>>,
    seen: Condvar,
}

impl Live {
    /// Asks what the ports do; `None`: the thread does not answer.
    fn ask(&self) -> Option<View> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        *view = None;
        self.wanted.store(true, Ordering::Release);
        let waited = self.seen.wait_timeout_while(view, PATIENCE, |view| view.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    /// Answers, if somebody has asked.
    pub(super) fn answer(&self, view: impl FnOnce() -> View) {
        if self.wanted.load(Ordering::Relaxed) && self.wanted.swap(false, Ordering::AcqRel) {
            let view = view();
            *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
            self.seen.notify_all();
        }
    }
}

/// Returns what a lab does at this moment.
pub(super) fn view<I: PacketIo>(carrier: &mut Carrier<I>, tallies: &Tallies) -> View {
    let (carried, messages) = (carrier.carried(), carrier.hosts().counts());
    let fabric = carrier.fabric();
    let counts: Vec<PortCounts> = fabric.port_counts();
    let port = |((counts, tally), link): ((PortCounts, _), u32)| {
        let tally = LinkTally::of(counts, tally).since(None);
        let scheduler = fabric.scheduler(link);
        let waiting = |queue| scheduler.waiting_in(queue).map(|waiting| u64::from(waiting.bytes));
        PortView {
            waiting_bytes: scheduler.backlog_bytes(),
            waiting_by_queue: (0..scheduler.queues()).map(waiting).collect(),
            packets: counts.sent,
            bytes: tally.bytes,
            marked: counts.marked,
            dropped: counts.turned_away + counts.evicted + counts.lost,
            by_queue: tally.by_queue,
        }
    };
    let ports = counts.into_iter().zip(&tallies.links).zip(0..).map(port).collect();
    let [.., late] = carried.released;
    View {
        at_ns: fabric.now().0 / 1_000,
        ports,
        inside: fabric.held(),
        received: carried.received,
        sent: carried.all_sent(),
        late,
        lost_before: carried.lost_before,
        began: messages.began,
        ended: messages.ended,
    }
}

/// Answers requests until one tells the lab to end, until `hear` does, at its `max_time`, or when the fabric's thread has ended.
pub(super) fn stay(
    plan: &Plan<'_>,
    network: &Network,
    (signals, live): (&Signals, &Live),
    hear: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<(), LabError> {
    let door = Door::open()?;
    let info = info(plan, network);
    let begun = Instant::now();
    let most = plan.max_time.map_or(Duration::MAX, |Time(ps)| Duration::from_nanos(ps / 1_000));
    let mut ends = false;
    while !ends && begun.elapsed() < most && !signals.stop.load(Ordering::Acquire) && hear(0.0).is_continue() {
        door.answer(|request| match request {
            Request::Info => in_json(&info),
            Request::View => in_json(&live.ask()),
            Request::Down => {
                ends = true;
                in_json(&())
            }
        });
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Writes an answer. Numbers and texts always can be.
fn in_json<T: serde::Serialize>(answer: &T) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

fn info(plan: &Plan<'_>, network: &Network) -> Info {
    let fabric = plan.fabric;
    let host = |host: u16| HostInfo {
        name: fabric.name(Node::Host(host.into())),
        namespace: network.host(host),
        address: ip_of(host),
        address_v6: ip6_of(host),
    };
    let links = fabric.links.iter().map(|link| LinkInfo {
        from: fabric.name(link.from),
        to: fabric.name(link.to),
        bps: link.rate.bps(),
    });
    let hosts = (0..).zip(network.namespaces()).map(|(number, _)| host(number)).collect();
    Info { scheme: plan.scheme.name.clone(), hosts, links: links.collect() }
}
