//! The built-in distributions: a name, a file of figures, where they come from and how they are read.
//!
//! A new one is a file in `data/` and an entry here.

use crate::distribution::{Reading, Rounding, SizeDistribution};
use crate::error::InputError;
use std::num::NonZeroU32;

/// A distribution that the project carries.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name that settings use.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What was measured, in a few words.
    pub summary: &'static str,
    /// The publication, and the code whose points these are.
    pub source: &'static str,
    /// Rows `size_bytes,cdf`.
    pub text: &'static str,
    /// How the source reads its points.
    pub reading: Reading,
    /// How the source rounds its sizes.
    pub rounding: Rounding,
}

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

/// PIAS-NS2 draws whole packets and gives each 1460 bytes.
const PACKETS_1460: Rounding = Rounding::Packets { payload: NonZeroU32::new(1460).unwrap() };

const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "web-search",
        aliases: &["websearch"],
        summary: "queries and updates of a web-search cluster",
        source: "DCTCP, SIGCOMM 2010; points of HKUST-SING/PIAS-NS2 scripts/CDF_dctcp.tcl",
        text: include_str!("../data/web_search_packets1460.csv"),
        reading: Reading::Interpolated,
        rounding: PACKETS_1460,
    },
    Builtin {
        name: "data-mining",
        aliases: &["datamining"],
        summary: "a cluster that mines data: half the flows are one packet, the largest 973 MB",
        source: "VL2, SIGCOMM 2009; points of HKUST-SING/PIAS-NS2 scripts/CDF_vl2.tcl",
        text: include_str!("../data/data_mining_packets1460.csv"),
        reading: Reading::Interpolated,
        rounding: PACKETS_1460,
    },
];

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
        // The generators of pFabric and PIAS are told 1138 packets, which leaves the rounding out.
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
