//! pCoflow (Hernandez Benet et al., ICIN 2021): Sincronia's order over switches in which a coflow's packets keep their
//! order even when its priority rises ([`flowsieve_core::pcoflow`]). Eight bands, 4,000 packets in all, each band marked
//! above 200.
//!
//! `pcoflow-ecn` lets bands grow into each other's space, `pcoflow-drop` gives each 500 packets; all later results of the paper
//! are those of the first. `pcoflow-move` is the ideal of its Fig. 1, as we read it: waiting packets follow a rising priority.
//!
//! The host's own port has the bands, too. A packet that waits there keeps its tag, so a plain port would put packets out
//! of order before a switch could help; the paper does not discuss this.
//!
//! The paper's round trip of 66.7 us, a third of its timeout of 200 us (§IV), is a setting of its experiments, not of these
//! schemes.

use flowsieve_core::PortKind;
use flowsieve_core::pcoflow::{Keeps, MOST_SLOTS, Marks, PcoflowRules};
use flowsieve_core::pcoflow_sp_pifo::PcoflowSpPifoRules;

use crate::entry::Context;
use crate::parts::{self, Own};
use flowsieve_settings::declare;
use flowsieve_settings::{Section, Setting, SettingsError};
use flowsieve_sim::scheme::{PortSpec, Scheme};

declare! {
    static PCOFLOW_KEY: Setting<Keeps> = Setting::choice(
        Section::Scheme, "pcoflow_key", &[("coflow", Keeps::Coflows), ("flow", Keeps::Flows)],
        "whether pCoflow's queue keeps packets of flows or of coflows in order",
    )
    .with_default(Keeps::Coflows);
    /// The number of coflows that a port can distinguish.
    pub static PCOFLOW_SLOTS: Setting<u64> = Setting::count(
        Section::Scheme, "pcoflow_slots", 1, MOST_SLOTS as u64,
        "coflows that pCoflow's queue can tell apart, by a hash; not given: all",
    );
    static PCOFLOW_MARKS: Setting<Marks> = Setting::choice(
        Section::Scheme,
        "pcoflow_marks",
        &[("tag", Marks::Tagged), ("band", Marks::Joined), ("all-tagged", Marks::WithTag)],
        "length that pCoflow's marking compares: of the band of the packet's tag, of the band that it joins, or of \
         all packets with its tag in any band",
    )
    .with_default(Marks::Tagged);
    static PCOFLOW_QUEUE: Setting<QueueName> = Setting::choice(
        Section::Scheme,
        "pcoflow_queue",
        &[("bands", QueueName::Bands), ("moving bands", QueueName::MovingBands), ("sp-pifo", QueueName::SpPifo)],
        "how pCoflow's ports keep packets: in bands; in bands in which waiting packets follow a rising priority; or by \
         Equation 1's ranks in SP-PIFO's queues",
    )
    .with_default(QueueName::Bands)
    .silent();
}

/// How a port keeps packets, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueName {
    Bands,
    MovingBands,
    SpPifo,
}

/// Builds the scheme.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let scheme = parts::build(context, Own::default())?;
    let moves = match scope.read(&PCOFLOW_QUEUE)? {
        QueueName::SpPifo => {
            return with_ports(context, scheme, |bands| PortKind::PcoflowSpPifo(PcoflowSpPifoRules { bands }));
        }
        name => name == QueueName::MovingBands,
    };
    let slots = scope.optional(&PCOFLOW_SLOTS)?.map(|slots| slots as usize);
    if moves && slots.is_some() {
        return Err(scope.invalid(&PCOFLOW_SLOTS, "none: to move packets, the queue must know their coflows"));
    }
    let (keeps, marks) = (scope.read(&PCOFLOW_KEY)?, scope.read(&PCOFLOW_MARKS)?);
    with_ports(context, scheme, |bands| PortKind::Pcoflow(PcoflowRules { bands, keeps, slots, marks, moves }))
}

/// Gives the ports of the scheme the kind that `kind` returns for their bands, unless another discipline was chosen.
fn with_ports(
    context: &Context<'_>,
    mut scheme: Scheme,
    kind: impl Fn(usize) -> PortKind,
) -> Result<Scheme, SettingsError> {
    scheme.ports = scheme.ports.try_map(|_, port| {
        let Some(bands) = parts::own_queues(&context.scope, port)? else { return Ok(port.clone()) };
        Ok::<_, SettingsError>(PortSpec { kind: kind(bands), ..port.clone() })
    })?;
    Ok(scheme)
}
