//! How much of an experiment is run: all of it, or less to see sooner whether it works.

use flowsieve_schemes::settings::{self, Settings, Table, Value};

/// The share of an experiment that is run. The flows keep their sizes and load; there are fewer of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// A hundredth of the flows or time, one seed: does it run at all?
    Smoke,
    /// A tenth of the flows or time, three seeds at most: is the direction right?
    Quick,
    /// As the file says.
    #[default]
    Paper,
}

/// Fewer flows than this say nothing, and cost nothing.
const FEWEST_FLOWS: u64 = 100;

impl Scale {
    /// Its name on the command line.
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

    /// How many of `seeds` are run.
    pub fn seeds(self, seeds: u64) -> u64 {
        match self {
            Scale::Smoke => seeds.min(1),
            Scale::Quick => seeds.min(3),
            Scale::Paper => seeds,
        }
    }

    /// Lowers the number of flows, or the times, of a point.
    pub fn apply(self, point: &mut Settings) {
        let divisor = self.divisor();
        if divisor == 1 {
            return;
        }
        for name in ["flows", "duration", "window", "change_at", "trace_span"] {
            let Some(key) = settings::find(name) else { continue };
            let table = Table::Section(key.section);
            let Some((value, origin)) = point.given(&(table.clone(), key.name)) else { continue };
            let smaller = match value {
                Value::Count(flows) => Value::Count((flows / divisor).max(FEWEST_FLOWS).min(*flows)),
                Value::Time(ps) => Value::Time((ps / divisor).max(1)),
                Value::TimeList(times) => Value::TimeList(times.iter().map(|ps| ps / divisor).collect()),
                _ => continue,
            };
            let origin = origin.clone();
            point.replace(table, key, smaller, origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_schemes::settings::{Origin, Raw, Section};

    fn flows_of(scale: Scale, flows: i64) -> u64 {
        let mut settings = Settings::default().with(None, "flows", flows);
        scale.apply(&mut settings);
        settings.common().count("flows", 0).unwrap()
    }

    #[test]
    fn apply__lowers_and_never_raises() {
        assert_eq!(flows_of(Scale::Paper, 100_000), 100_000);
        assert_eq!(flows_of(Scale::Quick, 100_000), 10_000);
        assert_eq!(flows_of(Scale::Smoke, 100_000), 1_000);
        assert_eq!(flows_of(Scale::Smoke, 2_000), 100);
        assert_eq!(flows_of(Scale::Smoke, 30), 30);
        assert_eq!(Scale::Quick.seeds(10), 3);
        assert_eq!(Scale::Smoke.seeds(10), 1);
    }

    #[test]
    fn apply__keeps_the_place_in_the_file() {
        let mut settings = Settings::default();
        let key = settings::find("duration").unwrap();
        let origin = Origin::CommandLine("--set duration=1s".into());
        let table = Table::Section(Section::Workload);
        settings.give(table.clone(), key, &Raw::from("1s"), origin.clone()).unwrap();
        Scale::Quick.apply(&mut settings);
        assert_eq!(settings.given(&(table, "duration")), Some((&Value::Time(100_000_000_000), &origin)));
    }
}
