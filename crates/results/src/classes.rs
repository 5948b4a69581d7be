//! Size classes: the ranges of flow size for which results are reported.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Flows of more than `above_bytes` and at most `up_to_bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// How tables call it.
    pub name: String,
    /// The lower bound; flows of this size are outside.
    pub above_bytes: u64,
    /// The largest size inside; `None`: no limit.
    pub up_to_bytes: Option<u64>,
}

impl SizeClass {
    /// Flows between two bounds, named after them in decimal units.
    pub fn between(above_bytes: u64, up_to_bytes: Option<u64>) -> SizeClass {
        let name = match up_to_bytes {
            None if above_bytes == 0 => "all".to_string(),
            None => format!(">{}", size(above_bytes)),
            Some(up_to) if above_bytes == 0 => format!("0-{}", size(up_to)),
            Some(up_to) => format!("{}-{}", size(above_bytes), size(up_to)),
        };
        SizeClass { name, above_bytes, up_to_bytes }
    }

    /// The class of a name as [`SizeClass::between`] gives it: `all`, `0-100KB`, `100KB-10MB`, `>10MB`.
    pub fn parse(name: &str) -> Option<SizeClass> {
        let (above, up_to) = match (name, name.strip_prefix('>'), name.split_once('-')) {
            ("all", ..) => (0, None),
            (_, Some(above), _) => (bytes(above)?, None),
            (_, _, Some((above, up_to))) => (if above == "0" { 0 } else { bytes(above)? }, Some(bytes(up_to)?)),
            _ => return None,
        };
        up_to.is_none_or(|up_to| up_to > above).then(|| SizeClass::between(above, up_to))
    }

    /// Whether a flow of this size is inside.
    pub fn holds(&self, bytes: u64) -> bool {
        bytes > self.above_bytes && self.up_to_bytes.is_none_or(|up_to| bytes <= up_to)
    }
}

/// The classes of a report: the ranges between its bounds, and all flows together. As data it is its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct SizeClasses(Vec<SizeClass>);

/// Bounds that make no classes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("size classes need bounds that rise from above 0: {found} does not come after {before}")]
pub struct BoundsError {
    /// The bound at fault, in bytes.
    pub found: u64,
    /// The one before it, or 0.
    pub before: u64,
}

impl SizeClasses {
    /// Classes between rising bounds, and "all". No bounds: only "all".
    pub fn from_bounds(bounds_bytes: &[u64]) -> Result<SizeClasses, BoundsError> {
        let mut classes = Vec::new();
        let mut before = 0;
        for &found in bounds_bytes {
            if found <= before {
                return Err(BoundsError { found, before });
            }
            classes.push(SizeClass::between(before, Some(found)));
            before = found;
        }
        if before > 0 {
            classes.push(SizeClass::between(before, None));
        }
        classes.push(SizeClass::between(0, None));
        Ok(SizeClasses(classes))
    }

    /// The classes, small flows first, "all" last.
    pub fn as_slice(&self) -> &[SizeClass] {
        &self.0
    }
}

impl TryFrom<Vec<u64>> for SizeClasses {
    type Error = BoundsError;

    fn try_from(bounds_bytes: Vec<u64>) -> Result<SizeClasses, BoundsError> {
        SizeClasses::from_bounds(&bounds_bytes)
    }
}

impl From<SizeClasses> for Vec<u64> {
    fn from(classes: SizeClasses) -> Vec<u64> {
        classes.0.iter().filter_map(|class| class.up_to_bytes).collect()
    }
}

impl Default for SizeClasses {
    /// 0–100 KB, 100 KB–10 MB, above 10 MB, all: the classes of the PIAS, pFabric and QCluster papers.
    fn default() -> SizeClasses {
        let (mice, elephants) = (100_000, 10_000_000);
        SizeClasses(vec![
            SizeClass::between(0, Some(mice)),
            SizeClass::between(mice, Some(elephants)),
            SizeClass::between(elephants, None),
            SizeClass::between(0, None),
        ])
    }
}

/// A size in the largest decimal unit that states it exactly in at most three decimals.
pub fn size(bytes: u64) -> String {
    for (unit, bytes_each) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)] {
        if bytes >= bytes_each && bytes.is_multiple_of(bytes_each / 1_000) {
            return format!("{}{unit}", bytes as f64 / bytes_each as f64);
        }
    }
    format!("{bytes}B")
}

/// The size whose text [`size`] writes.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let bytes_each: u64 = match &text[digits.len()..] {
        "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    let bytes = Decimal::from_str_exact(digits).ok()?.checked_mul(bytes_each.into())?;
    bytes.is_integer().then(|| bytes.to_u64())?
}

/// As data a class is its name.
impl Serialize for SizeClass {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for SizeClass {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SizeClass, D::Error> {
        let name = String::deserialize(from)?;
        SizeClass::parse(&name).ok_or_else(|| D::Error::custom(format!("{name:?} is not a size class")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default__is_what_its_bounds_make() {
        let classes = SizeClasses::default();
        assert_eq!(Ok(classes.clone()), SizeClasses::from_bounds(&[100_000, 10_000_000]));
        let names: Vec<_> = classes.as_slice().iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["0-100KB", "100KB-10MB", ">10MB", "all"]);
    }

    #[test]
    fn holds__the_upper_bound_and_not_the_lower() {
        let class = SizeClass::between(100, Some(200));
        assert_eq!([100, 101, 200, 201].map(|bytes| class.holds(bytes)), [false, true, true, false]);
        assert!(SizeClass::between(0, None).holds(u64::MAX));
    }

    #[test]
    fn from_bounds__refuses_what_does_not_rise() {
        assert_eq!(SizeClasses::from_bounds(&[0]), Err(BoundsError { found: 0, before: 0 }));
        assert_eq!(SizeClasses::from_bounds(&[5, 5]), Err(BoundsError { found: 5, before: 5 }));
        assert_eq!(SizeClasses::from_bounds(&[]).map(|classes| classes.as_slice().len()), Ok(1));
    }

    #[test]
    fn data__is_the_bounds() {
        let text = serde_json::to_string(&SizeClasses::default()).unwrap();
        assert_eq!(text, "[100000,10000000]");
        assert_eq!(serde_json::from_str::<SizeClasses>(&text).unwrap(), SizeClasses::default());
        let error = serde_json::from_str::<SizeClasses>("[5, 4]").unwrap_err().to_string();
        assert!(error.contains("4 does not come after 5"), "{error}");
    }

    #[test]
    fn size__is_exact_or_in_bytes() {
        assert_eq!(size(1_500), "1.5KB");
        assert_eq!(size(1_234_567), "1234.567KB");
        assert_eq!(size(999), "999B");
        assert_eq!(size(10_000_000), "10MB");
    }

    #[test]
    fn parse__what_between_calls_it() {
        for (above, up_to) in [
            (0, None),
            (0, Some(100_000)),
            (100_000, Some(10_000_000)),
            (10_000_000, None),
            (1, Some(1_460)),
            (1_234_567, None),
        ] {
            let class = SizeClass::between(above, up_to);
            assert_eq!(SizeClass::parse(&class.name), Some(class));
        }
        for wrong in ["", "100KB", "10-5KB", ">x", "0-", "10KB-1KB", "0-1.2345KB", "0-1TB", "99999999999999GB-"] {
            assert_eq!(SizeClass::parse(wrong), None, "{wrong}");
        }
    }
}
