//! A rate instead of a window: each connection paces its segments. It adds to its rate with each segment that arrives, takes a
//! quarter off once a window in which there are marks, and halves it upon a loss. All else is as in DCTCP.

use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::{Context, Entry};
use flowsieve_sim::topology::host_rate;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, CongestionSpec, Lost};
use std::num::NonZeroU64;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "paced-rate",
    file: r#"
base = "dctcp"
label = "Paced rate"
summary = "TCP that is paced at a rate, which marks lower; one FIFO queue with per-port ECN"
paper = "docs/extend/transport.md"
knows = "nothing"
"#,
    own: Some(|context: &Context<'_>| {
        let most = host_rate(&context.scope)?.bps();
        let new = move |params: &TcpParams| PacedRate { bps: most / 2, most, window: params.max_window, cut_until: 0 };
        parts::build(context, Own { congestion: Some(CongestionSpec::custom(new)), ..Own::default() })
    }),
};

/// The least rate and the step, in bit/s.
const STEP: u64 = 10_000_000;

/// The congestion control of a connection. Rates are in bit/s of payload.
struct PacedRate {
    bps: u64,
    most: u64,
    window: u32,
    /// A mark counts again when a segment from here on is acknowledged.
    cut_until: u32,
}

impl CongestionControl for PacedRate {
    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        if !ack.marked {
            self.bps = (self.bps + STEP * u64::from(ack.delivered)).min(self.most);
        } else if ack.una > self.cut_until {
            (self.bps, self.cut_until) = ((self.bps * 3 / 4).max(STEP), ack.nxt);
        }
    }

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {
        self.bps = (self.bps / 2).max(STEP);
    }

    fn on_timeout(&mut self, _: &Lost, _again: bool, _: &TcpParams) {
        self.bps = STEP;
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.bps)
    }
}
