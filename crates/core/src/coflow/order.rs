//! The rules by which coflows are ordered.

use super::{Coflow, Snapshot, bssi};

/// How coflows are ordered. Except with [`OrderRule::Fifo`], a coflow of twice the weight counts as half as large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderRule {
    /// Sincronia's: bottleneck, select, scale, iterate (SIGCOMM 2018, §3.1).
    Bssi,
    /// Smallest effective bottleneck first (Varys, SIGCOMM 2014, §5.3.1): by the port that it needs for longest.
    Sebf,
    /// Shortest first (Varys, §7.4): by its longest flow.
    Scf,
    /// Narrowest first (Varys, §7.4): by how many flows it has.
    Ncf,
    /// By the bytes of all its flows.
    Tcf,
    /// By its beginning.
    Fifo,
}

impl OrderRule {
    /// Returns whether the rule uses weights.
    pub fn heeds_weights(self) -> bool {
        self != OrderRule::Fifo
    }

    /// Returns whether the rule uses demands, which shrink as flows send. The other rules use a coflow's initial size.
    pub fn heeds_demands(self) -> bool {
        matches!(self, OrderRule::Bssi | OrderRule::Sebf)
    }

    /// Returns the indices of the snapshot's coflows, the first to be served first. Ties go to the one that became known first.
    pub fn order(self, snapshot: &Snapshot) -> Vec<usize> {
        let by = |size: fn(&Coflow) -> f64| {
            let mut order: Vec<usize> = (0..snapshot.coflows.len()).collect();
            let weighed = |&index: &usize| size(&snapshot.coflows[index]) / snapshot.coflows[index].weight;
            order.sort_by(|a, b| weighed(a).total_cmp(&weighed(b)));
            order
        };
        match self {
            OrderRule::Bssi => bssi::order(snapshot),
            OrderRule::Sebf => by(|coflow| bottleneck(coflow) as f64),
            OrderRule::Scf => by(|coflow| coflow.longest as f64),
            OrderRule::Ncf => by(|coflow| f64::from(coflow.flows)),
            OrderRule::Tcf => by(|coflow| coflow.bytes as f64),
            OrderRule::Fifo => {
                let mut order: Vec<usize> = (0..snapshot.coflows.len()).collect();
                order.sort_by_key(|&index| snapshot.coflows[index].since);
                order
            }
        }
    }
}

/// Returns a coflow's effective bottleneck: how long the port that it needs for longest takes, in ps.
fn bottleneck(coflow: &Coflow) -> u64 {
    coflow.demands.iter().map(|demand| demand.time).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coflow::Demand;
    use crate::units::Time;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    /// Builds coflows with these demands, (port, time), at two ports.
    fn snapshot(ports: usize, coflows: &[&[(u32, u64)]]) -> Snapshot {
        let coflow = |(key, demands): (u32, &&[(u32, u64)])| Coflow {
            key,
            weight: 1.0,
            demands: demands.iter().map(|&(port, time)| Demand { port, time }).collect(),
            ..Coflow::default()
        };
        Snapshot { ports, coflows: (0..).zip(coflows).map(coflow).collect() }
    }

    #[test]
    fn bssi__three_coflows_at_two_ports() {
        // Port 0 has 4 + 3 + 0, port 1 has 0 + 3 + 5. The bottleneck is port 1: of 1/3 and 1/5 the least is that of
        // coflow 2, which goes last; coflow 1's weight falls to 1 - 3/5. Then port 0 has 7: of 1/4 and (2/5)/3 the least is
        // that of coflow 1. Coflow 0 is first.
        let three = snapshot(2, &[&[(0, 4)], &[(0, 3), (1, 3)], &[(1, 5)]]);
        assert_eq!(OrderRule::Bssi.order(&three), [0, 1, 2]);
        // With six times the weight, coflow 2 is no longer last: 1/3 is less than 6/5. The rest of its weight is 6 - 5/3;
        // coflow 0, alone at the bottleneck, goes before it.
        let mut weighed = three;
        weighed.coflows[2].weight = 6.0;
        assert_eq!(OrderRule::Bssi.order(&weighed), [0, 2, 1]);
    }

    #[test]
    fn bssi__ties_go_to_the_first_port_and_the_first_coflow_goes_last() {
        // Both ports have 2; at the first one coflows 0 and 1 are alike, and of them 0 is chosen for the last place.
        let alike = snapshot(2, &[&[(0, 1)], &[(0, 1)], &[(1, 2)]]);
        assert_eq!(OrderRule::Bssi.order(&alike), [1, 2, 0]);
        let none = snapshot(2, &[&[], &[(0, 0)], &[(1, 1)]]);
        assert_eq!(OrderRule::Bssi.order(&none), [0, 1, 2], "what asks nothing comes first");
        assert!(OrderRule::Bssi.order(&snapshot(2, &[])).is_empty());
    }

    #[test]
    fn orders__by_what_they_say() {
        let coflow = |since, flows, longest, bytes, weight, times: [u64; 2]| Coflow {
            since: Time(since),
            flows,
            longest,
            bytes,
            weight,
            demands: (0..).zip(times).map(|(port, time)| Demand { port, time }).collect(),
            ..Coflow::default()
        };
        let coflows = vec![
            coflow(5, 2, 60, 100, 1.0, [80, 20]),
            coflow(4, 9, 10, 90, 1.0, [90, 0]),
            coflow(3, 1, 95, 95, 1.0, [0, 95]),
            coflow(3, 4, 200, 400, 10.0, [100, 300]),
        ];
        let snapshot = Snapshot { ports: 2, coflows };
        assert_eq!(OrderRule::Sebf.order(&snapshot), [3, 0, 1, 2], "30, 80, 90, 95");
        assert_eq!(OrderRule::Scf.order(&snapshot), [1, 3, 0, 2], "10, 20, 60, 95");
        assert_eq!(OrderRule::Ncf.order(&snapshot), [3, 2, 0, 1], "0.4, 1, 2, 9");
        assert_eq!(OrderRule::Tcf.order(&snapshot), [3, 1, 2, 0], "40, 90, 95, 100");
        assert_eq!(OrderRule::Fifo.order(&snapshot), [2, 3, 1, 0], "ties stay");
    }

    /// Returns the cost of an order in the ordering problem: a coflow ends when its last port has served it and all before it.
    fn cost(snapshot: &Snapshot, order: &[usize]) -> f64 {
        let mut until = vec![0u64; snapshot.ports];
        let mut cost = 0.0;
        for &index in order {
            let coflow = &snapshot.coflows[index];
            for demand in &coflow.demands {
                until[demand.port as usize] += demand.time;
            }
            // The largest port's prefix, over all ports that it uses.
            let end = coflow.demands.iter().map(|demand| until[demand.port as usize]).max().unwrap_or(0);
            cost += coflow.weight * end as f64;
        }
        cost
    }

    /// Returns the least cost of all orders.
    fn least(snapshot: &Snapshot) -> f64 {
        fn visit(snapshot: &Snapshot, order: &mut Vec<usize>, least: &mut f64) {
            if order.len() == snapshot.coflows.len() {
                *least = least.min(cost(snapshot, order));
                return;
            }
            for index in 0..snapshot.coflows.len() {
                if !order.contains(&index) {
                    order.push(index);
                    visit(snapshot, order, least);
                    order.pop();
                }
            }
        }
        let mut found = f64::INFINITY;
        visit(snapshot, &mut Vec::new(), &mut found);
        found
    }

    fn any_snapshot() -> impl Strategy<Value = Snapshot> {
        let coflow = (prop::collection::btree_map(0u32..6, 1u64..100, 1..5), 1u32..10);
        prop::collection::vec(coflow, 1..=7).prop_map(|coflows| Snapshot {
            ports: 6,
            coflows: (0..)
                .zip(coflows)
                .map(|(key, (demands, weight))| Coflow {
                    key,
                    weight: weight.into(),
                    demands: demands.into_iter().map(|(port, time)| Demand { port, time }).collect(),
                    ..Coflow::default()
                })
                .collect(),
        })
    }

    #[test]
    fn bssi__is_near_the_least_on_average() {
        let mut runner = TestRunner::deterministic();
        let mut ratio = || {
            let snapshot = any_snapshot().new_tree(&mut runner).unwrap().current();
            cost(&snapshot, &OrderRule::Bssi.order(&snapshot)) / least(&snapshot)
        };
        let ratios: Vec<f64> = (0..300).map(|_| ratio()).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let most = ratios.into_iter().fold(1.0, f64::max);
        assert!(mean < 1.02 && most < 1.5, "{mean} on average, {most} at most");
    }

    proptest! {
        #[test]
        fn bssi__never_costs_more_than_twice_the_least(snapshot in any_snapshot()) {
            let order = OrderRule::Bssi.order(&snapshot);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..snapshot.coflows.len()).collect::<Vec<_>>());
            prop_assert!(cost(&snapshot, &order) <= 2.0 * least(&snapshot) + 1e-6);
        }

        /// The units of time and of weight make no difference.
        #[test]
        fn bssi__is_the_same_in_other_units(snapshot in any_snapshot()) {
            let mut other = snapshot.clone();
            for coflow in &mut other.coflows {
                coflow.weight *= 4.0;
                coflow.demands.iter_mut().for_each(|demand| demand.time *= 8);
            }
            prop_assert_eq!(OrderRule::Bssi.order(&snapshot), OrderRule::Bssi.order(&other));
        }
    }
}
