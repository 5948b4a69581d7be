//! The meanings of the tables' columns, with their units, for the metadata of each Parquet file: a JSON object by column under
//! [`KEY`].

use arrow_schema::Schema;
use parquet::file::metadata::KeyValue;
use serde_json::{Map, Value, json};

/// The key of the metadata.
pub(crate) const KEY: &str = "flowsieve.columns";

/// Name, unit, meaning. An empty unit: a number or a name.
const COLUMNS: [(&str, &str, &str); 40] = [
    ("point", "", "index of the combination of the sweep, in the order of the manifest"),
    ("seed", "", "seed of the run; the same seed gives every scheme the same flows"),
    ("scheme", "", "scheme or variant"),
    ("load", "", "nominal load of the host links; empty where arrivals have none"),
    ("flow", "", "number of the flow in its run, by start"),
    ("src", "", "sending host"),
    ("dst", "", "receiving host"),
    ("traffic_class", "", "which of a mix of workloads the flow is of, from 0"),
    ("bytes", "B", "payload of the flow, or of all flows of the coflow"),
    ("start_ps", "ps", "when it starts, from the start of the run"),
    ("fct_ps", "ps", "flow completion time; empty: not finished"),
    ("ideal_ps", "ps", "the completion time of the same alone in the same fabric"),
    ("slowdown", "", "completion time over the ideal one; empty: not finished"),
    ("retransmissions", "packets", "data packets that were sent again"),
    ("timeouts", "", "expiries of the retransmission timer"),
    ("out_of_order", "packets", "data packets that arrived after a later one of their flow"),
    ("deadline_ps", "ps", "deadline from the start of the flow; empty: none"),
    ("coflow", "", "number of the coflow; empty: of none"),
    ("found_lost", "packets", "taken for lost before a timeout"),
    ("unneeded", "packets", "arrived though they had before"),
    ("held_most_bytes", "B", "the most that the receiver held because something before it was missing"),
    ("held_byte_ns", "B ns", "what the receiver held for that reason, over time"),
    ("duplicate_acks", "packets", "ACKs that acknowledged nothing new"),
    ("inference_ns", "ns", "time in which a forest predicts the size"),
    ("climb_ns", "ns", "time in which the flow climbs"),
    ("slack_ns", "ns", "time between its predicted bounds"),
    ("demotion_ns", "ns", "time in which it is demoted"),
    ("beyond_ns", "ns", "time beyond its upper bound"),
    ("unanswered_us", "us", "how long the flow waited, in timeouts, while nothing had been answered on its connection"),
    ("flows", "", "flows of the coflow"),
    ("unfinished", "", "flows of the coflow that did not finish"),
    ("cct_ps", "ps", "coflow completion time; empty: not finished"),
    ("senders", "", "hosts that send flows of the coflow"),
    ("receivers", "", "hosts that receive flows of the coflow"),
    ("longest_bytes", "B", "payload of the coflow's largest flow"),
    ("series", "", "what is measured over time"),
    ("of", "", "where: a link, a host, a queue; empty: the whole run"),
    ("step_ps", "ps", "length of the step"),
    ("value", "", "the value in that step; docs/results.md has the unit of each series"),
    ("class", "", "which of a mix of workloads the flow is of, from 0"),
];

/// For the columns of this schema; the names of those of swept keys explain themselves.
pub(crate) fn metadata(schema: &Schema) -> KeyValue {
    let about = |name: &str| {
        let known = COLUMNS.iter().find(|(column, ..)| *column == name);
        let (unit, what) =
            known.map_or(("", "value of this swept key, as in the experiment file"), |(_, unit, what)| (unit, what));
        json!({ "unit": unit, "description": what })
    };
    let all: Map<String, Value> =
        schema.fields().iter().map(|field| (field.name().clone(), about(field.name()))).collect();
    KeyValue::new(KEY.to_owned(), Value::Object(all).to_string())
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn metadata__units_of_known_columns_and_swept_keys() {
        let fields = ["fct_ps", "network_ecn_threshold"].map(|name| Field::new(name, DataType::Utf8, true));
        let found = metadata(&Schema::new(fields.to_vec()));
        let about: Value = serde_json::from_str(&found.value.unwrap()).unwrap();
        assert_eq!(about["fct_ps"]["unit"], "ps");
        assert_eq!(about["network_ecn_threshold"]["description"], "value of this swept key, as in the experiment file");
    }
}
