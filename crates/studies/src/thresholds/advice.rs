//! Advice on thresholds: all methods side by side, and a recommendation with the other settings of a switch: the
//! marking threshold of each speed and the DSCP of each queue. The gain is what the simulator measures
//! ([`super::paired`]); the model's prediction follows, marked as such.

use super::paired::{self, MTU, Network, Simulated, Site, Trial};
use super::text::{UNIT, cells_of};
use super::{Asked, Expected, Method, Queue, Wanted, carried, passed, refused};
use crate::configuration::{self, Configured, Ports};
use crate::configure::Marks;
use flowsieve_core::thresholds::{background, background_time};
use flowsieve_experiment::Error;
use flowsieve_schemes::marking_rule;
use flowsieve_settings::units::{format_rate, format_size, format_time};
use serde::Serialize;
use std::fmt::Write;

/// A further queue must reduce the mean completion time by more than this share.
const WORTH: f64 = 0.01;

/// What ports compare with the marking threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marking {
    /// The backlog of the port, all queues together, as in PIAS.
    Port,
    /// The length of the packet's queue, as commodity switches do.
    Queue,
}

impl Marking {
    /// Returns the value in experiment files.
    pub fn setting(self) -> &'static str {
        match self {
            Marking::Port => "per-port",
            Marking::Queue => "per-queue",
        }
    }
}

/// Where the thresholds are to be used.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The links and the round trip.
    pub network: Network,
    /// How ports mark.
    pub marking: Marking,
    /// How the thresholds are compared with one queue; `None`: no comparison.
    pub trial: Option<Trial>,
    /// The ports to write configuration for.
    pub ports: Option<Ports>,
}

/// A host's link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// Its rate.
    pub rate_bps: u64,
    /// Round trip without queues.
    pub rtt_ps: u64,
}

/// The advice at a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Load of the host links.
    pub load: f64,
    /// Each method with its thresholds.
    pub methods: Vec<Row>,
    /// The best by the foreground-background queue, with as many queues as help; rising, one fewer than the queues.
    pub recommended_bytes: Vec<u64>,
    /// Number of queues asked for.
    pub asked_queues: usize,
    /// The content of each queue under the recommended thresholds, and its DSCP.
    pub queues: Vec<Assigned>,
    /// Mean completion time with these, with one queue, and with all queues asked for.
    pub expected: Gain,
    /// The simulated comparison with one queue; `None` if it was not asked for, or if one queue is recommended.
    pub simulated: Option<Simulated>,
    /// A host's link.
    pub link: Link,
    /// What is compared with marking thresholds.
    pub marking: Marking,
    /// The marking threshold of a host's link.
    pub ecn_threshold_bytes: u64,
    /// The marking threshold of each speed, rising.
    pub ecn_thresholds: Vec<MarkFrom>,
}

/// The marking threshold of a speed: the largest of three terms ([`marking_rule`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MarkFrom {
    /// The speed.
    pub rate_bps: u64,
    /// The threshold.
    pub bytes: u64,
    /// What the link carries in a seventh of a round trip.
    pub a_seventh_bytes: u64,
    /// 65 packets at 10 Gbit/s, in proportion.
    pub bursts_bytes: u64,
    /// 20 packets.
    pub least_bytes: u64,
}

/// The thresholds of a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name on the command line.
    pub method: &'static str,
    /// Rising, one fewer than its queues.
    pub thresholds_bytes: Vec<u64>,
    /// The result of both models.
    pub expected: Option<Expected>,
}

/// A queue and the packets that go to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assigned {
    /// The differentiated services code point of its packets; `None` if there are more queues than code points.
    pub dscp: Option<u8>,
    /// The content of the queue.
    #[serde(flatten)]
    pub queue: Queue,
}

/// Mean completion times by the foreground-background queue, in units of a mean flow's time on an idle link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// With the recommended queues.
    pub recommended: f64,
    /// With a single queue.
    pub one_queue: f64,
    /// With all queues asked for.
    pub all_queues: f64,
}

/// Returns advice for each load; `wanted.method` is not read. `show` receives the load, the number of finished runs,
/// and their total.
///
/// # Errors
/// Fails if sizes, loads or the fabric are wrong.
pub fn advice(
    wanted: &Wanted,
    deployment: &Deployment,
    show: &(dyn Fn(f64, usize, usize) + Sync),
) -> Result<Vec<Advice>, Error> {
    let site = Site::open(&deployment.network)?;
    if let Some(ports) = &deployment.ports {
        if wanted.loads.len() != 1 {
            return Err(Error::Input("--ports: expected one load".to_owned()));
        }
        ports.check(&[deployment.marking], &site.links)?;
    }
    wanted.loads.iter().map(|load| of_load(wanted, *load, (&site, deployment), show)).collect()
}

fn of_load(
    wanted: &Wanted,
    load: f64,
    (site, deployment): (&Site, &Deployment),
    show: &(dyn Fn(f64, usize, usize) + Sync),
) -> Result<Advice, Error> {
    let asked = Asked::read(wanted, load, wanted.queues.unwrap_or(8))?;
    let law = &asked.law;
    let by_models: Vec<Vec<u64>> =
        (1..=asked.queues).map(|queues| background(law, load, queues)).collect::<Result<_, _>>().map_err(refused)?;
    let time = |thresholds: &[u64]| background_time(law, load, thresholds);
    let all_queues = by_models.last().map_or(f64::INFINITY, |thresholds| time(thresholds));
    let enough = by_models.iter().find(|thresholds| time(thresholds) <= all_queues * (1.0 + WORTH));
    let recommended_bytes = passed(law, enough.cloned().unwrap_or_default());
    let carried = carried(law, load, &recommended_bytes);
    let queues = carried.len();
    let simulated = match deployment.trial.filter(|_| queues > 1) {
        None => None,
        Some(trial) => Some(paired::compare(
            (wanted, &asked, &recommended_bytes),
            (site, deployment.marking),
            trial,
            &|done, of| show(load, done, of),
        )?),
    };
    let links = &site.links;
    Ok(Advice {
        load,
        methods: rows(&asked, wanted)?,
        expected: Gain { recommended: time(&recommended_bytes), one_queue: time(&[]), all_queues },
        recommended_bytes,
        asked_queues: asked.queues,
        queues: carried.into_iter().enumerate().map(|(at, queue)| Assigned { dscp: dscp(at, queues), queue }).collect(),
        simulated,
        link: Link { rate_bps: links.host_bps, rtt_ps: links.rtt_ps },
        marking: deployment.marking,
        ecn_threshold_bytes: links.ecn_threshold_bytes(links.host_bps),
        ecn_thresholds: links.rates_bps.iter().map(|&bps| MarkFrom::of(bps, links.rtt_ps)).collect(),
    })
}

/// Returns the methods that have thresholds for these queues and sizes.
fn rows(asked: &Asked, wanted: &Wanted) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let methods = [
        ("equal-split", Method::EqualSplit),
        ("pias", Method::Pias),
        ("background", Method::Background),
        ("published", Method::Published),
    ];
    for (name, method) in methods {
        if method == Method::Published && asked.published().is_none() {
            continue;
        }
        let found = asked.of_queues_that_help(method)?;
        rows.push(Row { method: name, thresholds_bytes: found.thresholds_bytes, expected: found.expected });
    }
    let two = Asked::read(wanted, asked.load, 2)?.thresholds(Method::TwoLevel)?;
    rows.push(Row { method: "two-level", thresholds_bytes: two.thresholds_bytes, expected: two.expected });
    Ok(rows)
}

impl MarkFrom {
    fn of(rate_bps: u64, rtt_ps: u64) -> MarkFrom {
        let terms = marking_rule::terms(rate_bps, rtt_ps, MTU);
        MarkFrom {
            rate_bps,
            bytes: marking_rule::ecn_threshold_bytes(rate_bps, rtt_ps, MTU),
            a_seventh_bytes: terms.a_seventh,
            bursts_bytes: terms.bursts,
            least_bytes: terms.least,
        }
    }
}

/// The code points of the queues, the highest first. All are of the pool xxxx11, which is for local use (RFC 2474, §6),
/// and below 48. CS6 (48) and CS7 (56) belong to the network's own control traffic (RFC 4594, §3), and a switch that
/// reads only the upper three bits takes higher values for theirs. 3 is left out, because common switch templates take
/// it for lossless traffic. Up to five queues differ in the upper three bits, and keep their order if only these are
/// read.
const DSCPS: [&[u8]; 11] = [
    &[0],
    &[35, 11],
    &[35, 27, 11],
    &[35, 27, 19, 11],
    &[43, 35, 27, 19, 11],
    &[43, 39, 35, 27, 19, 11],
    &[43, 39, 35, 31, 27, 19, 11],
    &[43, 39, 35, 31, 27, 23, 19, 11],
    &[43, 39, 35, 31, 27, 23, 19, 15, 11],
    &[47, 43, 39, 35, 31, 27, 23, 19, 15, 11],
    &[47, 43, 39, 35, 31, 27, 23, 19, 15, 11, 7],
];

/// Returns a queue's code point; `None` if there are more queues than code points.
pub(crate) fn dscp(queue: usize, queues: usize) -> Option<u8> {
    DSCPS.get(queues.checked_sub(1)?)?.get(queue).copied()
}

/// What the text begins with.
const QUICK: &str =
    "The quick model. `flowsieve tune` without --model searches in your fabric, and says what each size gains.\n";

/// Formats the advice: where to find more, the recommendation, then the methods, then the queues.
pub fn advice_text(advice: &[Advice]) -> String {
    QUICK.to_owned() + &advice.iter().map(Advice::text).collect::<Vec<_>>().join("\n")
}

impl Advice {
    /// Writes the recommendation as configuration for ports.
    #[must_use]
    pub fn configuration(&self, ports: &Ports) -> Configured {
        if self.queues.len() < 2 {
            return configuration::none("one queue needs none");
        }
        if self.simulated.as_ref().is_some_and(|simulated| !simulated.helps) {
            return configuration::none("keep one queue, as the simulation shows no gain");
        }
        let dscps: Vec<u8> = self.queues.iter().filter_map(|assigned| assigned.dscp).collect();
        let mark = |bps: u64| self.ecn_thresholds.iter().find(|mark| mark.rate_bps == bps);
        // As in a search that is told nothing else.
        let k = |bps| mark(bps).map_or(0, |mark| mark.bytes);
        ports.configure((&self.recommended_bytes, &dscps, 0), (k, Marks::Step), false)
    }

    fn text(&self) -> String {
        let mut text = self.headline();
        let listed = self.recommended_bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes)));
        let _ = writeln!(text, "\nthresholds = [{}]", listed.collect::<Vec<_>>().join(", "));
        self.marks(&mut text);
        let _ = writeln!(
            text,
            "\n{:>5}  {:>4}  {:>14}  {:>13}  {:>8}",
            "queue", "DSCP", "bytes sent", "flows ending", "bytes"
        );
        for (number, Assigned { dscp, queue }) in self.queues.iter().enumerate() {
            let [sent, flows, bytes, _] = cells_of(queue);
            let dscp = dscp.map_or("–".to_owned(), |dscp| dscp.to_string());
            let _ = writeln!(text, "{number:>5}  {dscp:>4}  {sent:>14}  {flows:>13}  {bytes:>8}");
        }
        text += "DSCPs are for local use (RFC 2474, section 6), none is CS6 or CS7 (RFC 4594); packets with 0 go to the first queue.\n";
        let _ = writeln!(
            text,
            "\nall methods, with the models' mean completion time, {UNIT}:\na tandem of M/M/1 queues, and the \
             foreground-background queue with FIFO levels\n\n{:<11}  {:>6}  {:>7}  {:>10}  thresholds",
            "method", "queues", "tandem", "background"
        );
        for row in &self.methods {
            let [tandem, background] = [row.expected.map(|it| it.tandem), row.expected.map(|it| it.background)]
                .map(|time| time.map_or("–".to_owned(), |time| format!("{time:.3}")));
            let sizes: Vec<String> = row.thresholds_bytes.iter().map(|bytes| format_size(*bytes)).collect();
            let _ = writeln!(
                text,
                "{:<11}  {:>6}  {tandem:>7}  {background:>10}  {}",
                row.method,
                row.thresholds_bytes.len() + 1,
                sizes.join(" ")
            );
        }
        text
    }

    /// Writes the simulator's result, then the model's.
    fn headline(&self) -> String {
        let Gain { recommended, one_queue, all_queues } = self.expected;
        let (load, queues, asked) = (self.load, self.queues.len(), self.asked_queues);
        if queues == 1 {
            let worth = 100.0 * WORTH;
            return format!(
                "At load {load} one queue is enough: in the model no demotion reduces the mean FCT by {worth:.0} %.\n"
            );
        }
        let keeps_one = self.simulated.as_ref().is_some_and(|simulated| !simulated.helps);
        let mut text = match keeps_one {
            true => format!("At load {load} keep one queue: the simulation shows no gain from {queues} queues.\n"),
            false => format!("At load {load} use the foreground-background thresholds of {queues} queues.\n"),
        };
        match &self.simulated {
            Some(simulated) => {
                let marking = self.marking.setting();
                for (of, compared) in [("the mean FCT", simulated.all), ("that of flows up to 100 KB", simulated.small)]
                {
                    let Some(compared) = compared else { continue };
                    let _ = writeln!(text, "Simulated: {of} is {}.", compared.in_words());
                }
                let _ = writeln!(
                    text,
                    "  DCTCP with both, marking {marking}; {}, {} seeds of {} flows.",
                    simulated.network, simulated.seeds, simulated.flows
                );
            }
            None => text += "Not simulated: the next figures come from a model.\n",
        }
        let below = 100.0 * (1.0 - recommended / one_queue);
        let _ = writeln!(
            text,
            "In the model, without congestion control, the mean FCT is {below:.0} % below that of one queue."
        );
        if asked > queues {
            let more = (100.0 * (1.0 - all_queues / recommended)).max(0.0);
            let _ = writeln!(
                text,
                "In the model more queues do not help: {asked} queues would reduce it by another {more:.1} %."
            );
        }
        if keeps_one {
            let _ = writeln!(text, "The rest is for {queues} queues with foreground-background thresholds.");
        }
        text
    }

    /// Writes the marking threshold of each speed, with the terms whose maximum it is.
    fn marks(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "marking = \"{}\"\necn_threshold = \"{}\"    # at {}",
            self.marking.setting(),
            format_size(self.ecn_threshold_bytes),
            format_rate(self.link.rate_bps)
        );
        let of = match self.marking {
            Marking::Port => "a port's",
            Marking::Queue => "each queue's",
        };
        let _ = writeln!(
            text,
            "\n{of} ECN threshold K by link speed, the largest of: the link's bytes in a seventh of {} (DCTCP, section 3.4; RFC \
             8257,\nsection 3.1), 65 packets at 10Gbps in proportion (DCTCP, section 3.5), 20 packets\n\n{:>9}  {:>10}  {:>11}  {:>10}  {:>10}",
            format_time(self.link.rtt_ps),
            "rate",
            "K",
            "a seventh",
            "65 packets",
            "20 packets"
        );
        for mark in &self.ecn_thresholds {
            let [bytes, a_seventh, bursts, least] =
                [mark.bytes, mark.a_seventh_bytes, mark.bursts_bytes, mark.least_bytes].map(format_size);
            let rate = format_rate(mark.rate_bps);
            let _ = writeln!(text, "{rate:>9}  {bytes:>10}  {a_seventh:>11}  {bursts:>10}  {least:>10}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::paired::Paired;

    /// Returns advice without runs.
    fn advised(wanted: &Wanted) -> Advice {
        let network =
            Network::Switch { rates_bps: vec![10_000_000_000, 1_000_000_000, 100_000_000_000], rtt_ps: 80_000_000 };
        let deployment = Deployment { network, marking: Marking::Queue, trial: None, ports: None };
        advice(wanted, &deployment, &|_, _, _| {}).unwrap().remove(0)
    }

    fn wanted(workload: &str, queues: u64) -> Wanted {
        Wanted {
            workload: Some(workload.into()),
            cdf: None,
            sizes: None,
            loads: vec![0.8],
            queues: Some(queues),
            method: Method::Background,
        }
    }

    #[test]
    fn advice__no_more_queues_than_help() {
        for (workload, most) in [("web-search", 7), ("data-mining", 8)] {
            let advice = advised(&wanted(workload, 8));
            let queues = advice.queues.len();
            assert!((2..=most).contains(&queues), "{workload}: {queues}");
            assert!(
                advice.queues.iter().all(|assigned| assigned.queue.flows_ending > 0.0 || assigned.queue.bytes > 0.0)
            );
            assert!(advice.expected.recommended <= 1.01 * advice.expected.all_queues, "{:?}", advice.expected);
            assert!(advice.expected.recommended < advice.expected.one_queue);
            // By the model behind the recommendation, no method does better with as many queues or more.
            let best =
                advice.methods.iter().filter_map(|row| row.expected).map(|it| it.background).fold(f64::MAX, f64::min);
            assert!(advice.expected.recommended <= 1.01 * best, "{workload}");
            assert!(advice.methods.iter().any(|row| row.method == "published"));
        }
    }

    #[test]
    fn advice__flows_of_one_size_need_one_queue() {
        let advice = advised(&wanted("fixed(12000B)", 8));
        assert_eq!((advice.queues.len(), advice.queues[0].dscp), (1, Some(0)));
        assert!(advice.text().starts_with("At load 0.8 one queue is enough"), "{}", advice.text());
    }

    #[test]
    fn dscp__never_the_networks_own_and_falling() {
        let of = |queues: usize| (0..queues).map(|queue| dscp(queue, queues)).collect::<Option<Vec<u8>>>();
        assert_eq!([of(1), of(2), of(4)], [vec![0], vec![35, 11], vec![35, 27, 19, 11]].map(Some));
        for queues in 2..=11 {
            let of = of(queues).unwrap();
            // Of the pool xxxx11, above 3, and below CS6.
            assert!(of.iter().all(|dscp| dscp & 3 == 3 && (4..48).contains(dscp)), "{queues}: {of:?}");
            assert!(of.is_sorted_by(|a, b| a > b), "{queues}: {of:?}");
            let classes: Vec<u8> = of.iter().map(|dscp| dscp >> 3).collect();
            assert!(queues > 5 || classes.is_sorted_by(|a, b| a > b), "{queues}: {of:?}");
        }
        assert_eq!(of(12), None);
    }

    #[test]
    fn advice__k_of_every_speed_is_the_simulators_own_at_ten_gigabits() {
        let advice = advised(&wanted("web-search", 8));
        let of: Vec<(u64, u64)> = advice.ecn_thresholds.iter().map(|mark| (mark.rate_bps, mark.bytes)).collect();
        assert_eq!(of, [(1_000_000_000, 30_000), (10_000_000_000, 97_500), (100_000_000_000, 975_000)]);
        assert_eq!((advice.ecn_threshold_bytes, advice.ecn_thresholds[1].a_seventh_bytes), (97_500, 14_285));
        let text = advice.text();
        assert!(text.contains("ecn_threshold = \"97.5KB\"") && text.contains("marking = \"per-queue\""), "{text}");
    }

    #[test]
    fn advice__keeps_one_queue_where_the_simulation_shows_no_gain() {
        let paired = |low: f64, high: f64| Some(Paired { ratio: (low * high).sqrt(), interval: Some((low, high)) });
        let mut advice = advised(&wanted("web-search", 8));
        let (use_them, keep) = ("At load 0.8 use the foreground-background", "At load 0.8 keep one queue: ");
        let cases = [
            (paired(0.8, 0.9), paired(0.7, 0.8), use_them),
            (paired(0.8, 0.9), None, use_them),
            // Small flows gain, and all together are not resolved.
            (paired(0.9, 1.1), paired(0.7, 0.8), use_them),
            (paired(0.9, 1.1), paired(0.9, 1.1), keep),
            (paired(1.01, 1.1), paired(0.7, 0.8), keep),
            (Some(Paired { ratio: 0.5, interval: None }), None, keep),
            (None, None, keep),
        ];
        for (all, small, expected) in cases {
            let helps = paired::helps(all, small);
            advice.simulated = Some(Simulated { network: "a switch".into(), seeds: 5, flows: 100, all, small, helps });
            let text = advice.text();
            assert!(text.starts_with(expected), "{all:?} {small:?}: {text}");
            assert_eq!(text.contains("The rest is for "), expected == keep, "{text}");
        }
    }

    #[test]
    fn advice__the_headline_is_the_simulators_and_the_model_stands_below() {
        let wanted = Wanted { workload: Some("fb-cache-follower".into()), ..wanted("", 4) };
        let network = Network::Switch { rates_bps: vec![10_000_000_000], rtt_ps: 80_000_000 };
        let trial = Some(Trial { flows: Some(100), jobs: 2 });
        let deployment = Deployment { network, marking: Marking::Port, trial, ports: None };
        let advice = advice(&wanted, &deployment, &|_, _, _| {}).unwrap().remove(0);
        assert!(advice.simulated.as_ref().and_then(|simulated| simulated.all).is_some());
        let text = advice.text();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("Simulated: the mean FCT is ") < at("In the model"), "{text}");
        assert!(at("marking per-port") < at("In the model"), "{text}");
        assert!(advised(&wanted).text().contains("Not simulated"));
    }
}
