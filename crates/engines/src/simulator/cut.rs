//! How a run is cut for its threads.

use flowsieve_core::Time;
use flowsieve_experiment::engine::Threads;
use flowsieve_fabric::topology::Fabric;
use flowsieve_sim::Partitioning;

/// Packet-hops from which a run takes spare cores: a second or so of one.
const WORTH_THREADS: f64 = 1e7;
/// The least delay of hosts with which a round is worth its cost, where nobody asks for threads.
const WORTH_A_ROUND: Time = Time::from_us(1);
/// Hosts of a group: the state of more does not stay in a core's cache, and with 8,192 a run of eight groups takes half
/// the time of a whole one. A smaller group gains nothing.
const HOSTS_OF_GROUP: u32 = 1024;

/// Cuts a run of about this many packet-hops into stages for these threads, and a large fabric into several groups for
/// each.
pub(super) fn for_threads(threads: Threads, fabric: &Fabric, packet_hops: f64) -> Partitioning {
    let delays = fabric.host_uplink.iter().map(|&link| fabric.links[link as usize].delay);
    let has_long_rounds = delays.min() >= Some(WORTH_A_ROUND);
    let threads = match threads {
        Threads::Spare(_) if !has_long_rounds || packet_hops < WORTH_THREADS => 1,
        Threads::Asked(threads) | Threads::Spare(threads) => u32::try_from(threads).unwrap_or(1),
    };
    let groups = if has_long_rounds { fabric.hosts / HOSTS_OF_GROUP } else { 1 }.max(threads);
    if groups > 1 { Partitioning::Stages { groups, threads } } else { Partitioning::Whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_fabric::topology::FABRIC_SETTINGS;
    use flowsieve_settings::Settings;

    fn fabric(leaves: i64, host_delay: &str) -> Fabric {
        let settings = Settings::of([&[flowsieve_settings::SETTINGS], FABRIC_SETTINGS].concat().concat());
        let settings = settings.with(None, "kind", "leaf-spine").with(None, "leaves", leaves);
        Fabric::from_settings(&settings.with(None, "hosts_per_leaf", 64).with(None, "host_delay", host_delay)).unwrap()
    }

    #[test]
    fn for_threads__large_fabrics_and_spare_cores() {
        let stages = |groups, threads| Partitioning::Stages { groups, threads };
        let (small, large) = (fabric(4, "20us"), fabric(32, "20us"));
        assert_eq!(for_threads(Threads::Asked(1), &small, 1e9), Partitioning::Whole);
        assert_eq!(for_threads(Threads::Asked(2), &small, 1e3), stages(2, 2));
        assert_eq!(for_threads(Threads::Spare(2), &small, 1e8), stages(2, 2));
        assert_eq!(for_threads(Threads::Spare(2), &small, 1e6), Partitioning::Whole, "it is over in a moment");
        assert_eq!(for_threads(Threads::Asked(1), &large, 1e6), stages(2, 1), "2,048 hosts");
        // Rounds would be as short as the links' delays.
        let hasty = fabric(32, "0ns");
        assert_eq!(for_threads(Threads::Spare(2), &hasty, 1e8), Partitioning::Whole);
        assert_eq!(for_threads(Threads::Asked(2), &hasty, 1e8), stages(2, 2), "as asked");
    }
}
