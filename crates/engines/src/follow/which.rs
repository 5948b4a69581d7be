//! Which flow of a run is followed: by number, or by how slow it was in its run.

use std::cmp::Ordering;
use std::str::FromStr;

use flowsieve_record::FlowRow;
use flowsieve_results::{SizeClass, SizeClasses};
use flowsieve_settings::{Origin, SettingsError};

use flowsieve_experiment::Error;

/// Selects a flow of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The flow with this number.
    Number(u32),
    /// The flow with the largest slowdown of all flows, or of a size class by its name.
    Slowest(Option<String>),
    /// The flow at the 99th percentile of slowdowns, by nearest rank.
    P99(Option<String>),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Which, String> {
        let (what, class) = text.split_once(':').map_or((text, None), |(what, class)| (what, Some(class.to_owned())));
        match (what, class) {
            ("slowest", class) => Ok(Which::Slowest(class)),
            ("p99", class) => Ok(Which::P99(class)),
            (number, None) if number.parse::<u32>().is_ok() => {
                number.parse().map(Which::Number).map_err(|_| String::new())
            }
            _ => Err(
                "expected a flow's number, or `slowest` or `p99`, optionally of a size class, such as `p99:0-100KB`"
                    .to_owned(),
            ),
        }
    }
}

impl Which {
    /// Returns whether the choice needs the flows of a run.
    pub fn needs_flows(&self) -> bool {
        !matches!(self, Which::Number(_))
    }

    /// Returns the flow of a run and, unless it was given by number, the reason for the choice in words.
    ///
    /// # Errors
    /// Fails if there is no such class, or if no flow of it finished.
    pub fn among(&self, classes: &SizeClasses, flows: &[FlowRow], run: &str) -> Result<(u32, Option<String>), Error> {
        let (name, class) = match self {
            Which::Number(flow) => return Ok((*flow, None)),
            Which::Slowest(class) => ("the slowest", class),
            Which::P99(class) => ("the p99", class),
        };
        let class = class.as_ref().map(|class| find(classes, class, self)).transpose()?;
        let class = class.as_ref();
        let counts = |flow: &&FlowRow| class.is_none_or(|class| class.holds(flow.bytes)) && flow.fct_ps.is_some();
        let mut among: Vec<&FlowRow> = flows.iter().filter(counts).collect();
        among.sort_by(|a, b| by_slowdown(a, b).then(b.flow.cmp(&a.flow)));
        let rank = match self {
            Which::P99(_) => (99 * among.len()).div_ceil(100),
            _ => among.len(),
        };
        let of = class.map_or(String::new(), |class| format!(" of {}", class.name));
        let Some(flow) = rank.checked_sub(1).map(|at| among[at]) else {
            return Err(Error::Input(format!("{run}: no flow{of} finished; expected a flow by its number")));
        };
        Ok((flow.flow, Some(format!("{name} by slowdown of {} flows{of}", among.len()))))
    }
}

/// Compares FCT over ideal FCT, exactly; unfinished flows are last.
fn by_slowdown(a: &FlowRow, b: &FlowRow) -> Ordering {
    let [fct_a, fct_b] = [a, b].map(|flow| u128::from(flow.fct_ps.unwrap_or(u64::MAX)));
    (fct_a * u128::from(b.ideal_ps)).cmp(&(fct_b * u128::from(a.ideal_ps)))
}

/// Finds a size class of the experiment, or one that the name defines.
fn find(classes: &SizeClasses, name: &str, which: &Which) -> Result<SizeClass, Error> {
    let known = classes.as_slice().iter().find(|class| class.name == name).cloned();
    known.or_else(|| SizeClass::parse(name)).ok_or_else(|| {
        let names: Vec<String> = classes.as_slice().iter().map(|class| class.name.clone()).collect();
        let what = if matches!(which, Which::P99(_)) { "p99" } else { "slowest" };
        let origin = Origin::CommandLine(format!("--follow-flow {what}:{name}").into());
        SettingsError::new(origin, format!("there is no size class `{name}`"))
            .expected(format!("one of {}, or another class in this form", names.join(", ")))
            .names(name, names)
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(flow: u32, bytes: u64, fct_ps: Option<u64>) -> FlowRow {
        FlowRow { flow, bytes, fct_ps, ideal_ps: 10 * bytes, ..FlowRow::default() }
    }

    fn among(text: &str, flows: &[FlowRow]) -> Result<u32, Error> {
        let which: Which = text.parse().unwrap();
        which.among(&SizeClasses::default(), flows, "a run").map(|(flow, _)| flow)
    }

    #[test]
    fn among__the_slowest_and_the_p99_of_a_class() {
        // Slowdowns rise from 1 to 200; the large flow's is 500, and one flow never finishes.
        let mut flows: Vec<FlowRow> = (1..=200u32).map(|n| flow(n, 1_000, Some(u64::from(n) * 10_000))).collect();
        flows.push(flow(300, 1_000_000, Some(5_000_000_000)));
        flows.push(flow(400, 500, None));
        assert_eq!(among("17", &flows).unwrap(), 17);
        assert_eq!(among("slowest", &flows).unwrap(), 300);
        assert_eq!(among("slowest:0-100KB", &flows).unwrap(), 200);
        assert_eq!(among("p99:0-100KB", &flows).unwrap(), 198);
        // The first flow of equal slowdowns.
        assert_eq!(among("slowest", &[flow(7, 10, Some(300)), flow(8, 20, Some(600))]).unwrap(), 7);
        assert!(among("p99:>10MB", &flows).is_err());
        let details = among("p99:small", &flows).unwrap_err();
        assert!(details.to_string().contains("there is no size class `small`"), "{details}");
        for wrong in ["", "fastest", "p98", "-1", "17:0-100KB", "4294967296"] {
            assert!(wrong.parse::<Which>().is_err(), "{wrong}");
        }
    }
}
