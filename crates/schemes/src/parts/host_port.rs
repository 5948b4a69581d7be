//! A host's own port, from the settings: whether it pushes back, and in which order a host's connections or packets leave.

use std::sync::Arc;

use flowsieve_core::TaggerSpec;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::NicOrder;

use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::Nic;

declare! {
    /// Whether the port pauses its host.
    static NIC: Setting<bool> = Setting::choice(
        Section::Network,
        "nic",
        &[("backpressure", true), ("scheme", false)],
        "host's port: a bounded backlog without losses, or the scheme's own port with buffer, drops and marks",
    );
    static NIC_BACKLOG: Setting<u64> = Setting::size(
        Section::Network, "nic_backlog", 0, 1_000_000_000_000, "backlog at which a backpressured host pauses",
    )
    .with_default(15_000);
    static NIC_ORDER: Setting<NicOrder> = Setting::choice(
        Section::Network,
        "nic_order",
        &[("turns", NicOrder::Turns), ("tag", NicOrder::Tag), ("tag, then age", NicOrder::TagThenAge)],
        "which connection of a host sends next if its port pushes back: each in turn, the most urgent by tag, or the oldest of the most urgent; \
        with nic = \"scheme\" \"tag, then age\" sorts the packets in the host's port, which loses and marks nothing",
    );
}

/// Reads which connection a host serves next whose port pushes back, and gives the order to its transport. Linux serves
/// connections in turn; schemes whose paper has priorities at the host say so in their file. `usual`: the order if the file
/// says none.
pub(super) fn nic_order(
    scope: &Scope<'_>,
    usual: NicOrder,
    nic: Nic,
    transport: TransportSpec,
) -> Result<TransportSpec, SettingsError> {
    let (TransportSpec::Tcp(mut rules), Nic::Backpressure { .. }) = (transport.clone(), nic) else {
        return Ok(transport);
    };
    let order = match usual {
        // If not given, it is not part of the configuration.
        NicOrder::Turns => scope.optional(&NIC_ORDER)?.unwrap_or(NicOrder::Turns),
        other => scope.read_or(&NIC_ORDER, other)?,
    };
    Arc::make_mut(&mut rules).order = order;
    Ok(TransportSpec::Tcp(rules))
}

/// Returns whether a host's own port sorts what the host hands over: by level, and in a level by the age of the message.
/// It is the host's order where nothing pauses the senders. Then nothing is lost or marked there, as under backpressure. No
/// port does unless a file says so: `nic = "scheme"` alone is the switch's port.
pub(super) fn sorts_host_ports(scope: &Scope<'_>, nic: Nic) -> Result<bool, SettingsError> {
    if nic != Nic::Scheme {
        return Ok(false);
    }
    // If not given, it is not part of the configuration, and a scheme's own order is that of pauses.
    let given = if scope.is_given(&NIC_ORDER) { scope.optional(&NIC_ORDER)? } else { None };
    match given {
        None | Some(NicOrder::Turns) => Ok(false),
        Some(NicOrder::TagThenAge) => Ok(true),
        Some(NicOrder::Tag) => Err(scope.invalid(&NIC_ORDER, "\"turns\" or \"tag, then age\" with nic = \"scheme\"")),
    }
}

/// Refuses an order by level and age of packets that have neither.
pub(super) fn refuse_unsorted(scope: &Scope<'_>, tagger: &TaggerSpec) -> Result<(), SettingsError> {
    if matches!(tagger, TaggerSpec::AgedLevels(_)) {
        return Ok(());
    }
    let expected = "\"turns\", or nic = \"backpressure\": hosts' own ports sort only the packets of schemes that demote flows, such as \
                    `pias`, with tagger = \"demotion, then age\"";
    Err(scope.invalid(&NIC_ORDER, expected))
}

/// Reads the host's port. A message that arrives whole needs a port that takes it whole. Other messages come from hosts
/// whose stacks do not drop their own packets, as Linux pushes back. The hosts of the papers' ns-2 scripts have the
/// switches' queues; experiments that follow them set `nic = "scheme"`.
/// The parameter set of Linux does so, too, as the lab's hosts have them.
pub(super) fn nic(scope: &Scope<'_>, transport: &TransportSpec) -> Result<Nic, SettingsError> {
    let open = matches!(transport, TransportSpec::OpenLoop(_));
    match scope.read_or(&NIC, !open)? {
        true if open => Err(scope.invalid(&NIC, "\"scheme\": an open-loop sender does not pause")),
        true => Ok(Nic::Backpressure { backlog: scope.read(&NIC_BACKLOG)? }),
        false => Ok(Nic::Scheme),
    }
}
