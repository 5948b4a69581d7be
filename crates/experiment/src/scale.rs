//! How much of an experiment is run: all of it, or less to see sooner whether it works.
//!
//! A file may define what a scale runs:
//!
//! ```toml
//! [scale.quick]                 # instead of what the file says, as --set would
//! load = [0.5, 0.9]
//! seeds = 3
//! flows = { web-search = 5_000, data-mining = 2_500 }   # a number, or one for each workload
//! times = 0.25              # the course of a run, and of what is asked of it, in a quarter of the time
//! ```
//!
//! Without such a table a scale is a share of the flows.

use crate::document::{Document, Wrong, known_key};
use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::overrides;
use crate::points::Point;
use flowsieve_settings::toml::{Span, entries, raw_item};
use flowsieve_settings::{Key, Keys, Origin, Raw, Scaled, Section, Settings, Table, Value, one_of};
use toml_edit::{Item, TableLike};

/// The share of an experiment that is run if the file has no table for the scale. The flows keep their sizes and load;
/// there are fewer of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// A hundredth of the flows or time, one seed: does it run at all?
    Smoke,
    /// A tenth of the flows or time, three seeds at most: is the direction right?
    Quick,
    /// As in the file.
    #[default]
    Paper,
}

/// Fewer flows than this are not useful, and cost nothing.
const FEWEST_FLOWS: u64 = 100;

impl Scale {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Smoke => "smoke",
            Scale::Quick => "quick",
            Scale::Paper => "paper",
        }
    }

    fn divisor(self) -> u64 {
        match self {
            Scale::Smoke => 100,
            Scale::Quick => 10,
            Scale::Paper => 1,
        }
    }

    /// Returns how many of `seeds` are run.
    pub fn seeds(self, seeds: u64) -> u64 {
        match self {
            Scale::Smoke => seeds.min(1),
            Scale::Quick => seeds.min(3),
            Scale::Paper => seeds,
        }
    }

    /// Applies a document's table of this scale, and returns that table; every table is checked.
    pub(crate) fn choose(self, document: &mut Document) -> Result<Option<ScaleTable>, Error> {
        let (chosen, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut document.scales).into_iter().partition(|table| table.scale == self);
        for table in others {
            table.change(&mut document.clone())?;
        }
        let chosen = chosen.into_iter().next();
        if let Some(table) = &chosen {
            table.change(document)?;
        }
        Ok(chosen)
    }

    /// Lowers the numbers of flows and queries, or the times, of a point.
    pub fn lower(self, point: &mut Settings) -> Result<(), Wrong> {
        let divisor = self.divisor();
        if divisor == 1 {
            return Ok(());
        }
        let scaled = point.declared().iter().filter(|key| key.scaled != Scaled::No);
        for (table, key) in scaled.flat_map(|key| tables_of(point, key)).collect::<Vec<_>>() {
            let Some((value, origin)) = point.given(&(table.clone(), key.name)) else { continue };
            let smaller = match value {
                Value::Count(flows) => Value::Count((flows / divisor).max(FEWEST_FLOWS).min(*flows)),
                Value::Time(ps) => Value::Time((ps / divisor).max(1)),
                Value::TimeList(times) => Value::TimeList(times.iter().map(|ps| ps / divisor).collect()),
                _ => continue,
            };
            let origin = origin.clone();
            point.replace(table, key, smaller, origin)?;
        }
        Ok(())
    }
}

/// Returns the tables in which a point may have a key: one, or those of its workloads.
fn tables_of(point: &Settings, key: &'static Key) -> Vec<(Table, &'static Key)> {
    let tables = match key.section {
        Section::Workload => point.workload_tables(),
        Section::Event => (0..point.events().len()).map(Table::Event).collect(),
        section => vec![Table::Section(section)],
    };
    tables.into_iter().map(|table| (table, key)).collect()
}

/// A table `[scale.<name>]`: the file's own values for that scale.
#[derive(Debug, Clone)]
pub(crate) struct ScaleTable {
    scale: Scale,
    /// Name or path of a setting, its place, and the value with its place.
    values: Vec<(String, Origin, (Raw, Origin))>,
    /// Workload, the place of its name, and its number of flows.
    flows: Vec<(String, Origin, (Raw, Origin))>,
    /// The factor for the times of a run's course.
    times: Option<(Share, Origin)>,
}

/// A share, above 0 and up to 1.
#[derive(Debug, Clone, Copy)]
struct Share(f64);

impl Share {
    const EXPECTED: &str = "a share, above 0 and up to 1";

    fn read(raw: &Raw, origin: Origin) -> Result<Share, Wrong> {
        match raw {
            Raw::Float(share) if *share > 0.0 && *share <= 1.0 => Ok(Share(*share)),
            Raw::Integer(1) => Ok(Share(1.0)),
            other => Err(Wrong::new(origin, format!("`{TIMES}` cannot be {other}")).expected(Share::EXPECTED)),
        }
    }

    fn of(self, ps: u64) -> u64 {
        ((ps as f64 * self.0).round() as u64).max(ps.min(1))
    }
}

/// The setting that a scale may set per workload, and the setting that selects the workload.
const FLOWS: &str = "flows";
const SIZES: &str = "sizes";

/// The key of a scale's table for the times of a run's course.
const TIMES: &str = "times";

impl ScaleTable {
    pub(crate) fn read(
        name: &str,
        at: Origin,
        table: &dyn TableLike,
        input: &ExperimentText,
    ) -> Result<ScaleTable, Wrong> {
        let all = [Scale::Smoke, Scale::Quick, Scale::Paper];
        let scale = all.into_iter().find(|scale| scale.name() == name).ok_or_else(|| {
            let names = all.map(Scale::name);
            Wrong::new(at, format!("there is no scale `{name}`")).expected(one_of(&names)).names(name, names)
        })?;
        let mut read = ScaleTable { scale, values: Vec::new(), flows: Vec::new(), times: None };
        for (name, key, item) in entries(table) {
            if name == TIMES {
                let (raw, at) = raw_item(input, item);
                read.times = Some((Share::read(&raw, at)?, input.origin(key)));
                continue;
            }
            match item.as_table_like().filter(|_| name == FLOWS) {
                Some(workloads) => {
                    let of = |(name, key, item): (&str, Span, &Item)| {
                        (name.to_owned(), input.origin(key), raw_item(input, item))
                    };
                    read.flows = entries(workloads).into_iter().map(of).collect();
                }
                None => read.add(name, input.origin(key), item, input),
            }
        }
        Ok(read)
    }

    /// Adds an entry; tables within it make paths.
    fn add(&mut self, path: &str, origin: Origin, item: &Item, input: &ExperimentText) {
        match item.as_table_like() {
            None => self.values.push((path.to_owned(), origin, raw_item(input, item))),
            Some(table) => {
                for (name, key, item) in entries(table) {
                    self.add(&format!("{path}.{name}"), input.origin(key), item, input);
                }
            }
        }
    }

    /// Applies it to a document, except for the flows of each workload.
    fn change(&self, document: &mut Document) -> Result<(), Wrong> {
        for (path, origin, value) in &self.values {
            overrides::apply_value(document, path, origin, value)?;
        }
        let Some((_, first, _)) = self.flows.first() else { return Ok(()) };
        let flows = known_key(document.settings.declared(), &Table::Section(Section::Workload), FLOWS, first.clone())?;
        self.flows.iter().try_for_each(|(_, _, (raw, at))| flows.kind.read(FLOWS, raw, at).map(drop))
    }

    /// Sets the flows of each point's workload. `whole` is whether the points are all that the file asks for.
    pub(crate) fn give_flows(&self, points: &mut [Point], whole: bool) -> Result<(), Wrong> {
        let Some((_, first, _)) = self.flows.first() else { return Ok(()) };
        if points.iter().any(|point| !point.settings.workloads().is_empty()) {
            let problem = "`flows` is given by sizes, but this experiment has several workloads";
            return Err(
                Wrong::new(first.clone(), problem).expected("`workload.<name>.flows` for each that has `flows`")
            );
        }
        let sizes = |point: &Point| match point.settings.given(&(Table::Section(Section::Workload), SIZES)) {
            Some((Value::Text(sizes), _)) => sizes.clone(),
            _ => String::new(),
        };
        let there: Vec<String> = points.iter().map(sizes).collect();
        for (name, origin, _) in self.flows.iter().filter(|_| whole) {
            if !there.contains(name) {
                return Err(Wrong::new(origin.clone(), format!("the sweep has no workload `{name}`"))
                    .expected("a value of `sizes`")
                    .names(name, there));
            }
        }
        for (point, sizes) in points.iter_mut().zip(there) {
            let Some(flows) = point.settings.find(FLOWS) else { continue };
            let address = (Table::Section(flows.section), flows.name);
            match point.settings.given(&address) {
                Some((_, Origin::CommandLine(_))) => continue,
                _ if !point.is_swept(&address) => {}
                _ => {
                    return Err(Wrong::new(first.clone(), "`flows` is swept, but given here for each workload")
                        .expected("one of the two"));
                }
            }
            let Some((_, _, (raw, at))) = self.flows.iter().find(|(name, ..)| *name == sizes) else {
                return Err(Wrong::new(first.clone(), format!("`flows` has no number for the workload `{sizes}`"))
                    .expected("one for each workload of the sweep, or one number for all"));
            };
            point.settings.give(address.0, flows, raw, at.clone())?;
        }
        Ok(())
    }

    /// Shortens the course of each point's run, except for values from the command line.
    pub(crate) fn shorten(&self, points: &mut [Point]) -> Result<(), Wrong> {
        let Some((share, at)) = &self.times else { return Ok(()) };
        let mut is_read = false;
        let course = |keys: &Keys| keys.iter().filter(|key| key.scaled == Scaled::Course).collect::<Vec<_>>();
        for settings in points.iter_mut().map(|point| &mut point.settings) {
            let keys = course(settings.declared()).into_iter();
            for (table, key) in keys.flat_map(|key| tables_of(settings, key)).collect::<Vec<_>>() {
                let Some((value, origin)) = settings.given(&(table.clone(), key.name)) else { continue };
                is_read = true;
                let shorter = match (value, origin) {
                    (_, Origin::CommandLine(_)) => continue,
                    (Value::Time(ps), _) => Value::Time(share.of(*ps)),
                    (Value::TimeList(times), _) => Value::TimeList(times.iter().map(|&ps| share.of(ps)).collect()),
                    _ => continue,
                };
                let origin = origin.clone();
                settings.replace(table, key, shorter, origin)?;
            }
        }
        if !is_read {
            let problem = format!("`{TIMES}` has no effect: this experiment has none of them");
            let names: Vec<&str> = points
                .first()
                .into_iter()
                .flat_map(|point| course(point.settings.declared()))
                .map(|key| key.name)
                .collect();
            return Err(Wrong::new(at.clone(), problem).expected(one_of(&names)));
        }
        Ok(())
    }

    /// Returns what it makes of a time of a run's course.
    pub(crate) fn shorter(&self, ps: u64) -> u64 {
        self.times.as_ref().map_or(ps, |(share, _)| share.of(ps))
    }

    /// Returns whether a place is within one of its values.
    pub(crate) fn holds(&self, origin: &Origin) -> bool {
        let Origin::File { span, .. } = origin else { return false };
        self.values.iter().any(|(_, _, (_, at))| match at {
            Origin::File { span: outer, .. } => outer.start <= span.start && span.end <= outer.end,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Made;
    use flowsieve_settings::{Origin, Raw, Section};

    fn flows_of(scale: Scale, flows: i64) -> u64 {
        let mut settings = Made::default().engines().keys().none_given().with(None, "flows", flows);
        scale.lower(&mut settings).unwrap();
        match settings.given(&(Table::Section(Section::Workload), FLOWS)) {
            Some((Value::Count(flows), _)) => *flows,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lower__lowers_and_never_raises() {
        assert_eq!(flows_of(Scale::Paper, 100_000), 100_000);
        assert_eq!(flows_of(Scale::Quick, 100_000), 10_000);
        assert_eq!(flows_of(Scale::Smoke, 100_000), 1_000);
        assert_eq!(flows_of(Scale::Smoke, 2_000), 100);
        assert_eq!(flows_of(Scale::Smoke, 30), 30);
        assert_eq!(Scale::Quick.seeds(10), 3);
        assert_eq!(Scale::Smoke.seeds(10), 1);
    }

    #[test]
    fn lower__keeps_the_place_in_the_file() {
        let mut settings = Made::default().engines().keys().none_given();
        let origin = Origin::CommandLine("--set duration=1s".into());
        let table = Table::Section(Section::Workload);
        let duration = settings.find("duration").unwrap();
        settings.give(table.clone(), duration, &Raw::from("1s"), origin.clone()).unwrap();
        Scale::Quick.lower(&mut settings).unwrap();
        assert_eq!(settings.given(&(table, "duration")), Some((&Value::Time(100_000_000_000), &origin)));
    }
}
