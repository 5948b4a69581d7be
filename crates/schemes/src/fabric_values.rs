//! A scheme's values that depend on the fabric: those in bandwidth-delay products and round trips, and those that the
//! parameter set `scaled` makes from the papers' numbers of packets.

use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_settings::units::{Size, format_time, parse_size, parse_time};
use flowsieve_settings::{Key, Kind, Layer, MTU, Origin, Raw, SettingsError};

use crate::entry::Context;
use crate::marking_rule::ecn_threshold_bytes;
use crate::parameters::Reference;
use crate::sets::{self, ParameterSet};

/// A value in a file of a scheme: a multiple of the bandwidth-delay product of the fabric's fastest host and its farthest two
/// (`bdp`, in whole full packets) or of their base round trip (`rtt`): "2bdp", "bdp/16", "bdp/8, at least 1", "rtt/2". The limits
/// of its setting hold for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Formula {
    times: u64,
    over: u64,
    of_time: bool,
    least: f64,
}

impl Formula {
    /// Reads a value of a setting; `None`: it is none of these.
    pub(crate) fn of(key: &Key, raw: &Raw) -> Option<Formula> {
        let Raw::Text(text) = raw else { return None };
        let (text, least) = match text.split_once(", at least ") {
            Some((text, least)) => (text, least.parse().ok().filter(|least: &f64| *least > 0.0)?),
            None => (text.as_str(), 0.0),
        };
        let (text, over) = match text.split_once('/') {
            Some((text, over)) => (text, over.parse().ok().filter(|over| *over > 0)?),
            None => (text, 1),
        };
        let of_time = matches!(key.kind, Kind::Time(..));
        let counts = matches!(key.kind, Kind::Size(..) | Kind::Count(..) | Kind::Number(..) | Kind::NumberAbove(..));
        let times = match (text.strip_suffix("bdp"), text.strip_suffix("rtt")) {
            (Some(times), _) if counts => times,
            (_, Some(times)) if of_time => times,
            _ => return None,
        };
        let times = if times.is_empty() { 1 } else { times.parse().ok().filter(|times| *times > 0)? };
        Some(Formula { times, over, of_time, least })
    }

    /// Returns the value for a fabric whose bandwidth-delay product is this many packets.
    fn value(self, key: &Key, packets: u64, round_trip: Time) -> Raw {
        let whole = |of: u64| of.saturating_mul(self.times) / self.over;
        match key.kind {
            Kind::Time(low, high) => Raw::Text(format_time(whole(round_trip.0).clamp(low, high))),
            Kind::Size(..) => Raw::Text(format!("{}pkt", whole(packets).max(self.least as u64))),
            Kind::Count(low, high) => {
                let count = whole(packets).max(self.least as u64).clamp(low, high);
                Raw::Integer(i64::try_from(count).unwrap_or(i64::MAX))
            }
            _ => Raw::Float((packets as f64 * self.times as f64 / self.over as f64).max(self.least)),
        }
    }
}

/// Returns a scheme's own values for the fabric of a point.
pub(crate) fn resolved(
    own: &Arc<Layer>,
    context: &Context<'_>,
    set: &ParameterSet,
) -> Result<Arc<Layer>, SettingsError> {
    let formula = |name: &str, raw: &Raw| find(name).and_then(|key| Some((key, Formula::of(key, raw)?)));
    let has_formulas = own.iter().any(|(name, _, raw, _)| formula(name, raw).is_some());
    if !has_formulas && set.scaled.is_empty() {
        return Ok(Arc::clone(own));
    }
    let (reference, mtu) = (Reference::read(context)?, context.scope.read(&MTU)?);
    let mut layer = Layer::clone(own);
    if !set.scaled.is_empty() {
        scale(&mut layer, set, reference, mtu);
    }
    let packets = reference.bdp_bytes().div_ceil(mtu.max(1)).max(1);
    layer.map(|name, raw| formula(name, raw).map(|(key, of)| of.value(key, packets, reference.round_trip)));
    Ok(Arc::new(layer))
}

fn find(name: &str) -> Option<&'static Key> {
    crate::SETTINGS.iter().copied().flatten().copied().find(|key| key.name == name)
}

/// The buffer of the papers' comparisons, and their marking threshold, in packets.
const PAPERS: Buffer = Buffer { packets: 240, marks: true };
const PAPERS_K: u64 = 65;

/// A buffer in packets of the papers, and whether its port marks.
#[derive(Clone, Copy)]
struct Buffer {
    packets: u64,
    marks: bool,
}

/// The rule by which numbers of packets follow a fabric. The threshold follows the one rule for K ([`crate::marking_rule`]), in
/// proportion if a scheme's is not the papers' 65 packets. Windows and buffers follow the product of rate and round trip. A
/// buffer keeps at least the papers' proportion to the threshold, so that it still marks before it drops if the fabric's
/// bursts raise the threshold. Schemes without marks get the same buffer, unless their paper states another: all that
/// compete for one fabric compete with the same memory.
struct Rule {
    to: Reference,
    mtu: u64,
    /// K in whole packets.
    threshold: u64,
}

impl Rule {
    fn new(to: Reference, mtu: u64) -> Rule {
        Rule { to, mtu, threshold: ecn_threshold_bytes(to.host_bps, to.round_trip.0, mtu) / mtu.max(1) }
    }

    fn by_k(&self, packets: u64) -> u64 {
        packets.saturating_mul(self.threshold).div_ceil(PAPERS_K)
    }

    fn buffer(&self, of: Buffer) -> u64 {
        let is_own = !of.marks && of.packets != PAPERS.packets;
        self.to.scaled(of.packets).max(if is_own { 1 } else { self.by_k(of.packets) })
    }

    /// Scales a timer of a scheme with this buffer. It outlasts what the buffer holds beyond its product.
    fn timer(&self, of: Buffer, timer: Time) -> Time {
        let more = self.buffer(of).saturating_sub(self.to.scaled(of.packets));
        self.to.timer(timer, more.saturating_mul(self.mtu))
    }
}

/// Scales a scheme's own values, and those of the set.
fn scale(layer: &mut Layer, set: &ParameterSet, to: Reference, mtu: u64) {
    let rule = Rule::new(to, mtu);
    let own = |name: &str| layer.at(None, name).map(|(_, raw, _)| raw.clone());
    let buffer = match own("buffer").as_ref().and_then(packets) {
        Some(packets) => Buffer { packets, marks: own("marking") != Some(Raw::from("none")) },
        // Its numbers are for its fabric.
        None => PAPERS,
    };
    let usual = |name: &str| own(name).or_else(|| Some(set.layer.at(None, name)?.1.clone()));
    let window = match usual("initial_window") {
        Some(Raw::Integer(packets)) => u64::try_from(packets).ok().map(|packets| to.scaled(packets)),
        _ => None,
    };
    let timer = match usual("rto_min") {
        Some(Raw::Text(text)) => parse_time(&text).ok().map(|timer| rule.timer(buffer, Time(timer))),
        _ => None,
    };
    let text = |packets: u64| Raw::Text(format!("{packets}pkt"));
    layer.map(|name, raw| match name {
        "ecn_threshold" | "red_min" => packets(raw).map(|packets| text(rule.by_k(packets))),
        "buffer" => packets(raw).map(|packets| text(rule.buffer(Buffer { packets, ..buffer }))),
        _ => None,
    });
    let mut put = |name, raw| layer.put(None, name, raw, Origin::Default);
    if let Some(window) = window {
        put("initial_window", Raw::Integer(i64::try_from(window).unwrap_or(i64::MAX)));
    }
    if let Some(timer) = timer {
        put("rto_min", Raw::Text(format_time(timer.0)));
    }
}

/// Returns a size in packets, rounded up.
fn packets(raw: &Raw) -> Option<u64> {
    match raw {
        Raw::Text(text) => match parse_size(text).ok()? {
            Size::MilliPackets(milli) => Some(milli.div_ceil(1_000)),
            Size::Bytes(_) => None,
        },
        _ => None,
    }
}

/// Returns the timer of a transport whose packets wait behind those of other messages, scaled to the fabric where the
/// parameter set scales timers. Such a wait goes with the sizes of messages, so the timer stays as long as they take there.
pub(crate) fn timer(context: &Context<'_>, papers: Time) -> Result<Time, SettingsError> {
    if sets::of(&context.scope)?.scaled.is_empty() {
        return Ok(papers);
    }
    let (to, mtu) = (Reference::read(context)?, context.scope.read(&MTU)?);
    Ok(Rule::new(to, mtu).timer(PAPERS, papers).max(to.time_of_bytes(papers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Sieve's values for a rate, a round trip and full packets.
    fn sieve(gbps: u64, us: u64, mtu: u64) -> [String; 6] {
        let reference = Reference { host_bps: gbps * 1_000_000_000, round_trip: Time::from_us(us) };
        let packets = reference.bdp_bytes().div_ceil(mtu).max(1);
        let file = registry::find("sieve").unwrap();
        let names = ["initial_window", "max_window", "window_growth", "ack_every", "delayed_ack", "buffer"];
        names.map(|name| {
            let (key, (_, raw, _)) = (find(name).unwrap(), file.layer().at(None, name).unwrap());
            let value = Formula::of(key, raw).unwrap().value(key, packets, reference.round_trip);
            key.kind.read(name, &value, &Origin::Default).unwrap().to_string()
        })
    }

    #[test]
    fn formula__follows_rate_and_round_trip_within_the_limits_of_its_setting() {
        assert_eq!(sieve(100, 80, 1_500), ["667", "1334", "83.375", "41", "40us", "2668pkt"]);
        assert_eq!(sieve(100, 80, 9_000), ["112", "224", "14", "7", "40us", "448pkt"]);
        assert_eq!(sieve(1, 8, 1_500), ["1", "2", "1", "1", "4us", "4pkt"]);
    }

    #[test]
    fn formula__of_other_texts_is_none() {
        let of = |name: &str, text: &str| Formula::of(find(name).unwrap(), &Raw::from(text));
        for text in
            ["2 bdp", "bdp*2", "bdp/0", "0bdp", "-1bdp", "bdp, at least 0", "rtt", "bdp/8, at most 4", "bdpbdp", ""]
        {
            assert_eq!(of("buffer", text), None, "{text}");
        }
        assert_eq!(of("delayed_ack", "bdp"), None);
        assert_eq!(of("load_balancing", "bdp"), None);
        assert!(of("delayed_ack", "3rtt").is_some());
    }
}
