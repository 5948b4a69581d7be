//! SP-PIFO, told as packet traces and against its paper's words.

use crate::common::{Bench, data};
use flowsieve_core::Scheduler;
use flowsieve_core::admission::Admission;
use flowsieve_core::marker::Marker;
use flowsieve_core::sp_pifo::SpPifo;
use proptest::prelude::*;

fn sp_pifo(queues: usize, admission: Admission) -> Bench {
    Bench::new(Scheduler::SpPifo(Box::new(SpPifo::new(queues, admission, Marker::Off))))
}

fn bounds(bench: &Bench) -> &[u32] {
    let Scheduler::SpPifo(port) = &bench.port else { panic!("another port") };
    port.bounds()
}

/// The queue that a packet of this rank joined, and the bounds after it.
fn after(bench: &mut Bench, rank: u32) -> (u8, Vec<u32>) {
    assert!(bench.send(data(0, 0, rank, 1_500)));
    (bench.metas[bench.metas.len() - 1].queue, bounds(bench).to_vec())
}

#[test]
fn sp_pifo__bounds_go_up_with_each_packet_and_down_with_an_inversion() {
    let mut port = sp_pifo(3, Admission::Unlimited);
    assert_eq!(after(&mut port, 30), (2, vec![0, 0, 30]));
    assert_eq!(after(&mut port, 20), (1, vec![0, 20, 30]));
    assert_eq!(after(&mut port, 10), (0, vec![10, 20, 30]));
    assert_eq!(after(&mut port, 25), (1, vec![10, 25, 30]));
    assert_eq!(after(&mut port, 31), (2, vec![10, 25, 31]));
    // 6 below the first bound: all of them fall by 6.
    assert_eq!(after(&mut port, 4), (0, vec![4, 19, 25]));
    // By rank: 4 (sixth), 10, 20, 25, 30, 31. The FIFO queues send 10 before the later 4.
    assert_eq!(port.drain(), [2, 5, 1, 3, 0, 4]);
}

#[test]
fn sp_pifo__a_dropped_packet_moves_no_bound() {
    let mut port = sp_pifo(2, Admission::PerQueue { limit: 1_500 });
    assert!(port.send(data(0, 0, 9, 1_500)));
    assert!(port.send(data(0, 0, 5, 1_500)));
    assert_eq!(bounds(&port), [5, 9]);
    assert!(!port.send(data(0, 0, 20, 1_500)), "the second queue is full, and the first is not tried");
    assert!(!port.send(data(0, 0, 1, 1_500)));
    assert_eq!(bounds(&port), [5, 9]);
}

proptest! {
    /// The paper's loop, queue by queue from the last (push-up and push-down), and the order of the bounds.
    #[test]
    fn sp_pifo__equals_the_papers_loop(
        queues in 1usize..6,
        ranks in prop::collection::vec((0u32..50, 40u16..1_500, prop::bool::weighted(0.3)), 1..200),
    ) {
        let limit = 6_000;
        let mut port = sp_pifo(queues, Admission::PerQueue { limit });
        let (mut bound, mut held) = (vec![0i64; queues], vec![0u64; queues]);
        for (rank, len, leaves) in ranks {
            let mut chosen = 0;
            for queue in (0..queues).rev() {
                if i64::from(rank) >= bound[queue] {
                    chosen = queue;
                    break;
                }
            }
            let fits = held[chosen] + u64::from(len) <= limit;
            prop_assert_eq!(port.send(data(0, 0, rank, len)), fits);
            if fits {
                prop_assert_eq!(usize::from(port.metas[port.metas.len() - 1].queue), chosen);
                held[chosen] += u64::from(len);
                let cost = bound[chosen] - i64::from(rank);
                bound[chosen] = i64::from(rank);
                if cost > 0 {
                    bound[1..].iter_mut().for_each(|bound| *bound -= cost);
                }
            }
            prop_assert_eq!(bounds(&port).iter().map(|&b| i64::from(b)).collect::<Vec<_>>(), bound.clone());
            prop_assert!(bounds(&port).is_sorted());
            if leaves && let Some(packet) = port.recv() {
                let meta = port.metas[packet as usize];
                prop_assert_eq!(held.iter().position(|&held| held > 0), Some(usize::from(meta.queue)));
                held[usize::from(meta.queue)] -= u64::from(meta.len);
            }
        }
    }
}
