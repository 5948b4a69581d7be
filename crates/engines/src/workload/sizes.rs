//! Distributions of sizes from the user's text: the name of a built-in, a formula such as `exponential(100KB)`, or a
//! file that ends in `.csv`.

use crate::workload::files::Files;
use crate::workload::recorded::Recorded;
use flowsieve_experiment::Error;
use flowsieve_settings::declare;
use flowsieve_settings::units::{Size, parse_size};
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError};
use flowsieve_workload::{Builtin, LawError, Reading, Rounding, SizeDistribution, builtin_names, builtin_with_mean};
use std::num::NonZeroU32;
use std::path::Path;

/// The rounding of sizes, by the names in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundingName {
    Bytes,
    Packets,
}

declare! {
    /// Flow sizes.
    pub static SIZES: Setting<String> = Setting::text_or_csv(
        Section::Workload, "sizes",
        "flow sizes: a built-in distribution (see `flowsieve list workloads`), a formula such as exponential(100KB), or a file.csv of a distribution or of measured sizes",
    );
    static SIZES_COLUMN: Setting<String> = Setting::text(
        Section::Workload, "sizes_column",
        "column of a file.csv with measured sizes in bytes, one flow per row, by its name in the first row",
    );
    /// A file of flow sizes.
    pub static CDF: Setting<String> = Setting::file(
        Section::Workload, "cdf", "a flow size distribution: CSV rows of size_bytes,cdf",
    );
    static READING: Setting<Reading> = Setting::choice(
        Section::Workload, "reading", Reading::NAMES, "how a distribution is read between its points",
    );
    static ROUNDING: Setting<RoundingName> = Setting::choice(
        Section::Workload,
        "rounding",
        &[("bytes", RoundingName::Bytes), ("packets", RoundingName::Packets)],
        "sizes as drawn, or rounded up to whole packets of payload",
    );
}

/// The formulas, as a message shows them.
const FORMULAS: &str = "fixed(10KB), uniform(1KB, 1MB), exponential(100KB), bounded-pareto(1.2, 1KB, 100MB) or \
                        lognormal(10KB, 2.0)";

/// A distribution that an experiment chose.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    pub(super) distribution: SizeDistribution,
    /// The built-in's name, if it is one.
    pub(super) builtin: Option<&'static str>,
    /// The mean in bytes for the arrival rate, if it is not the distribution's own.
    pub(super) rate_mean: Option<f64>,
}

/// Converts the settings of a point to distributions.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) scope: &'a Scope<'a>,
    /// Payload of a full packet, to which sizes are rounded up on request.
    pub(super) payload: NonZeroU32,
    pub(super) files: &'a Files,
    /// The folder that paths are relative to.
    pub(super) folder: &'a Path,
    /// Recorded flows whose sizes are sent in their order, instead of drawn sizes.
    pub(super) recorded: Option<&'a Recorded>,
}

impl Reader<'_> {
    /// Returns the distribution of `sizes` or `cdf`.
    pub(super) fn of_workload(&self) -> Result<Sizes, Error> {
        let scope = self.scope;
        if let Some(recorded) = self.recorded {
            return Ok(recorded.sizes());
        }
        match (scope.optional(&CDF)?, scope.optional(&SIZES)?) {
            (Some(_), Some(_)) => {
                Err(scope.error(&CDF, "`cdf` and `sizes` are both given").expected("one of the two").into())
            }
            (Some(file), None) => self.of_file(&SIZES, &CDF, &file),
            (None, Some(text)) => self.of_text(&SIZES, &text),
            (None, None) => Err(scope.invalid(&SIZES, "`sizes`, `cdf`, `recorded` or `list` in [workload]").into()),
        }
    }

    /// Returns the distribution that `text`, given for `key`, names.
    pub(super) fn of_text(&self, key: &Key, text: &str) -> Result<Sizes, Error> {
        if let Some((builtin, rate_mean)) = builtin_with_mean(text) {
            return self.of_builtin(key, builtin, rate_mean);
        }
        if key.kind.is_path(text) {
            let column = if key.name == SIZES.name { self.scope.optional(&SIZES_COLUMN)? } else { None };
            let path = self.folder.join(text);
            if column.is_some() || Files::has_one_column(&path) {
                return self.of_samples(key, &path, column.as_deref());
            }
            return self.of_file(key, key, text);
        }
        let rounding = self.rounding(Rounding::Bytes)?;
        match formula(text, rounding) {
            Some(Ok(distribution)) => {
                self.scope.note(&rounding_note(key), rounding);
                Ok(Sizes { distribution, builtin: None, rate_mean: None })
            }
            Some(Err(problem)) => Err(self
                .scope
                .error(key, format!("`{}`: {problem}", key.name))
                .expected(format!("a formula such as {FORMULAS}"))
                .into()),
            None => {
                let expected = "a built-in distribution (see `flowsieve list workloads`), a formula such as \
                                exponential(100KB), or a file.csv";
                Err(self.scope.invalid(key, expected).names(text, builtin_names()).into())
            }
        }
    }

    fn of_builtin(&self, key: &Key, builtin: &'static Builtin, rate_mean: Option<f64>) -> Result<Sizes, Error> {
        let reading = self.reading(key, builtin.reading)?;
        let rounding = self.rounding(builtin.rounding)?;
        let distribution = self.points(key, builtin.name, builtin.text, reading, rounding)?;
        Ok(Sizes { distribution, builtin: Some(builtin.name), rate_mean })
    }

    /// Builds a distribution from measured sizes, by their frequencies.
    fn of_samples(&self, key: &Key, path: &Path, column: Option<&str>) -> Result<Sizes, Error> {
        let rounding = self.rounding(Rounding::Bytes)?;
        let read = self.files.samples(self.scope, key, path, column)?;
        self.scope.note(&rounding_note(key), rounding);
        self.scope.note(&format!("workload.{}.digest", key.name), &read.digest);
        self.scope.note(&format!("workload.{}.measured", key.name), read.sizes.len());
        let distribution = SizeDistribution::sampled(&path.display().to_string(), &read.sizes, rounding);
        Ok(Sizes { distribution, builtin: None, rate_mean: None })
    }

    /// Reads a file that `given` names, as the distribution of `key`.
    fn of_file(&self, key: &Key, given: &Key, file: &str) -> Result<Sizes, Error> {
        let reading = self.reading(key, Reading::Interpolated)?;
        let rounding = self.rounding(Rounding::Bytes)?;
        let path = self.folder.join(file);
        self.scope.note(&rounding_note(key), rounding);
        let read = self.files.distribution(self.scope, given, &path, (reading, rounding))?;
        self.scope.note(&format!("workload.{}.digest", key.name), &read.digest);
        Ok(Sizes { distribution: read.distribution.clone(), builtin: None, rate_mean: None })
    }

    fn points(
        &self,
        key: &Key,
        name: &str,
        text: &str,
        reading: Reading,
        rounding: Rounding,
    ) -> Result<SizeDistribution, Error> {
        self.scope.note(&rounding_note(key), rounding);
        self.scope.note(&format!("workload.{}.digest", key.name), blake3::hash(text.as_bytes()).to_hex());
        Ok(SizeDistribution::parse(name, text, reading, rounding)?)
    }

    /// Returns how points are read: the experiment's setting for all distributions, or the default of this one.
    fn reading(&self, key: &Key, own: Reading) -> Result<Reading, SettingsError> {
        if key.name == SIZES.name || self.scope.is_given(&READING) {
            return self.scope.read_or(&READING, own);
        }
        self.scope.note(&format!("workload.{}.reading", key.name), own);
        Ok(own)
    }

    /// Returns how sizes are rounded, likewise.
    fn rounding(&self, own: Rounding) -> Result<Rounding, SettingsError> {
        Ok(match self.scope.optional(&ROUNDING)? {
            None => own,
            Some(RoundingName::Bytes) => Rounding::Bytes,
            Some(RoundingName::Packets) => Rounding::Packets { payload: self.payload },
        })
    }
}

fn rounding_note(key: &Key) -> String {
    match key.name == SIZES.name {
        true => "workload.rounding".to_owned(),
        false => format!("workload.{}.rounding", key.name),
    }
}

/// Builds the distribution of a formula such as `uniform(1KB, 1MB)`: sizes have units, all other parameters are
/// numbers. Returns `None` if the text is not a name with parameters; any other problem is a sentence.
pub fn formula(text: &str, rounding: Rounding) -> Option<Result<SizeDistribution, String>> {
    let (name, rest) = text.trim().split_once('(')?;
    let parameters = rest.strip_suffix(')')?.split(',').map(str::trim);
    let parameters: Vec<&str> = if rest.trim() == ")" { Vec::new() } else { parameters.collect() };
    Some(distribution(name.trim_end(), &parameters, rounding))
}

fn distribution(name: &str, parameters: &[&str], rounding: Rounding) -> Result<SizeDistribution, String> {
    let refuse = |error: LawError| error.to_string();
    match (name, parameters) {
        ("fixed", [size]) => SizeDistribution::fixed(bytes(size)?, rounding).map_err(refuse),
        ("uniform", [low, high]) => SizeDistribution::uniform(bytes(low)?, bytes(high)?, rounding).map_err(refuse),
        ("exponential", [mean]) => SizeDistribution::exponential(bytes(mean)?, rounding).map_err(refuse),
        ("bounded-pareto", [shape, low, high]) => {
            SizeDistribution::bounded_pareto(number(shape)?, bytes(low)?, bytes(high)?, rounding).map_err(refuse)
        }
        ("lognormal", [median, sigma]) => {
            SizeDistribution::lognormal(bytes(median)?, number(sigma)?, rounding).map_err(refuse)
        }
        ("fixed" | "uniform" | "exponential" | "bounded-pareto" | "lognormal", _) => {
            Err(format!("`{name}` with {} parameter(s)", parameters.len()))
        }
        _ => Err(format!("there is no formula `{name}`")),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(Size::Bytes(bytes)) => Ok(bytes),
        Ok(Size::MilliPackets(_)) => Err(format!("`{text}` counts packets, but flow sizes are bytes")),
        Err(error) => Err(format!("`{text}` {error}")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name_of(text: &str) -> Option<Result<String, String>> {
        formula(text, Rounding::Bytes).map(|found| found.map(|sizes| sizes.name().to_owned()))
    }

    #[test]
    fn formula__takes_sizes_with_units() {
        let expected = [
            ("fixed(10KB)", "fixed(10000)"),
            ("uniform( 1B,1KiB )", "uniform(1, 1024)"),
            (" exponential (0.1MB)", "exponential(100000)"),
            ("bounded-pareto(1.2, 1KB, 100MB)", "bounded-pareto(1.2, 1000, 100000000)"),
            ("lognormal(10KB, 2)", "lognormal(10000, 2)"),
        ];
        for (text, name) in expected {
            assert_eq!(name_of(text), Some(Ok(name.to_owned())), "{text}");
        }
    }

    #[test]
    fn formula__says_what_is_wrong() {
        let refused = |text| name_of(text).unwrap().unwrap_err();
        assert_eq!(refused("fixed(10KB, 20KB)"), "`fixed` with 2 parameter(s)");
        assert_eq!(refused("fixed( )"), "`fixed` with 0 parameter(s)");
        assert_eq!(refused("uniform(1KB,)"), "`` does not start with a decimal number");
        assert_eq!(refused("pareto(1KB)"), "there is no formula `pareto`");
        assert_eq!(refused("lognormal(10KB, wide)"), "`wide` is not a number");
        assert_eq!(
            refused("uniform(1MB, 1KB)"),
            "sizes from 1000000 to 1000 bytes; expected the second to be the larger"
        );
        assert!(refused("fixed(10)").contains("unit"), "{}", refused("fixed(10)"));
        assert_eq!(refused("fixed(3pkt)"), "`3pkt` counts packets, but flow sizes are bytes");
        assert!([name_of("fixed"), name_of("fixed(1KB"), name_of("")].iter().all(Option::is_none));
    }

    proptest! {
        #[test]
        fn formula__never_panics_and_draws_what_it_accepts(
            text in "\\PC*|(fixed|uniform|exponential|bounded-pareto|lognormal)\\(([0-9.e-]{0,6}(B|KB|GB|),? ?){0,4}\\)"
        ) {
            if let Some(Ok(sizes)) = formula(&text, Rounding::Bytes) {
                let quantiles = [0.0, 0.5, 1.0].map(|p| sizes.quantile(p));
                prop_assert!(quantiles.is_sorted() && quantiles[0] >= 1);
                let mean = sizes.mean_bytes() / sizes.max_bytes() as f64;
                prop_assert!(mean > 0.0 && mean <= 1.000_001, "{mean}");
            }
        }
    }
}
