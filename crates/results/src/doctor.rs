//! Weaknesses of a result, found in its numbers: first where packets were lost and why flows were slow, then what looks wrong.

mod causes;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use causes::{Arrivals, Causes, Wait};
use flowsieve_record::{LinkClass, PointResult, QuantileSketch};
use serde::Serialize;

use crate::figure::used;
use crate::first_answers;
use crate::statistics::Statistic;
use crate::{ClassSummary, Manifest, PointInfo, PointSummary, Run, SeedStats, Summary};

/// Periodic parts that act less often than this have hardly begun to work.
const TICKS: u64 = 10;

/// Links that carry a smaller share of their load have not reached it.
const ENOUGH: f64 = 0.8;

/// Links that are used for a larger share of the time count as always busy.
const BUSY: f64 = 0.98;

/// A link that is paused for a larger share of a run is in a storm.
const STORM: f64 = 0.5;

/// Arrivals that last fewer times the ideal FCT of the longest flow say little of such flows.
const SPAN: u64 = 3;

/// Fewer values of a seed beyond a percentile make it uncertain.
const FEW: u64 = 10;

/// Whether some seed has too few flows beyond a percentile for it to be certain.
pub fn is_uncertain(class: &ClassSummary, statistic: Statistic) -> bool {
    short_by(class, statistic).is_some()
}

/// How many times its flows some seed would need for a percentile to be certain; `None`: none needs more.
fn short_by(class: &ClassSummary, statistic: Statistic) -> Option<f64> {
    let finished = |seed: &SeedStats| Some(seed.flows - seed.unfinished).filter(|&finished| finished > 0);
    let fewest = class.seeds.iter().filter_map(finished).min()?;
    let enough = FEW * statistic.fewest()?;
    (fewest < enough).then(|| enough as f64 / fewest as f64)
}

/// A single flow that makes a larger part of all delays than this decides means.
const ONE_FLOW: f64 = 0.01;

/// A larger share of the time beyond ideal FCTs is worth a finding.
const MUCH: f64 = 0.1;

/// With more timeouts than this per flow, timers dominate the FCT.
const TIMEOUTS: f64 = 0.1;

/// The importance of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Some figures are misleading.
    Careful,
    /// The points do not show what their schemes do.
    Wrong,
}

/// A finding, and the points where it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// In a sentence.
    pub text: String,
    /// What to do about it; empty if the text says it.
    pub remedy: String,
    /// It says where packets were lost or why flows were slow: these come first.
    pub is_cause: bool,
    /// Indices of the points that it concerns, rising.
    pub points: Vec<u32>,
}

/// How many runs a result lacks and why, and what to do about it; `None`: it has all.
pub fn missing(manifest: &Manifest) -> Option<(String, &'static str)> {
    let (missing, made) = (manifest.experiment.missing_runs, manifest.runs.len());
    let all = missing + made as u64;
    (missing > 0).then(|| match manifest.experiment.not_valid.as_slice() {
        [] => (
            format!("{missing} of {all} runs are missing: this result has only the others"),
            "use flowsieve join without --partial once their parts exist, or with --run-missing",
        ),
        why => (
            format!("{missing} of {all} runs are not valid, and no figure has them: {}", why.join("; ")),
            "repeat the command, which makes them again",
        ),
    })
}

/// Everything that looks wrong: causes, then the most important first. Equal sentences are one finding, and so are those of
/// runs that differ only in numbers.
pub(crate) fn findings(manifest: &Manifest, summary: &Summary) -> Vec<Finding> {
    let mut found = Found::default();
    let everywhere = 0..manifest.experiment.points.len() as u32;
    if let Some((text, remedy)) = missing(manifest) {
        everywhere.clone().for_each(|point| found.add(Severity::Careful, text.clone(), remedy, point));
    }
    if let Some(every) = manifest.experiment.screened() {
        let text = format!(
            "screened: these are the flows to one host in {every} alone, which rank points and are not their result"
        );
        let remedy = "run the points that it names whole";
        everywhere.for_each(|point| found.add(Severity::Careful, text.clone(), remedy, point));
    }
    let points = || summary.points.iter().zip(&manifest.experiment.points).enumerate();
    let causes: Vec<Causes> = points()
        .map(|(index, (point, info))| {
            let flows = point.classes.last().map_or(0, ClassSummary::flows);
            Causes::of(info, manifest.runs_of(index).map(|run| &run.measured), flows)
        })
        .collect();
    for (index, causes) in causes.iter().enumerate() {
        found.add_causes(causes, index as u32);
    }
    for run in &manifest.runs {
        let (info, causes) = (&manifest.experiment.points[run.point as usize], &causes[run.point as usize]);
        of_run(run, causes, info, |severity, text, remedy| {
            found.add_as(without_digits(&text), severity, text, remedy, run.point);
        });
    }
    for (index, (point, info)) in points() {
        let of = (index, point, info, &causes[index]);
        of_point(manifest, of, |severity, text, remedy| found.add(severity, text, remedy, index as u32));
    }
    twins(manifest, summary, &mut found);
    let mut findings: Vec<Finding> = found.order.iter().filter_map(|key| found.all.remove(key)).collect();
    findings.sort_by_key(|finding| (!finding.is_cause, std::cmp::Reverse(finding.severity)));
    findings
}

fn without_digits(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// Ends a finding's sentence if others differ from it in numbers.
const AND_THE_LIKE: &str = " (in other runs with other numbers)";

#[derive(Default)]
struct Found {
    /// By the text that makes sentences one finding.
    all: BTreeMap<String, Finding>,
    order: Vec<String>,
}

impl Found {
    fn add(&mut self, severity: Severity, text: String, remedy: &str, point: u32) {
        self.add_as(text.clone(), severity, text, remedy, point);
    }

    /// Where packets of a point were lost, and why its flows were slow.
    fn add_causes(&mut self, causes: &Causes, point: u32) {
        let lost = causes.places().map(|text| {
            let in_hosts = causes.is_lost_in_hosts();
            let severity = if in_hosts { Severity::Careful } else { Severity::Note };
            (severity, text, if in_hosts { causes.against_losses() } else { String::new() })
        });
        let slow = causes.waits().map(|text| (Severity::Note, text, String::new()));
        for (severity, text, remedy) in lost.into_iter().chain(slow) {
            let key = format!("{severity:?} {}", without_digits(&text));
            self.add_as(key.clone(), severity, text, &remedy, point);
            self.all.entry(key).and_modify(|finding| finding.is_cause = true);
        }
    }

    fn add_as(&mut self, key: String, severity: Severity, text: String, remedy: &str, point: u32) {
        let finding = self.all.entry(key.clone()).or_insert_with(|| {
            self.order.push(key);
            Finding { severity, text: text.clone(), remedy: remedy.to_owned(), is_cause: false, points: Vec::new() }
        });
        if finding.text != text && !finding.text.ends_with(AND_THE_LIKE) {
            finding.text.push_str(AND_THE_LIKE);
        }
        if finding.points.last() != Some(&point) {
            finding.points.push(point);
            finding.points.sort_unstable();
            finding.points.dedup();
        }
    }
}

fn of_run(run: &Run, causes: &Causes, info: &PointInfo, mut add: impl FnMut(Severity, String, &str)) {
    let (measured, arrivals) = (&run.measured, Arrivals::of(info));
    // Earlier results say so about lists that begin at once.
    let is_of_load = |text: &String| text.contains(" of their rate");
    for text in measured.warnings.iter().filter(|text| !(measured.is_burst() && is_of_load(text))) {
        add(Severity::Careful, text.clone(), "");
    }
    for part in measured.periodic.iter().filter(|part| part.ticks < TICKS) {
        let text = format!(
            "{} acted {} in a run (every {} ms): fewer than {TICKS} times, so the run is too short to show it",
            part.name,
            times(part.ticks),
            (part.period_ps as f64 / 1e6).round() / 1e3
        );
        add(Severity::Careful, text, arrivals.more());
    }
    if measured.is_burst() {
        let text = "all flows began at once, or within less time than the largest takes alone: there is no load, and \
            figures counted while flows arrive are meaningless";
        add(Severity::Note, text.into(), "");
        return;
    }
    if carried_little(measured) {
        let held_back = causes.longest_wait().filter(|wait| *wait != Wait::Queues);
        let too_short = "the run is too short for its load to build up, or flows were held back";
        let why = held_back.map_or(too_short, Wait::in_words);
        let text = format!(
            "while flows arrived, links carried less than {} % of the load that these flows offered: {why}",
            ENOUGH * 100.0
        );
        let remedy = match held_back {
            None => {
                let more = arrivals.more_by(info, too_short_by(measured));
                format!("{more}; if that does not help, look at timeouts and windows")
            }
            wait => causes.against(wait, arrivals),
        };
        add(Severity::Careful, text, &remedy);
    }
    if drained_slowly(measured) {
        let is_full = |link: &LinkClass| link.utilisation >= BUSY || link.offered_load >= 1.0;
        let wait = if measured.links.iter().any(is_full) { Some(Wait::Queues) } else { causes.longest_wait() };
        let why = wait.map_or(String::new(), |wait| format!(": {}", wait.in_words()));
        let text = format!("after the last arrival the fabric took more than half of the arrival time to drain{why}");
        add(Severity::Careful, text, &causes.against(wait, arrivals));
    }
    let backed_off = measured.delays.and_then(|delays| Some((delays.most_timed_out?, delays.beyond_ideal_ns)));
    if let Some((flow, all_ns)) = backed_off.filter(|(flow, all_ns)| flow.timers_ns as f64 >= ONE_FLOW * *all_ns as f64)
    {
        let text = format!(
            "flow {} waited for {} timeouts during {:.3} of its {:.3} s: {:.0} % of the time that all flows took beyond their ideal FCTs",
            flow.flow,
            flow.timeouts,
            flow.timers_ns as f64 / 1e9,
            flow.fct_ns as f64 / 1e9,
            100.0 * flow.timers_ns as f64 / all_ns as f64
        );
        let remedy = "compare medians or typical flows as well as means; `max_backoff` limits how long timeouts become (64 in ns-2)";
        add(Severity::Careful, text, remedy);
    }
    if measured.arrivals_end_ps > 0 && measured.arrivals_end_ps < SPAN.saturating_mul(measured.longest_ideal_ps) {
        let text = format!(
            "flows arrived for less than {SPAN} times as long as the largest flow takes alone: large flows hardly shared links"
        );
        let times = (SPAN * measured.longest_ideal_ps) as f64 / measured.arrivals_end_ps as f64;
        add(Severity::Note, text, &arrivals.more_by(info, times));
    }
}

/// What slows senders down before switches pause them.
const AGAINST_PAUSES: &str = "give ports more `shared_buffer`, or mark earlier (`ecn_threshold`, or `red_min` and `red_max`), so that senders \
    slow down before they are paused; `queues` with `pfc_classes` part what is paused from the rest";

/// How long switches paused each class of links, in all runs together: a storm if one was paused for most of a run.
fn paused<'a>(runs: impl Iterator<Item = &'a PointResult>) -> Vec<(Severity, String)> {
    let mut classes: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for (run, link) in runs.flat_map(|run| run.links.iter().map(move |link| (run, link))) {
        let (time, most, all) = classes.entry(&link.name).or_default();
        *all += run.simulated_ps as f64 * f64::from(link.links);
        if let Some(paused) = link.paused {
            *time += paused.all_ps as f64;
            *most = most.max(paused.most_ps as f64 / run.simulated_ps.max(1) as f64);
        }
    }
    let of_class = |(name, (time, most, all)): (&str, (f64, f64, f64))| {
        let (mean, most_percent) = (100.0 * time / all.max(1.0), 100.0 * most);
        let times =
            format!("{name} links were paused for {mean:.2} % of the time, and one of them for {most_percent:.1} %");
        match most > STORM {
            true => (
                Severity::Careful,
                format!("a storm of pauses: the {times} of a run, which holds up all that crosses it"),
            ),
            false => (Severity::Note, format!("the {times} of a run")),
        }
    };
    classes.into_iter().filter(|(_, (time, ..))| *time > 0.0).map(of_class).collect()
}

fn of_point(
    manifest: &Manifest,
    (index, point, info, causes): (usize, &PointSummary, &PointInfo, &Causes),
    mut add: impl FnMut(Severity, String, &str),
) {
    let arrivals = Arrivals::of(info);
    let runs = || manifest.runs_of(index);
    // The last class is all flows.
    let Some(all) = point.classes.last() else { return };
    if all.seeds.iter().filter_map(|seed| seed.least_slowdown).any(|least| least < 1.0) {
        let text = "a flow was faster than alone in the same fabric: the ideal FCT and every slowdown are wrong";
        add(Severity::Wrong, text.into(), "this is a fault of the program; report it with the experiment file");
    }
    let measured = || runs().map(|run| &run.measured).filter(|run| !run.is_burst());
    if let Some(link) = measured().filter_map(busiest).max_by(by_utilisation) {
        let text = format!(
            "the {} links were busy for more than {} % of the time that flows arrived: they are saturated, and FCTs \
             depend on the length of the run",
            link.name,
            BUSY * 100.0
        );
        let remedy = match arrivals {
            Arrivals::AtLoad => "lower the load; the wire load is higher, because of ACKs and framing",
            _ => arrivals.less(),
        };
        add(Severity::Careful, text, remedy);
    }
    let first = info.thresholds_bytes.first().copied();
    let largest = all.seeds.iter().map(|seed| seed.largest_bytes).max().unwrap_or(0);
    let inside = first.is_some_and(|first| largest > first);
    if runs().any(|run| used_one_queue(&run.measured)) {
        let text = if inside {
            "ports have several queues and flows are larger than the first threshold, but all packets went through \
             one queue: tags are lost or ignored"
        } else {
            "ports have several queues, but all packets went through one of them"
        };
        let severity = if inside { Severity::Wrong } else { Severity::Careful };
        add(severity, text.into(), "compare the packets by queue and by priority in the report");
    } else if inside && runs().any(|run| used_one_priority(&run.measured)) {
        let text = "flows are larger than the first threshold, but all packets had one priority: nothing was demoted";
        add(Severity::Wrong, text.into(), "compare the packets by priority in the report");
    }
    for (severity, text) in paused(runs().map(|run| &run.measured)) {
        let remedy = if severity == Severity::Note { "" } else { AGAINST_PAUSES };
        add(severity, text, remedy);
    }
    if let Some(first) = first.filter(|_| !inside) {
        let text = format!("no flow is larger than the first threshold ({first} bytes): all have the highest priority");
        add(Severity::Careful, text, "set thresholds for this workload, as `flowsieve tune` finds them");
    }
    let unfinished = all.unfinished() - given_up(runs()).min(all.unfinished());
    if unfinished < all.unfinished() {
        let text = "flows were given up: FCT and slowdown count only the others, so they are too good";
        let remedy = "raise the time or the number of the attempts of the transport (`resend_after`, `resend_attempts`), or \
            look at what was lost";
        add(Severity::Careful, text.into(), remedy);
    }
    if unfinished > 0 {
        let text =
            "flows had not finished when the run ended: FCT and slowdown count only the others, so they are too good";
        let remedy = match causes.longest_wait() {
            Some(Wait::Timers) => format!("raise `max_time`; {}", causes.against_timeouts()),
            _ => format!("raise `max_time`, or {}", arrivals.less()),
        };
        add(Severity::Careful, text.into(), remedy.trim_end_matches("; "));
    }
    for waited in first_answers::waited(point) {
        add(Severity::Careful, waited.text(), first_answers::REMEDY);
    }
    if causes.needless() >= MUCH && !causes.times_out_in_vain() {
        let text = "packets that were late, and not lost, were sent again, and windows were cut for them";
        add(Severity::Careful, text.into(), &causes.against_needless());
    }
    if causes.times_out_in_vain() {
        let text =
            "there was more than one timeout for ten flows, but no packet was lost: packets in flight were sent again";
        add(Severity::Careful, text.into(), &causes.against_timeouts());
    } else if causes.times_out() {
        let text = "there was more than one timeout for ten flows: retransmission timers dominate the FCT";
        add(Severity::Note, text.into(), &causes.against_timeouts());
    }
    if all.seeds.len() == 1 {
        let text = "there is one seed, so nothing has an interval and no difference is resolved";
        add(Severity::Note, text.into(), "run with --seeds 3 or more");
    }
    for statistic in [Statistic::P99, Statistic::P999] {
        let short = |class: &ClassSummary| short_by(class, statistic).map(|times| (class.class.name.clone(), times));
        let (names, times): (Vec<String>, Vec<f64>) = point.classes.iter().filter_map(short).unzip();
        if let Some(most) = times.into_iter().max_by(f64::total_cmp) {
            let text = format!(
                "fewer than {FEW} flows of a seed lie beyond the {} of {}: it depends on a few flows",
                statistic.name(),
                names.join(", ")
            );
            add(Severity::Note, text, &format!("{} before you rely on it", arrivals.more_by(info, most)));
        }
    }
    if !point.exact {
        let error = 100.0 * QuantileSketch::RELATIVE_ERROR;
        let text = format!("percentiles come from sketches, within {error:.1} % of the exact ones");
        add(Severity::Note, text, "");
    }
}

/// Returns the number of flows that the hosts of these runs gave up.
pub fn given_up<'a>(runs: impl Iterator<Item = &'a Run>) -> u64 {
    runs.filter_map(|run| run.measured.counts.get("given_up")).fold(0, |sum, &run| sum.saturating_add(run))
}

/// Schemes under which every flow took exactly as long.
fn twins(manifest: &Manifest, summary: &Summary, found: &mut Found) {
    let points = &manifest.experiment.points;
    for (index, point) in points.iter().enumerate() {
        let same = |other: &usize| {
            let there = &points[*other];
            let parts = |at: &crate::PointInfo| at.parts.iter().map(|part| part.key.clone()).collect::<Vec<_>>();
            there.scheme != point.scheme
                && there.load == point.load
                && there.axes == point.axes
                // Equal settings give equal results, and the plan has warned about them.
                && parts(there) != parts(point)
                && summary.points[*other].classes == summary.points[index].classes
        };
        for other in (0..index).filter(same) {
            let text = format!(
                "{} and {} gave the same figures in every class: one of them may not act as its name says",
                points[other].scheme, point.scheme
            );
            for at in [other, index] {
                found.add(Severity::Careful, text.clone(), "compare their effective configurations", at as u32);
            }
        }
    }
}

/// The class of links that was used most, if it was saturated.
fn busiest(run: &PointResult) -> Option<&LinkClass> {
    run.links.iter().filter(|link| link.utilisation >= BUSY).max_by(by_utilisation)
}

fn by_utilisation(a: &&LinkClass, b: &&LinkClass) -> Ordering {
    a.utilisation.total_cmp(&b.utilisation)
}

/// Whether the most loaded links carried much less than their load.
fn carried_little(run: &PointResult) -> bool {
    let most = run.links.iter().max_by(|a, b| a.offered_load.total_cmp(&b.offered_load));
    most.is_some_and(|link| link.utilisation < ENOUGH * link.offered_load.min(1.0))
}

/// How many times as long flows would have to arrive for links to carry [`ENOUGH`] of their load. What was offered and not
/// carried waits at the end; it takes as much of a run of any length, and twice as much is reckoned with.
fn too_short_by(run: &PointResult) -> f64 {
    let most = run.links.iter().max_by(|a, b| a.offered_load.total_cmp(&b.offered_load));
    let waits = most.map_or(0.0, |link| 1.0 - link.utilisation / link.offered_load.min(1.0));
    let longest = (SPAN * run.longest_ideal_ps) as f64 / run.arrivals_end_ps.max(1) as f64;
    (2.0 * waits / (1.0 - ENOUGH)).max(longest)
}

/// Whether draining took longer than half of the arrivals and than what a few of the largest flows need.
fn drained_slowly(run: &PointResult) -> bool {
    let drained = run.simulated_ps.saturating_sub(run.arrivals_end_ps);
    drained > run.arrivals_end_ps / 2 && drained > 5u64.saturating_mul(run.longest_ideal_ps)
}

/// Whether ports of several queues carried packets, and none of them through a second queue.
fn used_one_queue(run: &PointResult) -> bool {
    let several = || run.links.iter().map(|link| &link.packets_by_queue).filter(|queues| queues.len() > 1);
    several().any(|queues| used(queues) == 1) && several().all(|queues| used(queues) <= 1)
}

/// Whether no class of links saw packets of two priorities.
fn used_one_priority(run: &PointResult) -> bool {
    let mut classes = run.links.iter().map(|link| used(&link.packets_by_priority));
    classes.clone().any(|used| used == 1) && classes.all(|used| used <= 1)
}

fn times(count: u64) -> String {
    match count {
        0 => "never".into(),
        1 => "once".into(),
        _ => format!("{count} times"),
    }
}
