//! Two queues, the shortest messages first: a host that knows the size of a message as it begins writes priority 0 into
//! the packets of short ones and 1 into the others. Switches serve strictly by priority; the transport is DCTCP.

use flowsieve_core::tagger::{FlowFacts, TagPackets};
use flowsieve_core::{Kind, Tag, TaggerSpec};
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::Scheme;
use flowsieve_schemes::thresholds::{self, THRESHOLDS};
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::SettingsError;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "shortest-first",
    file: r#"
base = "dctcp"
label = "Shortest first"
summary = "messages up to a threshold before longer ones; two queues with per-port ECN"
paper = "docs/extend/scheme.md"
knows = "size"

discipline = "sp"
queues = 2
"#,
    own: Some(build),
};

/// What a host does with each packet.
struct ShortFirst {
    /// The longest message that is short, in bytes.
    threshold: u64,
}

impl TagPackets for ShortFirst {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let long = facts.kind == Kind::Data && facts.size > self.threshold;
        Tag::with_priority(u8::from(long))
    }
}

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let threshold = threshold(context)?;
    let tagger = TaggerSpec::custom(move |_| ShortFirst { threshold });
    parts::build(context, Own { tagger: Some(tagger), ..Own::default() })
}

/// The setting `thresholds`, one size; not given, the size that half of the workload's flows do not exceed.
fn threshold(context: &Context<'_>) -> Result<u64, SettingsError> {
    let expected = || context.scope.invalid(&THRESHOLDS, "one size");
    match thresholds::sizes(&context.scope)? {
        Some(sizes) => <[u64; 1]>::try_from(sizes).map(|[size]| size).map_err(|_| expected()),
        None => context.workload.quantile_bytes(0.5).ok_or_else(expected),
    }
}
