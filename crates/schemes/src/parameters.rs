//! The packet format, which schemes, workloads and links each read, and the network for which numbers of packets and times are
//! meant ([`Reference`]): hosts of 10 Gbit/s, 80 us apart.

use std::num::NonZeroU16;

use flowsieve_core::Time;

use flowsieve_settings::declare;
use flowsieve_settings::{MTU, Scope, Section, Setting, SettingsError};
use flowsieve_sim::round_trip::Exchange;
use flowsieve_sim::topology::Fabric;

use crate::entry::Context;

declare! {
    static HEADER: Setting<u64> = Setting::size(
        Section::Network, "header", 0, 1_000, "headers of a packet; an ACK is this long",
    )
    .with_default(flowsieve_transport::tcp::HEADER_BYTES as u64);
    static WIRE_OVERHEAD: Setting<u64> = Setting::size(
        Section::Network, "wire_overhead", 0, 1_000, "preamble and gap that a packet takes on the wire in addition to its \
        length",
    );
    static ACK_EVERY: Setting<u64> = Setting::count(
        Section::Transport, "ack_every", 1, 64, "data packets that one ACK answers",
    );
}

/// The rate of hosts for which QCluster, LetFlow and HULA state their times, in bit/s.
pub(crate) const TEN_GBPS: u64 = Reference::PAPERS.host_bps;

/// Reads the number of data packets that one ACK answers.
pub fn ack_every(scope: &Scope<'_>) -> Result<u32, SettingsError> {
    Ok(u32::try_from(scope.read(&ACK_EVERY)?).unwrap_or(u32::MAX))
}

/// Reads the same for a transport that needs an answer to each packet, and has it unless another number is given.
pub(crate) fn answers_each(scope: &Scope<'_>) -> Result<u32, SettingsError> {
    Ok(u32::try_from(scope.given_or(&ACK_EVERY, 1)?).unwrap_or(u32::MAX))
}

/// Reads the bytes that a packet takes on the wire in addition to its length.
pub fn wire_overhead(scope: &Scope<'_>) -> Result<u16, SettingsError> {
    Ok(u16::try_from(scope.read(&WIRE_OVERHEAD)?).unwrap_or(u16::MAX))
}

/// The network for which windows and buffers are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Rate of the hosts' links, in bit/s.
    pub host_bps: u64,
    /// Base round trip between the farthest hosts, with the serialisation of a full packet and its ACK.
    pub round_trip: Time,
}

impl Reference {
    /// The network for which the papers' numbers of packets are meant: hosts of 10 Gbit/s, 80 us apart (pFabric's
    /// rescaled set in the comparisons of PIAS and QCluster, whose fabrics have 80 and 85.2 us). A packet of 1,500 bytes and its
    /// ACK of 40 take 3.08 us over two links of 10 Gbit/s and two of 40.
    pub const PAPERS: Reference = Reference { host_bps: 10_000_000_000, round_trip: Time(83_080_000) };

    /// Returns the reference of a scheme's fabric: its fastest host, and its farthest ones. Without a fabric it is that of the
    /// papers.
    pub fn read(context: &Context<'_>) -> Result<Reference, SettingsError> {
        let (scope, Some(fabric)) = (&context.scope, context.workload.fabric()) else { return Ok(Reference::PAPERS) };
        let overhead = wire_overhead(scope)?;
        Ok(Reference::of(fabric, Exchange::new(segment(scope)?.get(), header(scope)?, overhead)))
    }

    /// Returns the reference of a fabric for packets of these sizes.
    pub fn of(fabric: &Fabric, exchange: Exchange) -> Reference {
        let round_trips = fabric.reaches().iter().map(|reach| fabric.round_trip(reach.from, reach.to, exchange).time);
        Reference { host_bps: fastest_host_bps(fabric), round_trip: round_trips.max().unwrap_or(Time::ZERO) }
    }

    /// Returns the product of rate and round trip, in bytes.
    pub fn bdp_bytes(self) -> u64 {
        let bits = u128::from(self.host_bps) * u128::from(self.round_trip.0) / 1_000_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    /// Scales a number of packets of the papers to this network, rounded up.
    pub fn scaled(self, packets: u64) -> u64 {
        let product = |of: Reference| u128::from(of.host_bps) * u128::from(of.round_trip.0);
        let scaled = (u128::from(packets) * product(self)).div_ceil(product(Reference::PAPERS));
        u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
    }

    /// Scales a timer of the papers to this network's round trip, rounded up to a microsecond. A timer waits for queues, too:
    /// what buffers hold beyond their part of the product, `more` bytes, is added.
    pub(crate) fn timer(self, papers: Time, more: u64) -> Time {
        const US: u128 = 1_000_000;
        let round_trips = u128::from(papers.0) * u128::from(self.round_trip.0);
        let queued = u128::from(more) * 8_000_000_000_000 / u128::from(self.host_bps.max(1));
        let ps = round_trips.div_ceil(u128::from(Reference::PAPERS.round_trip.0)) + queued;
        Time(u64::try_from(ps.div_ceil(US) * US).unwrap_or(u64::MAX))
    }

    /// Returns the time in which a host sends what one of the papers sends in `papers`.
    pub(crate) fn time_of_bytes(self, papers: Time) -> Time {
        let ps = u128::from(papers.0) * u128::from(Reference::PAPERS.host_bps) / u128::from(self.host_bps.max(1));
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// Returns the rate of a fabric's fastest host, in bit/s.
pub fn fastest_host_bps(fabric: &Fabric) -> u64 {
    let rates = fabric.host_uplink.iter().map(|&link| fabric.links[link as usize].rate.bps());
    rates.max().unwrap_or(0)
}

/// Reads the bytes of a packet's headers.
pub fn header(scope: &Scope<'_>) -> Result<u16, SettingsError> {
    Ok(u16::try_from(scope.read(&HEADER)?).unwrap_or(u16::MAX))
}

/// Refuses the bytes of a packet's headers.
pub(crate) fn refuse_header(scope: &Scope<'_>, expected: &str) -> SettingsError {
    scope.invalid(&HEADER, expected)
}

/// Returns the payload of a full packet, in bytes: `mtu` minus the headers.
pub fn segment(scope: &Scope<'_>) -> Result<NonZeroU16, SettingsError> {
    let mtu = scope.read(&MTU)?;
    let header = header(scope)?;
    // The key's own limit keeps it within 16 bits.
    let payload = mtu.checked_sub(u64::from(header)).and_then(|payload| u16::try_from(payload).ok());
    payload.and_then(NonZeroU16::new).ok_or_else(|| scope.invalid(&MTU, format!("more than the headers of {header} B")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::none_given;

    #[test]
    fn packets__as_each_set_has_them() {
        let of = |set: &str| {
            let settings = none_given().with(None, "parameters", set);
            let scope = settings.common();
            (ack_every(&scope).unwrap(), wire_overhead(&scope).unwrap())
        };
        assert_eq!(of("ns2"), (1, 0));
        assert_eq!(of("rfc"), (2, 38));
        assert_eq!(of("scaled"), of("ns2"));
        assert_eq!(of("linux"), (1, 38));
    }

    #[test]
    fn scaled__follows_rate_and_round_trip() {
        let papers = Reference::PAPERS;
        let at = |tenths_of_rate: u64, times: f64| Reference {
            host_bps: papers.host_bps / 10 * tenths_of_rate,
            round_trip: Time((papers.round_trip.0 as f64 * times) as u64),
        };
        assert_eq!(at(10, 1.0).scaled(70), 70);
        assert_eq!(at(100, 1.0).scaled(70), 700);
        assert_eq!(at(10, 3.75).scaled(140), 525);
        assert_eq!(at(1, 0.1).scaled(70), 1, "never none");
        assert_eq!([at(10, 1.0).bdp_bytes(), at(400, 0.1).bdp_bytes()], [103_850, 415_400]);
    }

    #[test]
    fn timer__follows_the_round_trip_and_what_buffers_hold_beyond_it() {
        let (ms, us) = (Time::from_us(2_000), Time::from_us);
        assert_eq!(Reference::PAPERS.timer(ms, 0), ms);
        // A quarter of the round trip: 500 us. 125 KB take 100 us at 10 Gbit/s.
        let near = Reference { round_trip: Time(Reference::PAPERS.round_trip.0 / 4), ..Reference::PAPERS };
        assert_eq!([near.timer(ms, 0), near.timer(ms, 125_000)], [us(500), us(600)]);
        assert_eq!(Reference { round_trip: Time(1), ..near }.timer(ms, 0), us(1), "never none");
        assert_eq!(Reference { host_bps: 25_000_000_000, ..near }.time_of_bytes(ms), us(800));
    }

    #[test]
    fn segment__is_what_the_headers_leave() {
        assert_eq!(segment(&none_given().common()).unwrap().get(), 1_460);
        let settings = none_given().with(None, "mtu", "9KB").with(None, "header", "60B");
        assert_eq!(segment(&settings.common()).unwrap().get(), 8_940);
    }
}
