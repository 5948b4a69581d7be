//! Random runs with HULA, whose probes come so often that much turns on them.

use std::convert::Infallible;

use flowsieve_core::balancers::hula::HulaParams;
use flowsieve_core::{BalancerSpec, Time};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::ByPlace;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Case, case};

/// Interval, gap of flowlets, age and memory (both in intervals), and the priority of probes; times in microseconds.
type PlainParams = [u8; 5];

fn params() -> impl Strategy<Value = PlainParams> {
    let times = (select(&[4u8, 13, 60][..]), select(&[1u8, 20][..]), 1u8..4, 1u8..4);
    (times, select(&[0u8, 3, 255][..]))
        .prop_map(|((interval, gap, age, memory), priority)| [interval, gap, age, memory, priority])
}

/// This case with HULA, which is stopped where flows do not end.
pub(crate) fn with_hula(case: Case, params: PlainParams) -> Case {
    let call = format!("with_hula({}, {params:?})", case.call);
    let [interval, gap, age, memory] = [params[0], params[1], params[2], params[3]].map(u64::from);
    let params = HulaParams {
        interval: Time::from_us(interval),
        flowlet_gap: Time::from_us(gap),
        age: Time::from_us(age * interval),
        memory: Time::from_us(memory * interval),
        probe_priority: params[4],
    };
    let balancers = ByPlace::try_from_fn(|_| Ok::<_, Infallible>(BalancerSpec::Hula(params)));
    let scheme = Scheme { balancers: balancers.expect("no error is made"), ..case.scheme };
    // On slow lines, probes are most of the packets.
    let max_time = case.max_time.min(Some(Time::from_us(5_000.min(1_000 * interval))));
    Case { scheme, max_time, call, ..case }
}

/// Any run of `most_flows` flows at most, with HULA.
pub(crate) fn hula_case(most_flows: usize) -> impl Strategy<Value = Case> {
    (case(most_flows), params()).prop_map(|(case, params)| with_hula(case, params))
}
