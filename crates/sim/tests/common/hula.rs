//! Random runs with HULA, whose probes come so often that much turns on them.

use std::convert::Infallible;

use flowsieve_core::Time;
use flowsieve_core::hula::HulaParams;
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::{BalancerSpec, ByPlace};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Case, case};

fn params() -> impl Strategy<Value = HulaParams> {
    let times = (select(&[4u64, 13, 60][..]), select(&[1u64, 20][..]), 1u64..4, 1u64..4);
    (times, select(&[0u8, 3, 255][..])).prop_map(|((interval, gap, age, memory), probe_priority)| HulaParams {
        interval: Time::from_us(interval),
        flowlet_gap: Time::from_us(gap),
        age: Time::from_us(age * interval),
        memory: Time::from_us(memory * interval),
        probe_priority,
    })
}

/// Any run of `most_flows` flows at most, with HULA, which is stopped where flows do not end.
pub(crate) fn hula_case(most_flows: usize) -> impl Strategy<Value = Case> {
    (case(most_flows), params()).prop_map(|(case, params)| {
        let balancers = ByPlace::try_from_fn(|_| Ok::<_, Infallible>(BalancerSpec::Hula(params)));
        let scheme = Scheme { balancers: balancers.expect("no error is made"), ..case.scheme };
        Case { scheme, max_time: Some(Time::from_us(5_000)), ..case }
    })
}
