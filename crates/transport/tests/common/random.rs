//! Networks that lose, reorder, duplicate and mark, and TCPs of any kind.

use std::num::NonZeroU64;

use flowsieve_core::Time;
use flowsieve_transport::tcp::congestion::cubic::CubicRules;
use flowsieve_transport::tcp::congestion::d2tcp::D2tcpRules;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, Lost};
use flowsieve_transport::tcp::params::{Gaps, Halves, LossDetection, Reduction, Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};
use proptest::prelude::*;

use super::{SEGMENT, rfc};

/// How the pipe treats packets, drawn for each anew: chances in a thousand, delays in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) lost: u64,
    pub(crate) twice: u64,
    pub(crate) marked: u64,
    /// Up to so much over the base delay, each with the same chance.
    pub(crate) late: u64,
    pub(crate) seed: u64,
}

pub(crate) const CLEAR: Weather = Weather { lost: 0, twice: 0, marked: 0, late: 0, seed: 0 };

/// Up to this many packets of a thousand are lost.
pub(crate) fn weather(most_lost: u64) -> impl Strategy<Value = Weather> {
    let late = prop_oneof![Just(0u64), 1u64..40, 1u64..3_000];
    (0..most_lost, 0u64..200, 0u64..1_000, late, any::<u64>()).prop_map(|(lost, twice, marked, late, seed)| Weather {
        lost,
        twice,
        marked,
        late,
        seed,
    })
}

impl Weather {
    /// A number below `bound` (SplitMix64).
    pub(crate) fn draw(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn strikes(&mut self, chance: u64) -> bool {
        self.draw(1_000) < chance
    }
}

/// An own control: half of the largest window, a segment each `pace_ns`.
struct Paced {
    window: u32,
    pace_ns: u64,
}

impl CongestionControl for Paced {
    fn on_ack(&mut self, _: &Acked<'_>, _: &TcpParams) {}

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _again: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        (8_000_000_000 * u64::from(SEGMENT)).checked_div(self.pace_ns).and_then(NonZeroU64::new)
    }
}

fn paced(pace_ns: u64) -> CongestionSpec {
    CongestionSpec::custom(move |params| Paced { window: params.max_window.div_ceil(2), pace_ns })
}

pub(crate) fn params() -> impl Strategy<Value = TcpParams> {
    let detection = prop_oneof![
        Just(LossDetection::Off),
        (1u32..5).prop_map(LossDetection::DupAck),
        Just(LossDetection::Rack),
        Just(LossDetection::RackTlp),
        Just(LossDetection::GoBack),
        Just(LossDetection::ByPriority(Gaps::First)),
        Just(LossDetection::ByPriority(Gaps::Every))
    ];
    let window = prop_oneof![Just(WindowRule::FromCumulative), Just(WindowRule::Pipe)];
    let rto = prop_oneof![
        Just(RtoRule::Constant(Time::from_us(250))),
        Just(RtoRule::Constant(Time::from_us(2_000))),
        Just(RtoRule::Rfc6298 { min: Time::from_us(1_000), initial: RtoRule::RFC_INITIAL }),
        Just(RtoRule::Linux { min: Time::from_us(200), initial: RtoRule::RFC_INITIAL })
    ];
    let congestion = prop_oneof![
        Just(CongestionSpec::NewReno(NewReno)),
        Just(CongestionSpec::Cubic(CubicRules)),
        (0.0..=1.0).prop_map(|a| CongestionSpec::Dctcp(DctcpRules { gain: 0.0625, initial_alpha: a })),
        (0.0..=1.0).prop_map(|a| CongestionSpec::D2tcp(D2tcpRules(DctcpRules { gain: 0.0625, initial_alpha: a }))),
        prop_oneof![Just(0), 1u64..50_000].prop_map(paced)
    ];
    let restart = prop_oneof![Just(Restart::Off), Just(Restart::Initial), Just(Restart::AtMostInitial)];
    let probe_after = prop_oneof![Just(None), (1u32..6).prop_map(Some)];
    let windows = (1u32..80, 1u32..300, prop::option::weighted(0.3, 1u32..100));
    let reduction = prop_oneof![Just(Reduction::AtOnce), Just(Reduction::Proportional)];
    let halves = prop_oneof![Just(Halves::Flight), Just(Halves::Window)];
    let repair = (detection, rto, (halves, reduction, any::<bool>()), any::<bool>());
    let acks = (1u32..4, prop_oneof![Just(0), 1u32..20]);
    (repair, window, congestion, restart, probe_after, windows, acks).prop_map(
        |(
            (loss_detection, rto, (halves, reduction, whole_windows), undo),
            window,
            congestion,
            restart,
            probe_after,
            windows,
            acks,
        )| {
            let ((initial_window, max_window, receive_window), (ack_every, quick_acks)) = (windows, acks);
            TcpParams {
                halves,
                reduction,
                whole_windows,
                undo,
                receive_window,
                quick_acks,
                initial_window,
                max_window,
                window,
                congestion,
                loss_detection,
                rto,
                restart,
                ack_every,
                delayed_ack: Time::from_us(100),
                probe_after,
                ..rfc()
            }
        },
    )
}
