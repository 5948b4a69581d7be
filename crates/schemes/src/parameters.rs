//! The two parameter sets, and what packets are like by default. Schemes, workloads and links read these settings each
//! for itself. What the parameter sets say of congestion control, ports and balancing stands beside the parts that read it.
//!
//! `ns2` is the lineage in which PIAS, pFabric and QCluster were measured (ns-2 scripts of HKUST-SING/PIAS-NS2), `rfc`
//! today's standards.

use std::num::NonZeroU16;

use crate::declare;
use crate::settings::{MTU, Scope, Section, Setting, SettingsError};

declare! {
    /// Where defaults come from; the same for all schemes.
    pub static PARAMETERS: Setting<ParameterSet> = Setting::choice(
        Section::Run,
        "parameters",
        &[("ns2", ParameterSet::Ns2), ("rfc", ParameterSet::Rfc)],
        "parameter set of transports and hosts: the papers' lineage or today's standards",
    )
    .with_default(ParameterSet::Ns2);
    static HEADER: Setting<u64> = Setting::size(
        Section::Network, "header", 0, 1_000, "headers of a packet; an ACK is this long",
    )
    .with_default(flowsieve_transport::tcp::HEADER_BYTES as u64);
    static WIRE_OVERHEAD: Setting<u64> = Setting::size(
        Section::Network, "wire_overhead", 0, 1_000, "preamble and gap that a packet takes on the wire beside its length",
    );
    static ACK_EVERY: Setting<u64> = Setting::count(
        Section::Transport, "ack_every", 1, 64, "data packets that one ACK answers",
    );
}

/// What Ethernet adds to a packet: header and checksum (18), preamble (8), gap (12).
const ETHERNET_BYTES: u64 = 38;

/// The setting `parameters`: where defaults come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterSet {
    /// The papers' simulations.
    Ns2,
    /// Today's standards.
    Rfc,
}

impl ParameterSet {
    /// The set that holds for all schemes.
    pub fn read(scope: &Scope<'_>) -> Result<ParameterSet, SettingsError> {
        scope.common().read(&PARAMETERS)
    }

    /// Data packets that one ACK answers.
    pub fn ack_every(self, scope: &Scope<'_>) -> Result<u32, SettingsError> {
        let default = if self == ParameterSet::Ns2 { 1 } else { 2 };
        Ok(u32::try_from(scope.read_or(&ACK_EVERY, default)?).unwrap_or(u32::MAX))
    }

    /// Bytes that a packet takes on the wire beside its length.
    pub fn wire_overhead(self, scope: &Scope<'_>) -> Result<u16, SettingsError> {
        let default = if self == ParameterSet::Ns2 { 0 } else { ETHERNET_BYTES };
        Ok(u16::try_from(scope.read_or(&WIRE_OVERHEAD, default)?).unwrap_or(u16::MAX))
    }
}

/// Bytes of a packet's headers.
pub fn header(scope: &Scope<'_>) -> Result<u16, SettingsError> {
    Ok(u16::try_from(scope.read(&HEADER)?).unwrap_or(u16::MAX))
}

/// The payload of a full packet, in bytes: `mtu` less the headers.
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
    use crate::testing::none_given;

    #[test]
    fn packets__as_each_set_has_them() {
        let of = |set: &str| {
            let settings = none_given().with(None, "parameters", set);
            let scope = settings.common();
            let set = ParameterSet::read(&scope).unwrap();
            (set.ack_every(&scope).unwrap(), set.wire_overhead(&scope).unwrap())
        };
        assert_eq!(of("ns2"), (1, 0));
        assert_eq!(of("rfc"), (2, 38));
    }

    #[test]
    fn segment__is_what_the_headers_leave() {
        assert_eq!(segment(&none_given().common()).unwrap().get(), 1_460);
        let settings = none_given().with(None, "mtu", "9KB").with(None, "header", "60B");
        assert_eq!(segment(&settings.common()).unwrap().get(), 8_940);
    }
}
