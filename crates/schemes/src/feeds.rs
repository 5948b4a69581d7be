//! What feeds the two fields of a tag under a scheme, and what its ports read of a packet.
//!
//! No part declares it. It is found by trying: a tagger writes the tag of a packet again with one fact changed, and a port
//! gets the same packets again with one field of all of them the same. So it cannot differ from what parts do. A dependence
//! that none of the tried values shows stays unknown.

mod ports;
mod taggers;

use flowsieve_core::Place;
use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::Settings;

use crate::scheme::Scheme;

/// A fact that a host may write into a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Bytes of the message before the packet.
    Before,
    /// Whether the packet is its message's last, as a FIN says.
    Last,
    /// The message's size.
    Size,
    /// Bytes of the message that are not acknowledged.
    Unacknowledged,
    /// The message's deadline.
    Deadline,
    /// Its predicted size.
    PredictedSize,
    /// Predicted bounds of its size.
    Bounds,
    /// Its coflow.
    Coflow,
    /// The number of the message.
    Message,
    /// The flow.
    Flow,
    /// The packet's length.
    Length,
    /// When it is sent.
    Time,
    /// When the message began.
    Start,
    /// Whether its payload was sent before.
    Retransmission,
    /// Timeouts of the message.
    Timeouts,
    /// Earlier packets of the host.
    Earlier,
    /// Tables of a controller.
    Tables,
}

impl Fact {
    /// Returns it in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Fact::Before => "bytes of the message before the packet",
            Fact::Last => "whether the packet ends its message (FIN)",
            Fact::Size => "size of the message",
            Fact::Unacknowledged => "bytes not acknowledged",
            Fact::Deadline => "deadline",
            Fact::PredictedSize => "predicted size",
            Fact::Bounds => "predicted bounds of the size",
            Fact::Coflow => "coflow",
            Fact::Message => "number of the message",
            Fact::Flow => "flow",
            Fact::Length => "length of the packet",
            Fact::Time => "time",
            Fact::Start => "start of the message",
            Fact::Retransmission => "whether it is sent again",
            Fact::Timeouts => "timeouts of the message",
            Fact::Earlier => "earlier packets of the host",
            Fact::Tables => "a controller's tables",
        }
    }
}

/// What a port may read of a packet, in addition to its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The eight bits of its tag.
    Priority,
    /// The 32 bits of its tag.
    Rank,
    /// Its flow.
    Flow,
    /// Its coflow.
    Coflow,
    /// What it is for.
    Kind,
}

impl Field {
    /// Returns it in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Field::Priority => "priority",
            Field::Rank => "rank",
            Field::Flow => "flow",
            Field::Coflow => "coflow",
            Field::Kind => "kind of packet",
        }
    }
}

/// What a host writes for a class of flow: the facts on which each field depends, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The eight bits: a DSCP may carry them.
    pub priority: Vec<Fact>,
    /// The 32 bits, a header of the scheme's own.
    pub rank: Vec<Fact>,
}

/// What feeds the tags of a scheme, and what its ports read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feeds {
    /// By class of flow; `None` for a custom tagger, which is not tried.
    pub classes: Vec<Option<Written>>,
    /// By place, in the order of [`Place::ALL`]; `None` for a custom port.
    pub ports: Vec<(Place, Option<Vec<Field>>)>,
}

impl Feeds {
    /// Finds what feeds the tags of a scheme; `None` if no fabric can be built to try it in.
    pub fn of(scheme: &Scheme) -> Option<Feeds> {
        let settings = Settings::of(flowsieve_fabric::topology::FABRIC_SETTINGS.concat())
            .with(None, "kind", "single-switch")
            .with(None, "hosts", 4);
        let fabric = Fabric::from_settings(&settings).ok()?;
        Some(Feeds { classes: taggers::written(scheme, &fabric), ports: ports::read(scheme, &fabric) })
    }

    /// Returns lines about what hosts write.
    pub fn of_tags(&self) -> Vec<String> {
        let alike = self.classes.windows(2).all(|pair| pair[0] == pair[1]);
        let shown = if alike { &self.classes[..self.classes.len().min(1)] } else { &self.classes[..] };
        let mut lines = Vec::new();
        for (class, written) in shown.iter().enumerate() {
            let of = if alike { String::new() } else { format!("class {class}, ") };
            let Some(Written { priority, rank }) = written else {
                lines.push(format!("{of}by a tagger of its own"));
                continue;
            };
            for (name, facts) in [("priority", priority), ("rank", rank)] {
                if !facts.is_empty() {
                    lines.push(format!("{of}{name} from {}", list(facts.iter().map(|fact| fact.in_words()))));
                }
            }
            if priority.is_empty() && rank.is_empty() {
                lines.push(format!("{of}none: all packets with payload are alike"));
            }
        }
        lines
    }

    /// Returns lines about what ports read, those of hosts and of switches.
    pub fn of_ports(&self) -> Vec<String> {
        let mut groups: Vec<(Vec<&str>, &Option<Vec<Field>>)> = Vec::new();
        for (place, read) in &self.ports {
            match groups.iter_mut().find(|(_, other)| *other == read) {
                Some((places, _)) => places.push(place.name()),
                None => groups.push((vec![place.name()], read)),
            }
        }
        let line = |(places, read): (Vec<&str>, &Option<Vec<Field>>)| {
            let what = match read {
                None => "what a port of its own reads".to_owned(),
                Some(fields) if fields.is_empty() => "nothing but lengths".to_owned(),
                Some(fields) => list(fields.iter().map(|field| field.in_words())),
            };
            format!("{}: {what}", places.join(", "))
        };
        groups.into_iter().map(line).collect()
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
