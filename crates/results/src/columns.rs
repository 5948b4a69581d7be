//! The meanings of the tables' columns, with their units, for the metadata of each Parquet file: a JSON object by column under
//! [`KEY`].

use flowsieve_record::FlowRow;
use parquet::file::metadata::KeyValue;
use serde_json::{Map, Value, json};

use crate::flows::{CLASS, TRAFFIC_CLASS};

/// The key of the metadata.
pub(crate) const KEY: &str = "flowsieve.columns";

/// Name, unit, meaning of the columns that are not measures of flows. An empty unit: a number or a name.
const COLUMNS: [(&str, &str, &str); 14] = [
    ("point", "", "index of the combination of the sweep, in the order of the manifest"),
    ("seed", "", "seed of the run; the same seed gives every scheme the same flows"),
    ("scheme", "", "scheme or variant"),
    ("load", "", "nominal load of the host links; empty where arrivals have none"),
    ("flows", "", "flows of the coflow"),
    ("unfinished", "", "flows of the coflow that did not finish"),
    ("cct_ps", "ps", "coflow completion time; empty: not finished"),
    ("senders", "", "hosts that send flows of the coflow"),
    ("receivers", "", "hosts that receive flows of the coflow"),
    ("longest_bytes", "B", "payload of the coflow's largest flow"),
    ("series", "", "quantity measured over time"),
    ("of", "", "where: a link, a host, a queue; empty: the whole run"),
    ("step_ps", "ps", "length of the step"),
    ("value", "", "the value in that step; docs/reference/samples.md has the unit of each series"),
];

/// For the columns of these names; the names of those of swept keys explain themselves.
pub(crate) fn metadata<'a>(names: impl Iterator<Item = &'a str>) -> KeyValue {
    // Columns of other tables with the name of a measure are the same of a coflow.
    let measures = FlowRow::columns().into_iter().map(|column| (column.name, column.unit, column.about));
    let known: Vec<_> = measures.chain(COLUMNS).collect();
    let about = |name: &str| {
        let as_measured = if name == TRAFFIC_CLASS { CLASS } else { name };
        let found = known.iter().find(|(column, ..)| *column == as_measured);
        let (unit, what) =
            found.map_or(("", "value of this swept key, as in the experiment file"), |(_, unit, what)| (*unit, *what));
        json!({ "unit": unit, "description": what })
    };
    let all: Map<String, Value> = names.map(|name| (name.to_owned(), about(name))).collect();
    KeyValue::new(KEY.to_owned(), Value::Object(all).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata__units_of_known_columns_and_swept_keys() {
        let found = metadata(["fct_ps", "network_ecn_threshold"].into_iter());
        let about: Value = serde_json::from_str(&found.value.unwrap()).unwrap();
        assert_eq!(about["fct_ps"]["unit"], "ps");
        assert_eq!(about["network_ecn_threshold"]["description"], "value of this swept key, as in the experiment file");
    }
}
