//! PIAS (Bai et al., NSDI 2015): hosts demote a flow through strict priorities by the bytes that it has sent (§3.1),
//! switches have a queue a priority and mark per port (§3.3); the transport is DCTCP.
//!
//! The demotion thresholds are given, an equal split of the flows, or the authors' own for the two workloads and five
//! loads that they published (`run_pias_dctcp.py` and `run_pias_vl2.py` of HKUST-SING/PIAS-NS2).

use crate::parts::{self, Parts};
use crate::registry::{Context, Entry, Knows};
use crate::scheme::{Scheme, TaggerSpec};
use crate::settings::{SettingsError, SizesOrName};
use crate::thresholds::equal_split;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "pias",
    summary: "hosts demote flows by bytes sent; strict priorities with per-port ECN",
    paper: "Bai et al., NSDI 2015",
    knows: Knows::Nothing,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let parts = Parts { discipline: "sp", queues: 8, tagger: "demotion", ..Parts::default() };
    let mut scheme = parts::build(context, &parts)?;
    for class in &mut scheme.classes {
        if let TaggerSpec::Demotion(_) = class.tagger {
            class.tagger = TaggerSpec::Demotion(thresholds(context)?);
        }
    }
    Ok(scheme)
}

/// The demotion thresholds of the settings, in bytes, rising. Not given: the authors' where they published some for
/// this workload, an equal split elsewhere.
fn thresholds(context: &Context<'_>) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let queues = scope.count("queues", 8)? as usize;
    let authors = (queues == 8).then(|| published(context)).flatten();
    let rule = match scope.sizes_or_name("thresholds")? {
        Some(SizesOrName::Sizes(sizes)) => return given(context, sizes, queues),
        Some(SizesOrName::Name(rule)) => rule,
        None => scope.text("thresholds", if authors.is_some() { "published" } else { "equal-split" })?,
    };
    if rule == "published" {
        return authors.ok_or_else(|| {
            let expected = "sizes or \"equal-split\": the authors published thresholds of 8 queues for web-search and \
                            data-mining alone";
            scope.invalid("thresholds", expected)
        });
    }
    equal_split(queues, |p| context.workload.quantile_bytes(p))
        .ok_or_else(|| scope.invalid("thresholds", "sizes: nothing is known of the workload's to split"))
}

fn given(context: &Context<'_>, sizes: Vec<u64>, queues: usize) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    if sizes.len() + 1 != queues {
        return Err(scope.invalid("thresholds", format!("{} sizes for {queues} queues", queues - 1)));
    }
    if !sizes.is_sorted_by(|a, b| a < b) {
        return Err(scope.invalid("thresholds", "sizes that rise"));
    }
    Ok(sizes)
}

/// The authors' thresholds for the workload, at the published load that is nearest to the point's (the higher of two).
fn published(context: &Context<'_>) -> Option<Vec<u64>> {
    let table = match context.workload.distribution()? {
        "web-search" => &WEB_SEARCH,
        "data-mining" => &DATA_MINING,
        _ => return None,
    };
    let load = context.workload.load()?;
    let row = ((load * 10.0).round() as usize).clamp(5, 9) - 5;
    Some(table[row].iter().map(|packets| packets * PACKET).collect())
}

/// Bytes of payload in a packet of the authors' simulations.
const PACKET: u64 = 1460;

/// In packets; a row a load from 0.5 to 0.9.
const WEB_SEARCH: [[u64; 7]; 5] = [
    [1059, 1412, 1643, 1869, 2008, 2115, 2184],
    [956, 1381, 1718, 2028, 2297, 2551, 2660],
    [999, 1305, 1564, 1763, 1956, 2149, 2309],
    [909, 1329, 1648, 1960, 2143, 2337, 2484],
    [759, 1132, 1456, 1737, 2010, 2199, 2325],
];

/// In packets; a row a load from 0.5 to 0.9.
const DATA_MINING: [[u64; 7]; 5] = [
    [805, 1106, 1401, 10_693, 11_970, 21_162, 22_272],
    [840, 1232, 1617, 11_950, 12_238, 21_494, 25_720],
    [907, 1301, 1619, 12_166, 12_915, 21_313, 26_374],
    [745, 1083, 1391, 13_689, 14_936, 21_149, 27_245],
    [750, 1083, 1416, 13_705, 14_952, 21_125, 28_253],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::testing::Facts;

    fn thresholds_of(settings: &Settings, facts: &Facts) -> Result<Vec<u64>, SettingsError> {
        thresholds(&Context { scope: settings.scheme("pias"), workload: facts })
    }

    #[test]
    fn thresholds__published_for_the_nearest_load() {
        let web_search = Facts { name: Some("web-search"), load: Some(0.82), uniform_to: None };
        let found = thresholds_of(&Settings::default(), &web_search).unwrap();
        assert_eq!(found[0], 1_327_140);
        assert_eq!(found[6], 3_626_640);
        for table in WEB_SEARCH.iter().chain(&DATA_MINING) {
            assert!(table.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn thresholds__equal_split_of_an_unknown_distribution() {
        let uniform = Facts { name: None, load: Some(0.8), uniform_to: Some(8_000) };
        let found = thresholds_of(&Settings::default(), &uniform).unwrap();
        assert_eq!(found, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    }

    #[test]
    fn thresholds__refused_where_they_cannot_be() {
        let unknown = Facts { name: None, load: None, uniform_to: None };
        let refused = thresholds_of(&Settings::default(), &unknown).unwrap_err().to_string();
        assert!(refused.contains("nothing is known"), "{refused}");
        let settings = Settings::default().with(Some("pias"), "thresholds", "published");
        assert!(thresholds_of(&settings, &unknown).is_err());
    }
}
