//! Claims of a paper, as an experiment file holds them: tables `[[claims]]`.
//!
//! ```toml
//! [[claims]]
//! id = "qcluster-20"
//! where = "Fig 13a"
//! metric = "mean fct"       # a figure: see flowsieve_results::Figure
//! class = "0-100KB"         # all, unless given
//! scheme = "qc-srpt"
//! baseline = "pfabric"
//! load = [0.5, 0.6]         # all loads of the sweep, unless given
//! claimed = "-11.3%"        # or ["-44%", "-22%"], "2.5x", "up to -23%", "lower", "higher"
//! tolerance = "5%"          # how far off a measured change may be
//! ```
//!
//! Without `baseline`, a claim is about the scheme's figure itself: `claimed = "10KB"` or `["23KB", "28KB"]`. With
//! `schemes`, a list, it is about all of them: `claimed = "rising"` or `"close"`. With `unmeasured`, a reason, it is
//! only listed as text.
//!
//! Coflows have size classes, too, and `SN`, `LN`, `SW` and `LW`. With `baseline_class` they are compared with coflows
//! of another such class, under the same scheme unless `baseline` names one.
//!
//! `series`, `of` and `time` select the series of a claim; `workload`, `deadline`, `started` and `senders` select the
//! flows. `at` restricts it to values of other swept keys, and `note` adds a remark. `stand_in` names the workload that
//! replaces the paper's, if that was not available: then only the claim's direction is judged.
//!
//! `repeats` names the claim that is repeated under another calibration of such a workload, or under another reading of
//! the paper; `PAPER/CLAIM` is one of another folder, repeated with real packets. `reading` justifies that reading in a
//! sentence. `acts` names a count of the scheme's runs that shows whether the mechanism acted: if it did not, the claim is not
//! tested. `contradicts` says what else in the paper contradicts the claim, with the calculation.
//!
//! `why` is the cause, in one sentence, if the claim does not hold, and `why_test` what takes it away. `ideal` names the scheme
//! that does best what the claim is about: if even that falls short, no scheme reaches the claim.

use crate::claim::{CLAIMS, Claim, Claims};
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::document::tables;
use flowsieve_experiment::further::{Given, Tables};
use flowsieve_results::measured::Quantity;
use flowsieve_results::{Experiment, Further};
use flowsieve_settings::toml::{entries, raw_value};
use flowsieve_settings::{Keys, Origin, Raw, SettingsError as Wrong, one_of};
use std::sync::Arc;
use toml_edit::Item;

mod expected;
mod fields;

use fields::{Fields, KEYS, Value};

/// More claims than any paper makes.
const MOST: usize = 1_000;

/// The tables `[[claims]]` of experiment files.
pub const TABLES: Tables = Tables { name: CLAIMS, read };

/// The claims of a file.
#[derive(Debug)]
struct OfFile {
    claims: Claims,
    /// Of each that is measured.
    places: Vec<Places>,
}

/// The places of those parts of a claim that depend on the sweep.
#[derive(Debug)]
struct Places {
    table: Origin,
    /// The scheme's, then its baselines', then that of the ideal one.
    schemes: Vec<Origin>,
}

/// Reads the tables.
fn read(input: &ExperimentText, settings: &Keys, item: &Item, origin: &Origin) -> Result<Arc<dyn Given>, Wrong> {
    let keys: Vec<&str> = KEYS.split(' ').collect();
    let (mut claims, mut places, mut ids) = (Claims::default(), Vec::new(), Vec::new());
    for table in tables(CLAIMS, "[[claims]]", item, origin)? {
        let mut fields = Fields { settings, origin: origin.clone(), given: Vec::new() };
        for (name, key, item) in entries(table) {
            let at = input.origin(key);
            if fields.given.is_empty() {
                fields.origin = at.clone();
            }
            if !keys.contains(&name) {
                let problem = format!("unknown key `{name}` in [[claims]]");
                return Err(Wrong::new(at, problem).expected(one_of(&keys)).names(name, keys));
            }
            fields.given.push((name.to_owned(), input.origin(item.span()), value(input, item)));
        }
        let table = fields.origin.clone();
        let id = match fields.unmeasured()? {
            Some(unmeasured) => {
                claims.unmeasured.push(unmeasured.clone());
                unmeasured.id
            }
            None => {
                let (claim, of_claim) = fields.claim()?;
                claims.measured.push(claim.clone());
                places.push(of_claim);
                claim.id
            }
        };
        if ids.contains(&id) {
            return Err(Wrong::new(table, format!("there is another claim {id:?}")).expected("a different id"));
        }
        ids.push(id);
    }
    if ids.len() > MOST {
        return Err(
            Wrong::new(origin.clone(), format!("there are {} claims", ids.len())).expected(format!("at most {MOST}"))
        );
    }
    Ok(Arc::new(OfFile { claims, places }))
}

fn value(input: &ExperimentText, item: &Item) -> Value {
    let raw = |item: &Item| match item {
        Item::Value(value) => raw_value(value, &|span| input.origin(span)),
        _ => Raw::Other("a table"),
    };
    match item.as_table_like() {
        Some(table) => {
            let axis = |(name, key, item): (&str, _, &Item)| (name.to_owned(), raw(item), input.origin(key));
            Value::At(entries(table).into_iter().map(axis).collect())
        }
        None => Value::Raw(raw(item)),
    }
}

impl Given for OfFile {
    fn further(&self, shorter: &dyn Fn(u64) -> u64) -> Further {
        let mut claims = self.claims.clone();
        for Quantity { only, series, .. } in claims.measured.iter_mut().map(|claim| &mut claim.quantity) {
            only.started_ps = only.started_ps.map(|(from, to)| (shorter(from), shorter(to)));
            if let Some(series) = series {
                series.at_ps = series.at_ps.map(shorter);
                series.until_ps = series.until_ps.map(shorter);
            }
        }
        claims.further()
    }

    fn check(&self, experiment: &Experiment) -> Result<(), Wrong> {
        self.claims.measured.iter().zip(&self.places).try_for_each(|(claim, places)| check(claim, places, experiment))
    }
}

/// Checks that the sweep has what a claim is about.
fn check(claim: &Claim, places: &Places, experiment: &Experiment) -> Result<(), Wrong> {
    let names = || experiment.schemes.iter().map(|scheme| scheme.name.clone());
    for (name, origin) in [&claim.scheme].into_iter().chain(&claim.baselines).chain(&claim.ideal).zip(&places.schemes) {
        if !names().any(|known| known == *name) {
            return Err(Wrong::new(origin.clone(), format!("the sweep has no scheme `{name}`"))
                .expected("a scheme of the sweep")
                .names(name, names()));
        }
    }
    let has = |load: &f64| experiment.points.iter().any(|point| point.load == Some(*load));
    if let Some(load) = claim.loads.iter().find(|load| !has(load)) {
        return Err(Wrong::new(places.table.clone(), format!("the sweep has no load {load}, which this claim names"))
            .expected("loads of the sweep"));
    }
    if let Some(axis) = claim.at.iter().find(|axis| !experiment.points.iter().any(|at| at.axes.contains(axis))) {
        let swept = experiment.points.iter().flat_map(|point| &point.axes);
        let mut swept: Vec<String> = swept.map(|axis| format!("{} = {}", axis.key, axis.value)).collect();
        swept.dedup();
        let given_as = format!("{} = {}", axis.key, axis.value);
        return Err(Wrong::new(places.table.clone(), format!("the sweep has no {given_as}"))
            .expected("a swept key by its path, with one of its values")
            .names(given_as, swept));
    }
    Ok(())
}
