//! Which thresholds to take: all methods side by side, and a recommendation with what else a switch needs to know, the marking threshold
//! and which DSCP goes to which queue.

use super::text::{UNIT, cells_of};
use super::{Asked, Expected, Method, Queue, Wanted, carried, passed, refused};
use crate::error::Error;
use flowsieve_schemes::settings::units::{format_rate, format_size, format_time};
use flowsieve_thresholds::{background, background_time};
use serde::Serialize;
use std::fmt::Write;

/// Another queue has to take more than this share off the mean completion time to be worth having.
const WORTH: f64 = 0.01;

/// A host's link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// Its rate.
    pub rate_bps: u64,
    /// Round trip without queues.
    pub rtt_ps: u64,
}

/// What is advised at a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Load of the host links.
    pub load: f64,
    /// Each method with the thresholds that it gives.
    pub methods: Vec<Row>,
    /// Best by the foreground-background queue, with as many queues as help; rising, one less than these.
    pub recommended_bytes: Vec<u64>,
    /// How many queues were asked for.
    pub asked_queues: usize,
    /// What they make of the sizes, and the DSCP of each queue.
    pub queues: Vec<Assigned>,
    /// Mean completion time with these, with one queue and with as many queues as were asked for.
    pub expected: Gain,
    /// The link that marks are for.
    pub link: Link,
    /// Packets are marked from so many bytes of a port on: what the link carries in a seventh of a round trip (DCTCP, §3.4).
    pub ecn_threshold_bytes: u64,
}

/// The thresholds of a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name on the command line.
    pub method: &'static str,
    /// Rising, one less than its queues.
    pub thresholds_bytes: Vec<u64>,
    /// By both models.
    pub expected: Option<Expected>,
}

/// A queue and the packets that go to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assigned {
    /// The differentiated services code point of its packets.
    pub dscp: u8,
    /// What it carries.
    #[serde(flatten)]
    pub queue: Queue,
}

/// Mean completion times by the foreground-background queue, in units of a mean flow's time on an idle link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// With the queues that are recommended.
    pub recommended: f64,
    /// With a single queue.
    pub one_queue: f64,
    /// With as many as were asked for.
    pub all_queues: f64,
}

/// Advice for each load; `wanted.method` is not read.
pub fn advice(wanted: &Wanted, link: Link) -> Result<Vec<Advice>, Error> {
    wanted.loads.iter().map(|load| of_load(wanted, *load, link)).collect()
}

fn of_load(wanted: &Wanted, load: f64, link: Link) -> Result<Advice, Error> {
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
    Ok(Advice {
        load,
        methods: rows(&asked, wanted)?,
        expected: Gain { recommended: time(&recommended_bytes), one_queue: time(&[]), all_queues },
        recommended_bytes,
        asked_queues: asked.queues,
        queues: carried.into_iter().enumerate().map(|(at, queue)| Assigned { dscp: dscp(at, queues), queue }).collect(),
        link,
        ecn_threshold_bytes: in_a_seventh(link),
    })
}

/// The methods that have thresholds for these queues and sizes.
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

/// Class selectors, the highest first and the last queue that of packets without any. CS6 and CS7 are for routing (RFC 4594, §3), so
/// that they are taken only where there are more than six queues.
fn dscp(queue: usize, queues: usize) -> u8 {
    let highest = if queues > 6 { 7 } else { 5 };
    let class = if queue + 1 == queues { 0 } else { usize::saturating_sub(highest, queue) };
    8 * class as u8
}

fn in_a_seventh(link: Link) -> u64 {
    let bits = u128::from(link.rate_bps) * u128::from(link.rtt_ps) / 1_000_000_000_000;
    u64::try_from(bits.div_ceil(8 * 7)).unwrap_or(u64::MAX)
}

/// As text: the recommendation, then the methods, then the queues.
pub fn advice_text(advice: &[Advice]) -> String {
    advice.iter().map(Advice::text).collect::<Vec<_>>().join("\n")
}

impl Advice {
    fn text(&self) -> String {
        let Gain { recommended, one_queue, all_queues } = self.expected;
        let queues = self.queues.len();
        let mut text = if queues == 1 {
            format!(
                "At load {} one queue is enough: no demotion takes {:.0} % off the mean FCT.\n",
                self.load,
                100.0 * WORTH
            )
        } else {
            format!(
                "At load {} take the foreground-background thresholds of {queues} queues: a mean FCT {:.0} % below that of one queue is expected.\n",
                self.load,
                100.0 * (1.0 - recommended / one_queue)
            )
        };
        let asked = self.asked_queues;
        if asked > queues {
            let more = (100.0 * (1.0 - all_queues / recommended)).max(0.0);
            let _ = writeln!(text, "More do not help: {asked} queues would take another {more:.1} % off.");
        }
        let listed = self.recommended_bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes)));
        let _ = writeln!(text, "\nthresholds = [{}]", listed.collect::<Vec<_>>().join(", "));
        let _ = writeln!(
            text,
            "ecn_threshold = \"{}\"    # a port's: {} in a seventh of {} (DCTCP, section 3.4)",
            format_size(self.ecn_threshold_bytes),
            format_rate(self.link.rate_bps),
            format_time(self.link.rtt_ps)
        );
        let _ = writeln!(
            text,
            "\n{:>5}  {:>4}  {:>14}  {:>13}  {:>8}",
            "queue", "DSCP", "bytes sent", "flows ending", "bytes"
        );
        for (number, Assigned { dscp, queue }) in self.queues.iter().enumerate() {
            let [sent, flows, bytes, _] = cells_of(queue);
            let _ = writeln!(text, "{number:>5}  {dscp:>4}  {sent:>14}  {flows:>13}  {bytes:>8}");
        }
        let _ = writeln!(
            text,
            "\nall methods, with the mean completion time that models expect, {UNIT}:\na tandem of M/M/1 queues, and the \
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link { rate_bps: 10_000_000_000, rtt_ps: 81_600_000 };

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
            let advice = advice(&wanted(workload, 8), LINK).unwrap().remove(0);
            let queues = advice.queues.len();
            assert!((2..=most).contains(&queues), "{workload}: {queues}");
            assert!(
                advice.queues.iter().all(|assigned| assigned.queue.flows_ending > 0.0 || assigned.queue.bytes > 0.0)
            );
            assert!(advice.expected.recommended <= 1.01 * advice.expected.all_queues, "{:?}", advice.expected);
            assert!(advice.expected.recommended < advice.expected.one_queue);
            // By the model that recommends, no method does better with as many queues or more.
            let best =
                advice.methods.iter().filter_map(|row| row.expected).map(|it| it.background).fold(f64::MAX, f64::min);
            assert!(advice.expected.recommended <= 1.01 * best, "{workload}");
            assert!(advice.methods.iter().any(|row| row.method == "published"));
        }
    }

    #[test]
    fn advice__flows_of_one_size_need_one_queue() {
        let advice = advice(&wanted("fixed(12000B)", 8), LINK).unwrap().remove(0);
        assert_eq!((advice.queues.len(), advice.queues[0].dscp), (1, 0));
        assert!(advice.text().starts_with("At load 0.8 one queue is enough"), "{}", advice.text());
    }

    #[test]
    fn dscp__class_selectors_that_routing_does_not_use_where_they_suffice() {
        let of = |queues: usize| (0..queues).map(|queue| dscp(queue, queues)).collect::<Vec<u8>>();
        assert_eq!(of(1), [0]);
        assert_eq!(of(2), [40, 0]);
        assert_eq!(of(6), [40, 32, 24, 16, 8, 0]);
        assert_eq!(of(8), [56, 48, 40, 32, 24, 16, 8, 0]);
    }

    #[test]
    fn in_a_seventh__of_the_bandwidth_delay_product() {
        // 10 Gbit/s times 81.6 us are 102,000 bytes.
        assert_eq!(in_a_seventh(LINK), 14_572);
    }
}
