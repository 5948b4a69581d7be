//! PIAS (Bai et al., NSDI 2015): hosts demote a flow through strict priorities by the bytes that it has sent (§3.1),
//! switches have a queue per priority and mark per port (§3.3); the transport is DCTCP.
//!
//! The demotion thresholds are given, an equal split of the flows, or published ones. The published thresholds are the
//! authors' own for two workloads and five loads (`run_pias_dctcp.py` and `run_pias_vl2.py` of HKUST-SING/PIAS-NS2),
//! and those with which QCluster's authors compare (`piasParams.py` of qcluster/QCluster), who take PIAS's own for
//! their W5 and W6. `worst` are the thresholds that QCluster calls PIAS-WST (§6.2): 60 % of the packets go to the first
//! queue and 30 % to the last. Here the other queues share the rest equally, and packets are counted by their bytes.
//! The other rules, which compute thresholds for the point's sizes and load, are those of [`crate::thresholds`].

use std::num::NonZeroU64;

use flowsieve_core::taggers::aged_levels::AgedLevels;
use flowsieve_core::taggers::batches::Batches;
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::levels::LevelParams;
use flowsieve_core::taggers::message_gap::DemotionByGap;
use flowsieve_core::{TaggerSpec, Time};

use crate::adaptation::{self, Rule};
use crate::entry::{Context, WorkloadFacts};
use crate::messages::MESSAGE_GAP;
use crate::parts::{QUEUES, TAGGER, TaggerName};
use crate::thresholds::{Computed, Start, THRESHOLDS, compute, spread};
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError, SizesOr};
use flowsieve_sim::scheme::Scheme;

declare! {
    static PUBLISHED_FOR: Setting<String> = Setting::text(
        Section::Scheme, "published_for",
        "thresholds = \"published\": the workload whose thresholds are taken if none are published for the point's own",
    );
    static MISUSE_PIECE: Setting<u64> = Setting::size(
        Section::Scheme, "misuse_piece", 1_000, 1_000_000_000,
        "misusing_hosts claim nothing; they split their messages into pieces of this size, which they send one after another \
         on a connection; each piece is tagged as a message",
    );
    /// Where a level begins.
    static LEVELS_BEGIN: Setting<LevelsBegin> = Setting::choice(
        Section::Scheme,
        "levels_begin",
        &[("after", LevelsBegin::After), ("at", LevelsBegin::At)],
        "tagger = \"demotion\": whether a level begins with the byte after its threshold, as PIAS's do, or at it, as ES-8's and NOS2's do",
    )
    .with_default(LevelsBegin::After)
    .silent();
    static NETWORK_LEVELS: Setting<u64> = Setting::count(
        Section::Scheme, "network_levels", 2, 64,
        "tagger = \"demotion\": levels that the network's packets have, whatever the queues, with thresholds by the rule of the \
         controller; not given: as many as queues",
    )
    .silent();
    static TAG_BATCH: Setting<u64> = Setting::size(
        Section::Scheme, "tag_batch", 1_000, 1_000_000_000,
        "bytes that a host hands to its port in one piece, a super-packet; all its packets have one tag; not given: \
         each packet has its own; pieces are cut at multiples of it from a message's first byte",
    );
    static TAG_BATCH_BY: Setting<bool> = Setting::choice(
        Section::Scheme, "tag_batch_by", &[("middle", true), ("first", false)],
        "tag_batch: whether the bytes before the middle of a piece decide on its tag, or those before its first byte",
    )
    .with_default(true);
}

/// Where a level begins, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelsBegin {
    After,
    At,
}

/// Fills in the thresholds of hosts that demote flows, with the controllers that adapt them. They are those of the settings, or of
/// the scheme's file; otherwise the authors' if they published some for the workload, and an equal split of its flows if not.
pub(crate) fn demote(context: &Context<'_>, scheme: &mut Scheme) -> Result<(), SettingsError> {
    let scope = &context.scope;
    for class in 0..scheme.classes.len() {
        match scheme.classes[class].tagger {
            TaggerSpec::AgedLevels(_) => demote_by_age(context, scheme, class)?,
            TaggerSpec::Demotion(_) => demote_by_bytes(context, scheme, class)?,
            _ => continue,
        }
        batch(scope, &mut scheme.classes[class].tagger)?;
    }
    // Hosts that tag by bytes may be misled by pieces.
    if scope.usual(&TAGGER)? == Some(TaggerName::Demotion) {
        scheme.misuse.piece = scope.optional(&MISUSE_PIECE)?.and_then(NonZeroU64::new);
        if scheme.misuse.piece.is_some() && scheme.misuse.hosts == 0 {
            let expected = "none without misusing_hosts, or misusing_hosts = 1 or more";
            return Err(scope.invalid(&MISUSE_PIECE, expected));
        }
    }
    Ok(())
}

/// Has a tagger tag super-packets, if the settings say so.
fn batch(scope: &Scope<'_>, tagger: &mut TaggerSpec) -> Result<(), SettingsError> {
    let Some(bytes) = scope.optional(&TAG_BATCH)?.and_then(NonZeroU64::new) else { return Ok(()) };
    if matches!(tagger, TaggerSpec::DemotionByGap(_) | TaggerSpec::KeptLevels(_)) {
        let expected = "none with `message_gap` or controller = \"survival\": these hosts count what each packet sends";
        return Err(scope.invalid(&TAG_BATCH, expected));
    }
    let batches = Batches { of: Box::new(tagger.clone()), bytes, by_middle: scope.read(&TAG_BATCH_BY)? };
    *tagger = TaggerSpec::Batched(batches);
    Ok(())
}

fn demote_by_age(context: &Context<'_>, scheme: &mut Scheme, class: usize) -> Result<(), SettingsError> {
    let scope = &context.scope;
    if scope.optional(&NETWORK_LEVELS)?.is_some() {
        return Err(scope.invalid(&TAGGER, "another tagger, since hosts have levels of their own"));
    }
    let queues = scope.read(&QUEUES)? as usize;
    let thresholds = thresholds(context, queues, false)?;
    scheme.classes[class].tagger = match adaptation::by_age(context)? {
        Some(rule) => adaptation::survival(context, scheme, class as u8, thresholds, rule, queues, true)?,
        None => TaggerSpec::AgedLevels(AgedLevels { thresholds }),
    };
    Ok(())
}

fn demote_by_bytes(context: &Context<'_>, scheme: &mut Scheme, class: usize) -> Result<(), SettingsError> {
    let scope = &context.scope;
    let network_levels = scope.optional(&NETWORK_LEVELS)?;
    let levels = match network_levels {
        Some(levels) => levels,
        None => scope.read(&QUEUES)?,
    } as usize;
    let rule = adaptation::controller(context, levels)?;
    let thresholds = match network_levels {
        Some(_) => {
            let rules = [Rule::TwoLevel, Rule::EqualSplit, Rule::Optimal];
            adaptation::start(context, &THRESHOLDS, &rules, rule.unwrap_or(Rule::TwoLevel), levels)?
        }
        None => thresholds(context, levels, rule.is_some() && context.workload.quantile_bytes(0.5).is_none())?,
    };
    let tagger = adaptation::tagger(context, scheme, class as u8, thresholds, rule, levels)?;
    let at = scope.read(&LEVELS_BEGIN)? == LevelsBegin::At;
    scheme.classes[class].tagger = match (scope.optional(&MESSAGE_GAP)?, tagger) {
        (None, TaggerSpec::Demotion(Demotion { thresholds })) if at => {
            TaggerSpec::Levels(LevelParams { network: thresholds, own: None })
        }
        (None, tagger) => tagger,
        (Some(gap), TaggerSpec::Demotion(Demotion { thresholds })) => {
            TaggerSpec::DemotionByGap(DemotionByGap { thresholds, gap: Time(gap) })
        }
        _ => return Err(scope.invalid(&MESSAGE_GAP, "none if thresholds adapt: sizes are those of messages")),
    };
    Ok(())
}

/// Reads the demotion thresholds, in bytes, rising. `unknown`: a controller will find them, and nothing is known of sizes.
pub(crate) fn thresholds(context: &Context<'_>, queues: usize, unknown: bool) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let name = scope.optional(&PUBLISHED_FOR)?;
    let of_name = |name: &String| {
        let known = published_workloads().find(|known| known == name);
        let expected = "a workload whose thresholds were published, such as \"web-search\"";
        known.ok_or_else(|| scope.invalid(&PUBLISHED_FOR, expected).names(name, published_workloads()))
    };
    let name = name.as_ref().map(of_name).transpose()?;
    let published = || published_at(name.or(context.workload.distribution())?, context.workload.load()?);
    let published = (queues == PUBLISHED_QUEUES).then(published).flatten();
    let usual = match scope.usual(&THRESHOLDS)? {
        // These need no sizes.
        Some(usual @ (SizesOr::Sizes(_) | SizesOr::Named(Start::Spread))) => usual,
        _ if unknown => SizesOr::Named(Start::Unknown),
        Some(usual) => usual,
        None if published.is_some() => SizesOr::Named(Start::Published),
        None => SizesOr::Named(Start::Computed(Computed::EqualSplit)),
    };
    match scope.given_or(&THRESHOLDS, usual)? {
        SizesOr::Sizes(sizes) => adaptation::given(scope, &THRESHOLDS, sizes, queues),
        SizesOr::Named(Start::Unknown) => Ok(Vec::new()),
        SizesOr::Named(Start::Spread) => spread(context, queues),
        SizesOr::Named(Start::Computed(rule)) => compute(context, rule, queues),
        SizesOr::Named(Start::Published) => published.ok_or_else(|| {
            let expected = "sizes or another rule, such as \"equal-split\": thresholds were published for 8 queues, and for web-search, \
                            data-mining and qcluster-w1 to w6 alone";
            scope.invalid(&THRESHOLDS, expected)
        }),
    }
}

/// The number of queues for which thresholds were published.
pub const PUBLISHED_QUEUES: usize = 8;

/// Returns the workloads for which thresholds were published.
pub fn published_workloads() -> impl Iterator<Item = &'static str> {
    PUBLISHED.iter().flat_map(|(names, ..)| names.iter().copied())
}

/// Returns the thresholds in bytes published for the workload, at the published load nearest to its own (the higher of two).
pub fn published(workload: &dyn WorkloadFacts) -> Option<Vec<u64>> {
    published_at(workload.distribution()?, workload.load()?)
}

fn published_at(name: &str, load: f64) -> Option<Vec<u64>> {
    let (_, unit, table) = PUBLISHED.iter().find(|(names, ..)| names.contains(&name))?;
    let row = ((load * 10.0).round() as usize).clamp(5, 9) - 5;
    Some(table[row].iter().map(|thresholds| thresholds * unit).collect())
}

/// Bytes of payload in a packet of the authors' simulations.
const PACKET: u64 = 1460;

/// Workloads, the unit in bytes, and one row per load from 0.5 to 0.9.
type Table = (&'static [&'static str], u64, [[u64; 7]; 5]);

const PUBLISHED: [Table; 6] = [
    (
        &["web-search", "qcluster-w6"],
        PACKET,
        [
            [1059, 1412, 1643, 1869, 2008, 2115, 2184],
            [956, 1381, 1718, 2028, 2297, 2551, 2660],
            [999, 1305, 1564, 1763, 1956, 2149, 2309],
            [909, 1329, 1648, 1960, 2143, 2337, 2484],
            [759, 1132, 1456, 1737, 2010, 2199, 2325],
        ],
    ),
    (
        &["data-mining", "qcluster-w5"],
        PACKET,
        [
            [805, 1106, 1401, 10_693, 11_970, 21_162, 22_272],
            [840, 1232, 1617, 11_950, 12_238, 21_494, 25_720],
            [907, 1301, 1619, 12_166, 12_915, 21_313, 26_374],
            [745, 1083, 1391, 13_689, 14_936, 21_149, 27_245],
            [750, 1083, 1416, 13_705, 14_952, 21_125, 28_253],
        ],
    ),
    (
        &["qcluster-w1"],
        1,
        [
            [215, 271, 287, 303, 312, 321, 326],
            [207, 268, 287, 306, 318, 329, 336],
            [199, 265, 287, 308, 322, 336, 347],
            [191, 262, 287, 311, 327, 344, 357],
            [183, 259, 287, 314, 332, 352, 367],
        ],
    ),
    (
        &["qcluster-w2"],
        1,
        [
            // Published with 429 before 426. Thresholds have to rise, and a flow's packets are 1,460 bytes apart.
            [388, 416, 422, 426, 429, 438, 440],
            [382, 414, 422, 431, 437, 441, 444],
            [378, 412, 422, 433, 438, 445, 449],
            [373, 411, 422, 434, 440, 448, 453],
            [368, 410, 422, 435, 442, 451, 457],
        ],
    ),
    (
        &["qcluster-w3"],
        1,
        [
            [476, 587, 630, 684, 720, 744, 754],
            [466, 579, 631, 693, 736, 774, 799],
            [456, 570, 632, 702, 752, 805, 840],
            [446, 562, 633, 711, 768, 835, 899],
            [436, 554, 633, 720, 784, 865, 939],
        ],
    ),
    (
        &["qcluster-w4"],
        1,
        [
            [45_646, 49_899, 50_869, 63_084, 69_723, 72_155, 73_625],
            [43_898, 49_621, 50_878, 64_461, 70_549, 73_131, 74_788],
            [41_887, 49_398, 50_888, 65_723, 71_747, 74_412, 75_992],
            [39_976, 49_137, 50_897, 67_154, 72_608, 75_535, 77_123],
            [38_210, 48_958, 50_905, 68_384, 73_799, 76_588, 78_129],
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};
    use flowsieve_settings::Settings;

    fn thresholds_of(settings: &Settings, facts: &Facts) -> Result<Vec<u64>, SettingsError> {
        let context = Context { scope: settings.scheme("pias"), workload: facts };
        thresholds(&context, PUBLISHED_QUEUES, false)
    }

    #[test]
    fn thresholds__published_for_the_nearest_load() {
        let web_search = Facts { name: Some("web-search"), load: Some(0.82), ..Facts::NONE };
        let found = thresholds_of(&none_given(), &web_search).unwrap();
        assert_eq!(found[0], 1_327_140);
        assert_eq!(found[6], 3_626_640);
        let w4 = Facts { name: Some("qcluster-w4"), load: Some(0.5), ..Facts::NONE };
        assert_eq!(thresholds_of(&none_given(), &w4).unwrap()[0], 45_646);
        for row in PUBLISHED.iter().flat_map(|(_, _, table)| table) {
            assert!(row.is_sorted_by(|a, b| a < b), "{row:?}");
        }
    }

    #[test]
    fn thresholds__equal_split_of_an_unknown_distribution() {
        let uniform = Facts::uniform(8_000, 0.8);
        let found = thresholds_of(&none_given(), &uniform).unwrap();
        assert_eq!(found, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    }

    #[test]
    fn thresholds__published_for_another_workload() {
        let uniform = Facts::uniform(8_000, 0.8);
        let of = |name: &str| thresholds_of(&none_given().with(Some("pias"), "published_for", name), &uniform);
        assert_eq!(of("web-search").unwrap()[0], 909 * 1_460);
        assert_eq!(of("qcluster-w4").unwrap()[0], 39_976);
        assert_eq!(of("web-serch").unwrap_err().key(), Some("published_for"));
    }

    #[test]
    fn thresholds__refused_where_they_cannot_be() {
        let unknown = Facts::NONE;
        assert_eq!(thresholds_of(&none_given(), &unknown).unwrap_err().key(), Some("thresholds"));
        let settings = none_given().with(Some("pias"), "thresholds", "published");
        assert!(thresholds_of(&settings, &unknown).is_err());
    }
}
