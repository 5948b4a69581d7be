//! Tables of an experiment that are not this crate's. They are kept as they were written, for those above it.
//!
//! A row of such a table may name a [`Quantity`], by its fields, and itself, by `id`. Then a result measures that quantity in
//! addition to what a report shows: a group of flows, a size class of coflows, a value of a series.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measured::Quantity;

/// The further tables of an experiment, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Json>", into = "BTreeMap<String, Json>")]
pub struct Further {
    tables: BTreeMap<String, Json>,
    asked: Vec<Asked>,
}

/// A quantity that a row asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Asked {
    /// The row's name, unique among those that ask.
    pub id: String,
    /// What it asks for.
    #[serde(flatten)]
    pub quantity: Quantity,
}

/// JSON whose objects keep the order of their keys: a manifest has the bytes that its writer gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Object(IndexMap<String, Json>),
    List(Vec<Json>),
    Leaf(Value),
}

impl Json {
    fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&serde_json::to_string(self)?)
    }

    fn rows(&self) -> &[Json] {
        if let Json::List(rows) = self { rows } else { &[] }
    }
}

impl From<BTreeMap<String, Json>> for Further {
    fn from(tables: BTreeMap<String, Json>) -> Further {
        let asked = tables.values().flat_map(Json::rows).filter_map(|row| row.read().ok()).collect();
        Further { tables, asked }
    }
}

impl From<Further> for BTreeMap<String, Json> {
    fn from(further: Further) -> BTreeMap<String, Json> {
        further.tables
    }
}

impl Further {
    /// With another table; it is left out if it has no rows.
    pub fn with(self, name: &str, rows: &[impl Serialize]) -> Further {
        let mut tables = self.tables;
        if !rows.is_empty() {
            // Rows that JSON cannot hold become null: `rows` then fails, so that nobody takes them for an empty table.
            let table = serde_json::to_string(rows).and_then(|text| serde_json::from_str(&text));
            tables.insert(name.to_owned(), table.unwrap_or(Json::Leaf(Value::Null)));
        }
        tables.into()
    }

    /// The rows of a table; none if there is no such table.
    ///
    /// # Errors
    /// If a row is nothing of this kind.
    pub fn rows<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, serde_json::Error> {
        self.tables.get(name).map_or(Ok(Vec::new()), Json::read)
    }

    /// The number of rows of all tables.
    pub fn count(&self) -> usize {
        self.tables.values().map(|table| table.rows().len()).sum()
    }

    /// The quantities that rows ask for, in the order of the rows.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, Figure};

    #[test]
    fn further__comes_back_in_its_order_and_asks_for_what_rows_name() {
        let text = r#"{"b":[{"id":"one","z":[-0.4,3.0,null],"figure":"timeouts","class":{"name":"all","above_bytes":0,"up_to_bytes":null},"a":{"y":1,"x":true}},{"id":"two"}]}"#;
        let class = serde_json::to_string(&Quantity::of_all_flows(Figure::Fairness).class).unwrap();
        let text = text.replace(r#"{"name":"all","above_bytes":0,"up_to_bytes":null}"#, &class);
        let further: Further = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&further).unwrap(), text);
        let [asked] = further.asked() else { panic!("{further:?}") };
        let timeouts = Figure::all().find(|figure| figure.name() == "timeouts").unwrap();
        assert!(matches!(timeouts, Figure::Count(Count::OfFlows(_))));
        assert_eq!((asked.id.as_str(), &asked.quantity), ("one", &Quantity::of_all_flows(timeouts)));
        assert_eq!((further.count(), further.rows::<Value>("b").unwrap().len()), (2, 2));
        assert!(further.rows::<Value>("c").unwrap().is_empty() && further.rows::<u64>("b").is_err());
        let again = Further::default().with("b", &further.rows::<Json>("b").unwrap());
        assert_eq!((&again.with("none", &[0; 0]), &further), (&further, &further));
    }
}
