//! The built-in distributions: a name, a file of figures, their source and their reading.
//!
//! If a distribution's source code computes its arrival rate from another mean than that of its own points, that mean is the
//! distribution's `source_mean`. The name followed by [`SOURCE_MEAN`] is the same sizes at the rate of that mean.
//!
//! A new one is a file in `data/` and an entry in the table.

mod table;

use crate::distribution::{Reading, Rounding, SizeDistribution};
use crate::error::InputError;
use table::BUILTINS;

/// A distribution that the project carries.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name that settings use.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The measured traffic, in a few words.
    pub summary: &'static str,
    /// The publication, and the code whose points these are.
    pub provenance: &'static str,
    /// Rows `size_bytes,cdf`.
    pub text: &'static str,
    /// How the source reads its points.
    pub reading: Reading,
    /// How the source rounds its sizes.
    pub rounding: Rounding,
    /// The mean in bytes from which the source's code computes its arrival rate, if it differs.
    pub source_mean: Option<f64>,
}

/// The suffix of a distribution's name for an arrival rate from its source's mean.
pub const SOURCE_MEAN: &str = "-source-mean";

impl Builtin {
    /// The distribution itself.
    pub fn distribution(&self) -> Result<SizeDistribution, InputError> {
        SizeDistribution::parse(self.name, self.text, self.reading, self.rounding)
    }
}

/// All built-in distributions, in the order in which they are listed.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

/// The built-in distribution of this name or alias.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name || builtin.aliases.contains(&name))
}

/// The built-in distribution of a name that may end in [`SOURCE_MEAN`], and then the mean in bytes for the arrival rate.
pub fn builtin_with_mean(name: &str) -> Option<(&'static Builtin, Option<f64>)> {
    if let Some(builtin) = builtin(name) {
        return Some((builtin, None));
    }
    let builtin = builtin(name.strip_suffix(SOURCE_MEAN)?)?;
    builtin.source_mean.map(|mean| (builtin, Some(mean)))
}

/// Every name that [`builtin_with_mean`] finds, without aliases.
pub fn builtin_names() -> impl Iterator<Item = String> {
    let with_mean = |builtin: &Builtin| builtin.source_mean.map(|_| format!("{}{SOURCE_MEAN}", builtin.name));
    BUILTINS.iter().flat_map(move |builtin| std::iter::once(builtin.name.to_owned()).chain(with_mean(builtin)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn distribution(name: &str) -> SizeDistribution {
        builtin(name).unwrap().distribution().unwrap()
    }

    /// Mean in packets from the source's own points (packets, share of flows up to there): between two points the
    /// rounded sizes are the packets after the first up to the second, equally likely.
    fn mean_in_packets(mass: f64, points: &[(f64, f64)]) -> f64 {
        let between = points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0 + 1.0) / 2.0);
        mass * points[0].0 + between.sum::<f64>()
    }

    #[test]
    fn builtins__can_all_be_read() {
        for builtin in builtins() {
            assert!(builtin.distribution().is_ok(), "{}", builtin.name);
        }
    }

    #[test]
    fn builtins__have_names_of_their_own() {
        let names: Vec<&str> = builtins().iter().flat_map(|b| b.aliases.iter().chain([&b.name]).copied()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }

    #[test]
    fn builtin__is_found_by_alias_and_not_by_half_a_name() {
        assert_eq!(builtin("websearch").map(|b| b.name), Some("web-search"));
        assert!(builtin("web").is_none());
    }

    /// Names and means, computed by another program from the published points by their reading and rounding.
    const MEANS: &[(&str, f64)] = &[
        ("web-search", 1_666_451.3),
        ("data-mining", 7_470_601.0),
        ("web-search-bytes", 1_711_250.5),
        ("data-mining-bytes", 12_658_199.1),
        ("fb-cache-follower", 692_975.6),
        ("fb-web-server", 62_874.3),
        ("fb-key-value", 342.7),
        ("homa-w1", 187.5),
        ("homa-w2", 440.8),
        ("homa-w3", 2_927.4),
        ("homa-w4", 127_796.6),
        ("homa-w5", 2_515_863.3),
        ("homa-module-w1", 189.2),
        ("homa-module-w2", 441.6),
        ("homa-module-w3", 2_927.7),
        ("homa-module-w4", 127_796.6),
        ("homa-module-w5", 2_564_689.7),
        ("homa-heavy-head", 1_263.1),
        ("homa-heavy-middle", 2_567.3),
        ("qcluster-w1", 185.1),
        ("qcluster-w2", 423.9),
        ("qcluster-w3", 2_890.7),
        ("qcluster-w4", 121_849.5),
        ("qcluster-w5", 6_917_025.5),
        ("qcluster-w6", 2_510_778.3),
        ("hpcc-web-search", 1_711_250.5),
        ("hpcc-fb-hadoop", 120_421.3),
        ("hpcc-google-rpc", 2_892.1),
        ("hpcc-ali-storage", 40_870.3),
        ("imc10", 195_722.1),
        ("mq-ecn-cache", 911_164.1),
        ("mq-ecn-hadoop", 1_385_447.3),
    ];

    #[test]
    fn builtins__have_the_means_of_their_points() {
        assert_eq!(
            builtins().iter().map(|b| b.name).collect::<Vec<_>>(),
            MEANS.iter().map(|m| m.0).collect::<Vec<_>>()
        );
        for (name, mean) in MEANS {
            let found = distribution(name).mean_bytes();
            assert!((found - mean).abs() <= 0.051, "{name}: {found} instead of {mean}");
        }
    }

    #[test]
    fn builtins__of_packets_list_whole_packets() {
        for builtin in builtins() {
            let Rounding::Packets { payload } = builtin.rounding else { continue };
            let rows = builtin.text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
            for row in rows {
                let size: u32 = row.split(',').next().unwrap().parse().unwrap();
                assert_eq!(size % payload.get(), 0, "{}: {row}", builtin.name);
            }
        }
    }

    #[test]
    fn builtin_with_mean__finds_what_the_source_computes_its_rate_from() {
        let found = |name| builtin_with_mean(name).map(|(builtin, mean)| (builtin.name, mean));
        assert_eq!(found("web-search"), Some(("web-search", None)));
        assert_eq!(found("websearch-source-mean"), Some(("web-search", Some(1_661_480.0))));
        // QCluster's load of W5 is 7 % below its name.
        assert_eq!(found("qcluster-w5-source-mean"), Some(("qcluster-w5", Some(7_470_820.0))));
        assert_eq!(found("homa-w2-source-mean"), None);
        assert!(builtin_names().all(|name| builtin_with_mean(&name).is_some()));
        assert_eq!(builtin_names().count(), builtins().len() + 9);
    }

    #[test]
    fn web_search__has_the_mean_of_its_source() {
        let points = [
            (6.0, 0.15),
            (13.0, 0.2),
            (19.0, 0.3),
            (33.0, 0.4),
            (53.0, 0.53),
            (133.0, 0.6),
            (667.0, 0.7),
            (1333.0, 0.8),
            (3333.0, 0.9),
            (6667.0, 0.97),
            (20_000.0, 1.0),
        ];
        let mean = distribution("web-search").mean_bytes();
        assert!((mean - 1460.0 * mean_in_packets(0.15, &points)).abs() < 1e-3, "{mean}");
        // The generators of pFabric and PIAS are given 1138 packets, which leaves the rounding out.
        assert!((mean / (1138.0 * 1460.0) - 1.0).abs() < 0.004, "{mean}");
    }

    #[test]
    fn data_mining__has_the_mean_of_its_source() {
        let points = [
            (1.0, 0.5),
            (2.0, 0.6),
            (3.0, 0.7),
            (7.0, 0.8),
            (267.0, 0.9),
            (2107.0, 0.95),
            (66_667.0, 0.99),
            (666_667.0, 1.0),
        ];
        let mean = distribution("data-mining").mean_bytes();
        assert!((mean - 1460.0 * mean_in_packets(0.5, &points)).abs() < 1e-3, "{mean}");
        assert!((mean / (5117.0 * 1460.0) - 1.0).abs() < 0.001, "{mean}");
    }

    #[test]
    fn web_search__has_the_quantiles_of_its_source() {
        let sizes = distribution("web-search");
        assert_eq!([0.1, 0.53, 0.9, 1.0].map(|p| sizes.quantile(p)), [8_760, 77_380, 4_866_180, 29_200_000]);
        assert!((sizes.cdf(973_820) - 0.7).abs() < 1e-12);
    }
}
