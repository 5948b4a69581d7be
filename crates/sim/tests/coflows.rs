//! What ports see of coflows.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use crate::by_hand::{Trial, flow, rack, scheme};
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::{Kind, Meta, NONE, PortContext, PortKind, PortScheduler, Verdict};
use flowsieve_schemes::scheme::{ByPlace, PortSpec};
use flowsieve_workload::Flow;

/// Flow, kind and coflow of what came to any port.
type Seen = Arc<Mutex<BTreeSet<(u32, bool, u32)>>>;

/// A FIFO queue that notes them.
struct CoflowRecorder {
    within: FifoBank,
    seen: Seen,
}

impl PortScheduler for CoflowRecorder {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let Meta { flow, kind, coflow, .. } = metas[packet as usize];
        self.seen.lock().expect("not poisoned").insert((flow, kind == Kind::Data, coflow));
        self.within.enqueue(metas, packet, context)
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        self.within.dequeue(metas, context)
    }

    fn backlog_bytes(&self) -> u64 {
        self.within.backlog_bytes()
    }

    fn queues(&self) -> usize {
        1
    }
}

#[test]
fn packets__carry_the_coflow_of_their_message() {
    // The third flow has the first one's connection.
    let settings = rack(3);
    let of = |flow: Flow, coflow| Flow { coflow: Some(coflow), ..flow };
    let late = 50_000_000_000;
    let flows = [of(flow(0, (0, 1), 3), 7), flow(0, (2, 1), 3), of(flow(late, (0, 1), 3), 8)];
    for (name, connection, answered) in [("dctcp", 0, true), ("fcfs", 2, false)] {
        let seen = Seen::default();
        let notes = Arc::clone(&seen);
        let port = PortSpec::unlimited(PortKind::custom(move |port, _| {
            let within = FifoBank::new(1, port.admission, port.marker, Discipline::StrictPriority);
            CoflowRecorder { within, seen: Arc::clone(&notes) }
        }));
        let ports = ByPlace::try_from_fn(|_| Ok::<_, Infallible>(port.clone()));
        let mut scheme = scheme(name, &settings);
        scheme.ports = ports.unwrap_or_else(|never| match never {});
        Trial::new(&settings, scheme).run(&flows);
        let mut expected = BTreeSet::from([(0, true, 7), (1, true, NONE), (connection, true, 8)]);
        if answered {
            expected.extend([(0, false, NONE), (1, false, NONE)]);
        }
        assert_eq!(*seen.lock().expect("not poisoned"), expected, "{name}");
    }
}
