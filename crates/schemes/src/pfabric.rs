//! pFabric (Alizadeh et al., SIGCOMM 2013): packets carry the bytes that remain of their flow. Ports keep a small pool:
//! the flow with the least remaining sends first (its earliest packet), and the worst packet is evicted (§4.2). Senders
//! start at line rate, use a small constant timer, and probe after five timeouts in a row (§4.3).
//!
//! `ns2`: the rescaled set of the PIAS and QCluster comparisons for an 80 us round trip: pools of 140 packets, timer of
//! 250 us, initial window of 70 packets. The original's 36 KB, 45 us and 12 packets suit its 14.6 us fabric.
//!
//! pFabric-EDF is the same with other ranks: flows with a deadline come first, by deadline. That a flow which can no longer
//! meet its deadline comes last is from QCluster's simulations (`tcp-full.cc` of qcluster/QCluster), which assume a rate of
//! 10 Gbit/s. Here the rate is that of the hosts' links, or `edf_rate`.
//!
//! pFabric by predicted sizes ranks packets by the remainder of a prediction: [`flowsieve_core::taggers::predicted`].

use flowsieve_core::taggers::predicted::Outlived;
use flowsieve_core::{TaggerSpec, Time};

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, DisciplineName, MarkingName, Part, Parts, TaggerName, TransportName};
use crate::scheme::Scheme;
use flowsieve_settings::declare;
use flowsieve_settings::{Section, Setting, SettingsError};

declare! {
    /// What happens to a flow that is larger than predicted.
    pub(crate) static OUTLIVED: Setting<Outlived> = Setting::choice(
        Section::Scheme,
        "outlived",
        &[("double", Outlived::Double), ("top", Outlived::Top), ("bottom", Outlived::Bottom)],
        "pfabric-predicted, homa-predicted: treatment of a flow larger than predicted: its prediction is doubled until it exceeds the \
         bytes sent, the flow comes first, or it comes last",
    )
    .with_default(Outlived::Double);
}

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "pfabric",
    label: "pFabric",
    summary: "shortest remaining first in a small pool; senders start at line rate",
    paper: "Alizadeh et al., SIGCOMM 2013",
    knows: Knows::Size,
    build,
};

/// With deadlines.
pub const EDF: Entry = Entry {
    name: "pfabric-edf",
    label: "pFabric-EDF",
    summary: "pFabric with flows that have a deadline first, the earliest before the others",
    paper: "Alizadeh et al., SIGCOMM 2013",
    knows: Knows::Deadline,
    build: |context: &Context<'_>| parts::build(context, &Parts { tagger: Part::Named(TaggerName::Deadline), ..PARTS }),
};

/// By predicted sizes.
pub const PREDICTED: Entry = Entry {
    name: "pfabric-predicted",
    label: "pFabric (predicted)",
    summary: "pFabric by the bytes left of a predicted size",
    paper: "Dukic et al., NSDI 2019",
    knows: Knows::PredictedSize,
    build: |context: &Context<'_>| {
        let tagger = TaggerSpec::Predicted(context.scope.read(&OUTLIVED)?);
        parts::build(context, &Parts { tagger: Part::Own(tagger), ..PARTS })
    },
};

/// pFabric's parts.
pub(crate) const PARTS: Parts = Parts {
    transport: Part::Named(TransportName::Pfabric),
    tagger: Part::Named(TaggerName::Remaining),
    port: Part::Named(DisciplineName::Pfabric),
    marking: MarkingName::Off,
    buffer_packets: 140,
    rto_min: Some(Time::from_us(250)),
    ..Parts::DEFAULT
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    parts::build(context, &PARTS)
}
