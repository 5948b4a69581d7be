//! The rules of TCP at every host: a class's parameters, and how its messages share connections.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::constants::Constants;
use crate::endpoint::{BaseRoundTrips, TransportFacts, TransportRules};
use crate::tcp::endpoint::TcpEndpoint;
use crate::tcp::line::NicOrder;
use crate::tcp::params::TcpParams;
use crate::tcp::receiver::AckRule;

/// How messages share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Each message opens its own.
    PerFlow,
    /// One for each ordered host pair; messages queue on it.
    Persistent,
    /// An idle one of the host pair, otherwise a new one; messages never queue.
    Pool,
    /// The same between hosts that have communicated before. A connection's first measurement is the base round trip of its
    /// host pair, as Linux remembers that of a destination (`tcp_metrics`).
    Warm,
}

/// Which connections begin with a handshake of one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// None.
    Never,
    /// All except the first of each host pair, which counts as opened before the run (ns-2's warmed connections).
    Cold,
    /// All.
    Always,
}

/// The rules of a class of flow.
#[derive(Clone, Debug)]
pub struct TcpRules {
    /// The parameters of each connection.
    pub params: TcpParams,
    /// How messages share connections.
    pub connections: Connections,
    /// Which connections begin with a handshake.
    pub handshake: Handshake,
    /// Bytes of a packet's headers.
    pub header: u16,
    /// Which connection a host serves next whose port pushes back.
    pub order: NicOrder,
}

impl TransportRules for TcpRules {
    type Endpoint = TcpEndpoint;

    fn facts(&self) -> TransportFacts {
        TransportFacts {
            segment: self.params.segment,
            header: self.header,
            packets_per_answer: Some(NonZeroU32::new(self.params.ack_every).unwrap_or(NonZeroU32::MIN)),
            hears_departures: false,
            reads_trims: false,
            acknowledges: true,
            sets_priorities: false,
        }
    }

    fn constants(&self) -> Constants {
        self.params.constants()
    }

    fn wants_round_trips(&self) -> bool {
        self.connections == Connections::Warm
    }

    fn build(self: &Arc<Self>, pauses: bool, round_trips: Option<Box<BaseRoundTrips>>) -> TcpEndpoint {
        TcpEndpoint::new(Arc::clone(self), pauses, round_trips)
    }
}

impl TcpRules {
    /// Returns how receivers acknowledge.
    pub(super) fn acks(&self) -> AckRule {
        let TcpParams { ack_every, quick_acks, delayed_ack, .. } = self.params;
        AckRule { every: ack_every, quick: quick_acks, delay: delayed_ack, span: self.params.kept() }
    }
}
