//! Programs of one's own: what they do not tell, and which schemes can do without.

use flowsieve_core::Time;
use flowsieve_experiment::{Error, Point};
use flowsieve_lab::hosts::Apart;
use flowsieve_schemes::feeds::{Fact, Feeds};
use flowsieve_schemes::messages::given_message_gap;

use crate::setup::Setup;

/// What only a sender can know of a message that has not ended.
const UNTOLD: [Fact; 6] =
    [Fact::Size, Fact::Unacknowledged, Fact::Deadline, Fact::PredictedSize, Fact::Bounds, Fact::Coflow];

/// Returns how messages of programs are told apart; refuses a scheme whose hosts tag by what no program tells.
pub(super) fn apart(point: &Point, setup: &Setup) -> Result<Apart, Error> {
    let written = Feeds::of(&setup.scheme).classes.into_iter().next().flatten();
    let facts = written.iter().flat_map(|written| written.priority.iter().chain(&written.rank));
    let mut untold: Vec<Fact> = facts.copied().filter(|fact| UNTOLD.contains(fact)).collect();
    untold.sort_unstable();
    untold.dedup();
    if !untold.is_empty() {
        let name = &point.variant.name;
        let facts: Vec<&str> = untold.into_iter().map(Fact::in_words).collect();
        let problem = format!("`{name}` has hosts that tag by what programs do not tell: {}", facts.join(", "));
        let expected = "a scheme that needs no more than bytes sent, such as `pias`, or no tags, such as `qc-las`";
        return Err(Error::Input(format!("programs = \"own\": {problem}; expected {expected}")));
    }
    let scope = point.settings.scheme(&point.variant.name);
    Ok(given_message_gap(&scope)?.map_or(Apart::Connections, Apart::Gap))
}

/// Says how messages are told apart.
pub(super) fn in_words(apart: Apart) -> String {
    let rule = match apart {
        Apart::Connections => {
            "each direction of a connection is a flow; `message_gap` tells messages apart by pauses".into()
        }
        Apart::Gap(Time(gap)) => {
            format!("a packet more than {} after the last one of its connection begins a message", Time(gap))
        }
    };
    format!("programs do not tell their messages: {rule}")
}
