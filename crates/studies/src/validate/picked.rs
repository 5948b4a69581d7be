//! The cases to validate: all, the quick ones, or those selected by name.

use super::case::{Case, Extent, cases};
use super::steady::FLOWS;
use flowsieve_experiment::Error;
use flowsieve_settings::{Origin, SettingsError};

/// Cases, in the order of the tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Picked {
    /// Cases of queueing theory.
    pub cases: Vec<Case>,
    /// Cases of DCTCP's analysis: numbers of long flows.
    pub flows: Vec<u32>,
}

impl Picked {
    /// Returns all of an extent; DCTCP's take a second and belong to each.
    pub fn all(extent: Extent) -> Picked {
        Picked { cases: cases(extent), flows: FLOWS.to_vec() }
    }

    /// Returns the cases with these names, each once. An unknown name is an error with the nearest valid one.
    pub fn of(names: &[String]) -> Result<Picked, Error> {
        let mut picked = Picked::all(Extent::All);
        let known = picked.names();
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            let origin = Origin::CommandLine(format!("--case {unknown}").into());
            let error = SettingsError::new(origin, format!("there is no case `{unknown}`"));
            return Err(error.expected("a name that `flowsieve validate --list` prints").names(unknown, known).into());
        }
        picked.cases.retain(|case| names.contains(&case.name()));
        picked.flows.retain(|&flows| names.contains(&steady_name(flows)));
        Ok(picked)
    }

    /// Returns their names.
    pub fn names(&self) -> Vec<String> {
        self.cases.iter().map(Case::name).chain(self.flows.iter().copied().map(steady_name)).collect()
    }
}

fn steady_name(flows: u32) -> String {
    format!("dctcp-{flows}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn of(names: &[&str]) -> Result<Picked, Error> {
        Picked::of(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn names__differ_and_find_their_case() {
        let all = Picked::all(Extent::All);
        let names = all.names();
        assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (123, 123));
        assert_eq!(
            [&names[0], &names[95], &names[122]],
            ["fcfs-exponential-64-0.3", "las-bounded-pareto-128-0.9", "dctcp-40"]
        );
        assert_eq!(Picked::of(&names).unwrap(), all);
    }

    #[test]
    fn of__each_once_in_the_order_of_the_tables() {
        let picked = of(&["dctcp-2", "srpt-uniform-64-0.5", "fcfs-uniform-64-0.5", "dctcp-2"]).unwrap();
        assert_eq!(picked.names(), ["fcfs-uniform-64-0.5", "srpt-uniform-64-0.5", "dctcp-2"]);
    }

    #[test]
    fn of__an_unknown_name_has_the_nearest() {
        let error = of(&["dctcp-2", "srpt-uniform-64-0.6"]).unwrap_err().render(false);
        assert!(error.contains("there is no case `srpt-uniform-64-0.6`") && error.contains("--list"), "{error}");
        assert!(error.contains("did you mean `srpt-uniform-64-0."), "{error}");
    }
}
