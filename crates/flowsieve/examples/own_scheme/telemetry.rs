//! HPCC (Li et al., SIGCOMM 2019) as a scheme of one's own: switches write telemetry into each packet, ACKs bring it back, and the
//! sender keeps the bytes in flight on the fullest link at a share of what that link holds in a base round trip.

use flowsieve_core::hop::{Hears, Hop, HopSpec, OnHop, Stamp, Trail};
use flowsieve_core::{Kind, Meta, Time};
use flowsieve_schemes::parameters::Reference;
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::{Context, Entry};
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, CongestionSpec, Lost};
use std::num::NonZeroU64;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "own-hpcc",
    file: r#"
base = "dctcp"
label = "HPCC of one's own"
summary = "switches write telemetry into packets; senders keep each link at 95 % of what it holds"
paper = "Li et al., SIGCOMM 2019; docs/extend/transport.md"
knows = "nothing"
load_balancing = "ecmp"
ecn = false
marking = "none"
ack_every = 1
loss_detection = "go-back"
pfc = true
shared_buffer = "32MB"
"#,
    own: Some(|context: &Context<'_>| {
        let network = Reference::read(context)?;
        let new = move |params: &TcpParams| Hpcc::new(network, params);
        let own = Own { congestion: Some(CongestionSpec::custom(new)), ..Own::default() };
        let mut scheme = parts::build(context, own)?;
        scheme.on_hop.insert(0, HopSpec::new("telemetry", |_| Telemetry));
        Ok(scheme)
    }),
};

/// What a switch does: as a line begins to send a data packet, it writes a stamp.
struct Telemetry;

impl OnHop for Telemetry {
    fn hears(&self) -> Hears {
        Hears { departures: true, ..Hears::NOTHING }
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        if packet.kind == Kind::Data {
            hop.stamp();
        }
    }
}

/// Eta. And N, the flows of a link for which the additive step, (1 - eta)/N of the largest window a round trip, is small enough.
const TARGET: f64 = 0.95;
const FLOWS: f64 = 100.0;

/// The control of a connection. Windows are in bytes.
struct Hpcc {
    /// T.
    base: Time,
    segment: f64,
    most: f64,
    /// W, and W_c of the last round trip.
    window: f64,
    reference: f64,
    /// W_c follows when a segment from here on is acknowledged; `None`: no stamps have come yet.
    update_at: Option<u32>,
    /// U, and the same with the stamps of the ACK that is being handled.
    utilisation: f64,
    measured: Option<f64>,
    last: Vec<Stamp>,
}

impl Hpcc {
    fn new(network: Reference, params: &TcpParams) -> Hpcc {
        let (base, segment) = (network.round_trip, f64::from(params.segment));
        let most = network.host_bps as f64 / 8.0 * base.as_secs();
        let (window, reference) = (most, most);
        Hpcc { base, segment, most, window, reference, update_at: None, utilisation: 1.0, measured: None, last: vec![] }
    }

    /// Returns U after these stamps: of the link where bytes sent and bytes queued are most of what it holds.
    fn measure(&self, stamps: &[Stamp]) -> Option<f64> {
        let base = self.base.0 as f64;
        let of_link = |(new, old): (&Stamp, &Stamp)| {
            let span = new.at.0.checked_sub(old.at.0).filter(|&span| span > 0)? as f64;
            let byte = new.byte_time.serialise(1 << 16).0 as f64 / f64::from(1 << 16);
            let sent = new.sent_bytes.checked_sub(old.sent_bytes)? as f64 * byte / span;
            Some((sent + new.backlog.min(old.backlog) as f64 * byte / base, span.min(base)))
        };
        let links: Option<Vec<(f64, f64)>> = stamps.iter().zip(&self.last).map(of_link).collect();
        let (most, span) = links?.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(self.utilisation + (most - self.utilisation) * span / base)
    }
}

impl CongestionControl for Hpcc {
    /// Comes before the ACK that brought it.
    fn on_trail(&mut self, trail: &Trail) {
        self.measured = self.measure(&trail.stamps);
        let is_newer = |new: &Stamp| self.last.first().is_none_or(|last| last.at < new.at);
        if trail.stamps.first().is_some_and(is_newer) {
            self.last = trail.stamps.to_vec();
        }
    }

    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        let Some(update_at) = self.update_at else {
            self.update_at = (!self.last.is_empty()).then_some(ack.nxt);
            return;
        };
        let Some(utilisation) = self.measured.take() else { return };
        self.utilisation = utilisation;
        let step = self.most * (1.0 - TARGET) / FLOWS;
        self.window = (self.reference / (utilisation / TARGET) + step).clamp(1.0, self.most);
        if ack.una > update_at {
            (self.reference, self.update_at) = (self.window, Some(ack.nxt));
        }
    }

    /// Windows follow telemetry alone.
    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _again: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        (self.window / self.segment).ceil() as u32
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new((self.window * 8.0 / self.base.as_secs()) as u64)
    }
}
