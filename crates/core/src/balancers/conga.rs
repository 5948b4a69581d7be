//! CONGA: a leaf sends each flowlet by the uplink whose path is least congested, as the far leaf reports it on packets that come
//! back (Alizadeh et al., SIGCOMM 2014).
//!
//! Each packet between two leaves carries, in its trail, the uplink that it took and the congestion of the most congested line
//! so far; each switch raises that to the congestion of its own line. The far leaf keeps it, by leaf and uplink, and sends it
//! back, one uplink a packet: those that have changed first, each in its turn. A new flowlet takes the uplink with the least
//! maximum of its own line and of what was reported. Of equal ones it stays on that of its last packet, or draws one.
//!
//! # Congestion
//! The discounting rate estimator of a line adds the bytes that the line sends, and multiplies the sum by 1 - alpha each
//! [`CongaParams::interval`] T. A line that is always busy has rate · T / alpha at the end of an interval. Three bits tell the share
//! of that, 7 at most.
//!
//! # Where the text is silent
//! The paper was not at hand: rules are those of two public simulators, without three defects of one of them (a better port that
//! counts twice in a draw, a table that changes while it is read, a level of 8 in three bits). What was reported
//! [`CongaParams::age`] ago counts as no congestion, at once. Switches that are not leaves choose by hash.

use super::by_program::ByProgram;
use super::ecmp::ecmp_way;
use super::flowlet::FlowletTable;
use crate::balancer::{BalancerRules, BalancerSite};
use crate::hash::{mix, reduce};
use crate::hop::{Carried, Report};
use crate::meta::Meta;
use crate::program::{Asked, Counted, SwitchPorts, SwitchProgram, Watches};
use crate::site::{Node, Place, Site};
use crate::units::Time;

/// CONGA's settings. Packets need trails ([`crate::hops::trails`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongaParams {
    /// T, after which the estimate of a line shrinks. Above zero.
    pub interval: Time,
    /// Alpha, by how much: above 0 and up to 1.
    pub alpha: f64,
    /// How long a flowlet keeps its path without a packet.
    pub flowlet_gap: Time,
    /// How long a report counts.
    pub age: Time,
}

/// The highest level of congestion: three bits.
const MOST: u8 = 7;

impl BalancerRules for CongaParams {
    type Balancer = ByProgram;

    fn build(&self, site: &BalancerSite) -> ByProgram {
        ByProgram::new(site)
    }

    fn is_program(&self) -> bool {
        true
    }

    fn program(&self, site: &mut dyn FnMut() -> Site) -> Option<Box<dyn SwitchProgram>> {
        Some(Box::new(Conga::new(&site(), *self)))
    }
}

/// The estimate of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The sum, and what the line had sent when it was last discounted.
    sum: f64,
    counted: u64,
    /// The sum of a line that is always busy.
    full: f64,
}

impl Line {
    fn discount(&mut self, sent: u64, alpha: f64) {
        self.sum = (self.sum + (sent - self.counted) as f64) * (1.0 - alpha);
        self.counted = sent;
    }

    fn level(&self, sent: u64) -> u8 {
        let share = (self.sum + (sent - self.counted) as f64) / self.full;
        ((share * f64::from(MOST + 1)) as u8).min(MOST)
    }
}

/// What a leaf knows about the paths from and to another.
#[derive(Clone, Debug, Default)]
struct Paths {
    /// By uplink of this leaf: the level that was reported, and when.
    reported: Vec<Option<(u8, Time)>>,
    /// By uplink of the other leaf: the level that its packets had, and whether that is to be reported.
    seen: Vec<Option<(u8, bool)>>,
    /// The uplink to report next.
    next: usize,
}

impl Paths {
    fn see(&mut self, uplink: u16, level: u8) {
        let at = usize::from(uplink);
        if at >= self.seen.len() {
            self.seen.resize(at + 1, None);
        }
        let changed = self.seen[at].is_none_or(|(before, due)| due || before != level);
        self.seen[at] = Some((level, changed));
    }

    fn hear(&mut self, report: Report, now: Time) {
        if let Some(known) = self.reported.get_mut(usize::from(report.uplink)) {
            *known = Some((report.level, now));
        }
    }

    /// Takes what goes back with the next packet.
    fn report(&mut self) -> Option<Report> {
        let count = self.seen.len();
        let in_turn = |nth: usize| (self.next + nth) % count;
        let due = (0..count).map(in_turn).find(|&at| self.seen[at].is_some_and(|(_, due)| due));
        let at = due.or_else(|| (0..count).map(in_turn).find(|&at| self.seen[at].is_some()))?;
        self.next = at + 1;
        let seen = self.seen[at].as_mut()?;
        seen.1 = false;
        Some(Report { uplink: at as u16, level: seen.0 })
    }
}

/// The program of one switch.
pub struct Conga {
    site: Site,
    params: CongaParams,
    /// The rack of a leaf.
    rack: Option<u32>,
    /// By port: the estimate of lines to switches.
    lines: Vec<Option<Line>>,
    /// By rack.
    paths: Vec<Paths>,
    flowlets: FlowletTable,
    draws: u64,
    next: Time,
}

impl Conga {
    /// Builds the program of this switch.
    pub fn new(site: &Site, params: CongaParams) -> Conga {
        let full = |bps: u64| bps as f64 / 8.0 * params.interval.as_secs() / params.alpha;
        let line = |port: &crate::site::SitePort| {
            matches!(port.behind, Node::Switch(_)).then(|| Line { full: full(port.rate.bps()), ..Line::default() })
        };
        let paths = Paths { reported: vec![None; site.ports.len()], ..Paths::default() };
        Conga {
            rack: site.rack().filter(|_| site.place == Place::Leaf),
            lines: site.ports.iter().map(line).collect(),
            paths: vec![paths; site.racks.count()],
            flowlets: FlowletTable::new(params.flowlet_gap),
            draws: 0,
            next: params.interval,
            params,
            site: site.clone(),
        }
    }

    /// Returns the congestion of a port's line; 0 for a host's.
    fn level(&self, port: u16, ports: &mut dyn SwitchPorts) -> u8 {
        self.lines[usize::from(port)].map_or(0, |line| line.level(ports.sent_bytes(port)))
    }

    /// Chooses the path of a flowlet to another rack.
    fn choose_path(&mut self, packet: &Meta, rack: u32, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize {
        let ways = &self.site.groups[usize::from(group)];
        if let Some(way) = self.flowlets.goes_on(packet, ways.len(), now) {
            return way;
        }
        let reported = &self.paths[rack as usize].reported;
        let fresh = |(level, at): (u8, Time)| if now.since(at) < self.params.age { level } else { 0 };
        let of = |port: &u16| reported[usize::from(*port)].map_or(0, fresh);
        let levels: Vec<u8> = ways.iter().map(|port| of(port).max(self.level(*port, ports))).collect();
        let least = levels.iter().min().copied().unwrap_or(0);
        let best: Vec<usize> = (0..levels.len()).filter(|&way| levels[way] == least).collect();
        let last = self.flowlets.last_way(packet).filter(|way| best.contains(way));
        let way = last.unwrap_or_else(|| {
            self.draws += 1;
            best[reduce(mix(self.site.seed ^ mix(self.draws)), best.len())]
        });
        self.flowlets.begin(packet, (group, way as u16), now);
        way
    }
}

impl SwitchProgram for Conga {
    fn watches(&self) -> Watches {
        Watches { packets: Asked::Every, sent_bytes: Counted::ToSwitches }
    }

    fn choose(&mut self, packet: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize {
        let from_host = self.site.ports.get(usize::from(from)).is_some_and(|port| matches!(port.behind, Node::Host(_)));
        let to = self.site.racks.of(packet.dst.into());
        let carried = ports.trail().map(|trail| trail.carried);
        if self.rack == Some(to) {
            // At home: what it carries, if another leaf sent it.
            if let Some(Carried { rack, uplink, level, report }) = carried.flatten().filter(|_| !from_host)
                && let Some(paths) = self.paths.get_mut(rack as usize)
            {
                paths.see(uplink, level);
                report.into_iter().for_each(|report| paths.hear(report, now));
            }
            return 0;
        }
        let way = match self.rack.filter(|_| from_host) {
            Some(_) => self.choose_path(packet, to, group, now, ports),
            None => ecmp_way(packet, self.site.seed, self.site.groups[usize::from(group)].len()),
        };
        let port = self.site.groups[usize::from(group)][way];
        let own = self.level(port, ports);
        let carried = match self.rack.filter(|_| from_host) {
            Some(rack) => Some(Carried { rack, uplink: port, level: own, report: self.paths[to as usize].report() }),
            None => carried.flatten().map(|carried| Carried { level: carried.level.max(own), ..carried }),
        };
        if let Some(trail) = ports.trail() {
            trail.carried = carried;
        }
        way
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.next = Time(now.0.saturating_add(self.params.interval.0));
        for (port, line) in (0..).zip(&mut self.lines) {
            if let Some(line) = line {
                line.discount(ports.sent_bytes(port), self.params.alpha);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbit/s, T of 32 us, alpha of 0.2: 200 KB if it is always busy. It has 160 KB of it after each discount: level 6.
    #[test]
    fn level__of_a_busy_line_and_of_one_that_rests() {
        let (alpha, each) = (0.2, 40_000);
        let mut line = Line { full: each as f64 / alpha, ..Line::default() };
        let mut sent = 0;
        for _ in 0..100 {
            sent += each;
            line.discount(sent, alpha);
        }
        assert_eq!([line.level(sent), line.level(sent + each / 2), line.level(sent + each)], [6, 7, 7]);
        // A fifth goes each time: 160, 128, 102, 82 KB, and a time constant of 160 us.
        let levels: Vec<u8> = (0..4)
            .map(|_| {
                line.discount(sent, alpha);
                line.level(sent)
            })
            .collect();
        assert_eq!(levels, [5, 4, 3, 2]);
    }

    /// What changed goes first, and then all in turn.
    #[test]
    fn reports__what_changed_goes_first() {
        let mut paths = Paths { reported: vec![None; 4], ..Paths::default() };
        assert_eq!(paths.report(), None);
        [(1, 3), (2, 5), (3, 0)].into_iter().for_each(|(uplink, level)| paths.see(uplink, level));
        let next = |paths: &mut Paths| paths.report().map(|report| (report.uplink, report.level));
        assert_eq!([(); 4].map(|()| next(&mut paths)), [Some((1, 3)), Some((2, 5)), Some((3, 0)), Some((1, 3))]);
        paths.see(1, 3);
        paths.see(3, 4);
        assert_eq!([(); 2].map(|()| next(&mut paths)), [Some((3, 4)), Some((1, 3))]);
        // A report of an uplink that is not there changes nothing.
        paths.hear(Report { uplink: 9, level: 1 }, Time::ZERO);
        paths.hear(Report { uplink: 2, level: 6 }, Time::from_us(1));
        assert_eq!(paths.reported, [None, None, Some((6, Time::from_us(1))), None]);
    }
}
