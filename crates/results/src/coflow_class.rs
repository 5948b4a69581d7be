//! Classes of coflows by length and width (Varys, SIGCOMM 2014, §7.1).

use flowsieve_record::CoflowRow;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::classes::SizeClass;

/// Short or long by the longest flow of a coflow, narrow or wide by its number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoflowClass {
    /// Its longest flow is long.
    pub long: bool,
    /// It has many flows.
    pub wide: bool,
}

impl CoflowClass {
    /// All four, in the order of the papers: SN, LN, SW, LW.
    pub const ALL: [CoflowClass; 4] = [
        CoflowClass { long: false, wide: false },
        CoflowClass { long: true, wide: false },
        CoflowClass { long: false, wide: true },
        CoflowClass { long: true, wide: true },
    ];

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        usize::from(self.long) + 2 * usize::from(self.wide)
    }

    /// Its name in the papers.
    pub fn name(self) -> &'static str {
        match (self.long, self.wide) {
            (false, false) => "SN",
            (true, false) => "LN",
            (false, true) => "SW",
            (true, true) => "LW",
        }
    }

    /// In words.
    pub fn in_words(self) -> &'static str {
        match (self.long, self.wide) {
            (false, false) => "short and narrow",
            (true, false) => "long and narrow",
            (false, true) => "short and wide",
            (true, true) => "long and wide",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<CoflowClass> {
        CoflowClass::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// Where coflows begin to be long and wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoflowClassBounds {
    /// The least payload of a long flow.
    pub long_bytes: u64,
    /// The fewest flows of a wide coflow.
    pub wide_flows: u64,
}

impl Default for CoflowClassBounds {
    /// Varys': 5 MB, and more than 50 flows.
    fn default() -> CoflowClassBounds {
        CoflowClassBounds { long_bytes: 5_000_000, wide_flows: 51 }
    }
}

impl CoflowClassBounds {
    /// Whether they are the default ones.
    pub fn are_default(&self) -> bool {
        *self == CoflowClassBounds::default()
    }

    /// The class of a coflow.
    pub fn class(&self, coflow: &CoflowRow) -> CoflowClass {
        CoflowClass { long: coflow.longest_bytes >= self.long_bytes, wide: coflow.flows >= self.wide_flows }
    }
}

/// A group of coflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoflowGroup {
    /// Their payload is in a size class.
    Size(SizeClass),
    /// They are of a class.
    Class(CoflowClass),
}

impl CoflowGroup {
    /// Its class's name.
    pub fn name(&self) -> &str {
        match self {
            CoflowGroup::Size(class) => &class.name,
            CoflowGroup::Class(class) => class.name(),
        }
    }

    pub(crate) fn holds(&self, coflow: &CoflowRow, bounds: &CoflowClassBounds) -> bool {
        match self {
            CoflowGroup::Size(class) => class.holds(coflow.bytes),
            CoflowGroup::Class(class) => bounds.class(coflow) == *class,
        }
    }
}

/// As data a class is its name.
impl Serialize for CoflowClass {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for CoflowClass {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CoflowClass, D::Error> {
        let name = String::deserialize(from)?;
        CoflowClass::parse(&name).ok_or_else(|| D::Error::custom(format!("{name:?} is not a class of coflows")))
    }
}

/// As data a group is its class's name.
impl Serialize for CoflowGroup {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for CoflowGroup {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CoflowGroup, D::Error> {
        let name = String::deserialize(from)?;
        let class = CoflowClass::parse(&name).map(CoflowGroup::Class);
        let group = class.or_else(|| SizeClass::parse(&name).map(CoflowGroup::Size));
        group.ok_or_else(|| D::Error::custom(format!("{name:?} is not a class of coflows")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class__a_coflow_at_each_bound_is_inside() {
        let name = |longest_bytes, flows| {
            let coflow = CoflowRow { longest_bytes, flows, ..CoflowRow::default() };
            CoflowClassBounds::default().class(&coflow).name()
        };
        assert_eq!([name(4_999_999, 50), name(5_000_000, 50)], ["SN", "LN"]);
        assert_eq!([name(4_999_999, 51), name(5_000_000, 51)], ["SW", "LW"]);
    }

    #[test]
    fn data__a_group_is_its_name() {
        assert_eq!(CoflowClass::ALL.map(CoflowClass::index), [0, 1, 2, 3]);
        let classes = CoflowClass::ALL.map(CoflowGroup::Class);
        let sizes = [None, Some(100_000)].map(|up_to| CoflowGroup::Size(SizeClass::between(0, up_to)));
        for group in classes.into_iter().chain(sizes) {
            let text = serde_json::to_string(&group).unwrap();
            assert_eq!(serde_json::from_str::<CoflowGroup>(&text).unwrap(), group);
        }
        assert!(serde_json::from_str::<CoflowGroup>("\"XL\"").is_err());
    }
}
