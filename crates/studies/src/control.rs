//! Controllers of thresholds for hosts that are real: those of the schemes, fed with the sizes of messages that have ended.

use flowsieve_core::awafs::actuator::{ActuatorParams, WHOLE};
use flowsieve_core::controller::{Audience, Controller, ControllerRules, FabricSite, Gauges, HostEvent, Table};
use flowsieve_core::controllers::awafs::HostActuators;
use flowsieve_core::controllers::thresholds::{Adaptation, NetworkParams};
use flowsieve_core::message::{FlowEvent, Message};
use flowsieve_core::readings::Reading;
use flowsieve_core::site::{Node, Place, Racks, Site, SitePort};
use flowsieve_core::solver::Solver;
use flowsieve_core::thresholds::{SizeLaw, background, two_level};
use flowsieve_core::units::{Rate, Time};
use flowsieve_experiment::Error;
use std::sync::Arc;

/// Whose controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// NOS2's: one threshold for all devices, by two-level processor sharing of all their messages.
    Nos2,
    /// AWAFS's: each device's thresholds are percentiles of its own messages.
    Awafs,
    /// The model of `tune`, foreground-background, of all devices' messages.
    Background,
}

/// When, and from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Time between two decisions.
    pub period: Time,
    /// How long sizes count.
    pub window: Time,
    /// The fewest messages for a decision of NOS2's or the model's.
    pub least: u64,
}

/// The messages that AWAFS remembers of a device.
const REMEMBERED: usize = 1 << 16;

/// The controllers of a host's devices.
pub struct Controls {
    /// One for each device, or one for all.
    controllers: Vec<Box<dyn Controller>>,
    is_central: bool,
    /// The thresholds that hold, by device.
    thresholds: Vec<Vec<u64>>,
}

#[derive(Debug)]
struct TwoLevel;

impl Solver for TwoLevel {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, _: usize) -> Option<Vec<u64>> {
        two_level(&SizeLaw::from_counts(sizes).ok()?, load).ok().map(|threshold| vec![threshold])
    }
}

#[derive(Debug)]
struct Background;

impl Solver for Background {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>> {
        background(&SizeLaw::from_counts(sizes).ok()?, load, queues).ok()
    }
}

impl Controls {
    /// Builds controllers for devices with these rates in bit/s, whose hosts tag by `initial`.
    ///
    /// # Errors
    /// Fails if NOS2 gets other than two queues, a rate is not one, or the window is shorter than the period.
    pub fn new(by: By, rhythm: Rhythm, rates_bps: &[u64], initial: &[u64]) -> Result<Controls, Error> {
        let refuse = |problem: &str| Err(Error::Input(problem.to_owned()));
        let Rhythm { period, window, least } = rhythm;
        if window < period || period == Time::ZERO {
            return refuse("--window: expected at least the time of --every");
        }
        if by == By::Nos2 && initial.len() != 1 {
            let queues = initial.len() + 1;
            return Err(Error::Input(format!("--by nos2: {queues} queues; expected a recommendation of 2")));
        }
        let racks = Arc::new(Racks::new(vec![0; rates_bps.len()]));
        let site = |(host, bps): (u32, &u64)| {
            let rate = Rate::new(*bps)?;
            let port = SitePort { behind: Node::Switch(0), place: Place::Leaf, rate, delay: Time::ZERO };
            Some(Site {
                node: Node::Host(host),
                place: Place::Nic,
                ports: Arc::new([port]),
                port: Some(0),
                groups: Arc::new([]),
                next: Arc::new([]),
                racks: Arc::clone(&racks),
                seed: 0,
            })
        };
        let Some(hosts) = (0..).zip(rates_bps).map(site).collect::<Option<Vec<Site>>>() else {
            return refuse("--rate: expected more than 0");
        };
        let fabric = FabricSite { hosts: hosts.into(), ..FabricSite::default() };
        let of_network = |rule: &'static dyn Solver| -> Vec<Box<dyn Controller>> {
            let of = Adaptation { class: 0, period, window, least };
            let params = NetworkParams { rule, levels: initial.len() + 1, start: initial.to_vec(), of };
            vec![Box::new(params.build(&fabric, 0))]
        };
        let controllers = match by {
            By::Nos2 => of_network(&TwoLevel),
            By::Background => of_network(&Background),
            By::Awafs => {
                let shares = initial.len() as u32 + 1;
                // Tenths, as the thesis has them, or equal shares if tenths are too few.
                let percentile = |at: u32| if shares <= 10 { WHOLE / 10 * at } else { WHOLE / shares * at };
                let params = ActuatorParams {
                    initial: initial.iter().map(|bytes| u32::try_from(*bytes).unwrap_or(u32::MAX)).collect(),
                    percentiles: (1..shares).map(percentile).collect(),
                    of_sizes: false,
                    model: None,
                    period,
                    window,
                    entries: REMEMBERED,
                };
                let of_host = |host| -> Box<dyn Controller> {
                    Box::new(HostActuators { class: 0, params: params.clone() }.build(&fabric, host))
                };
                (0..rates_bps.len() as u32).map(of_host).collect()
            }
        };
        Ok(Controls { controllers, is_central: by != By::Awafs, thresholds: vec![initial.to_vec(); rates_bps.len()] })
    }

    /// Takes the messages that have ended at each device since the last call: sizes in bytes, each with its number. `now` is
    /// the time since the start. Returns each device whose thresholds have changed, with the new ones.
    pub fn observe(&mut self, now: Time, ended: &[Vec<(u64, u64)>]) -> Vec<(usize, Vec<u64>)> {
        let central = self.is_central;
        for (device, sizes) in ended.iter().enumerate() {
            let controller = &mut self.controllers[if central { 0 } else { device }];
            for &(bytes, messages) in sizes {
                let message = Message { bytes, ..Message::default() };
                let event = FlowEvent::MessageEnd { flow: 0, message, effort: None };
                let event = HostEvent { at: now, host: device as u32, class: 0, event };
                // AWAFS has a list of messages, which no more than fill. Others count them.
                let most = if central { messages } else { messages.min(REMEMBERED as u64) };
                (0..most).for_each(|_| controller.on_event(now, &event));
            }
        }
        let mut published: Vec<(Audience, Table)> = Vec::new();
        for controller in &mut self.controllers {
            // A process that was held up decides once, on all that has ended.
            if controller.next() <= now {
                controller.decide(now, &mut Nothing, &mut |to, table| published.push((to, table)));
            }
        }
        let before = self.thresholds.clone();
        for (to, table) in published {
            let thresholds: Vec<u64> = table.values.iter().map(|value| value.1).collect();
            for (device, old) in self.thresholds.iter_mut().enumerate() {
                let is_meant = match to {
                    Audience::Host { host, .. } => host as usize == device,
                    _ => true,
                };
                // Fewer thresholds than queues, or one of zero, would leave a queue empty: then all stay.
                if is_meant && thresholds.len() == old.len() && thresholds.first().is_some_and(|first| *first > 0) {
                    old.clone_from(&thresholds);
                }
            }
        }
        let changed = before.iter().zip(&self.thresholds).enumerate().filter(|(_, (old, new))| old != new);
        changed.map(|(device, (_, new))| (device, new.clone())).collect()
    }
}

/// A host tells its controllers sizes, and no more.
struct Nothing;

impl Gauges for Nothing {
    fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(Reading)) {}

    fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
        0
    }

    fn sent(&mut self, _: u32, _: u8, _: &mut dyn FnMut(u32, u64)) {}

    fn tagger(&mut self, _: u32, _: u8, _: &mut dyn FnMut(Reading)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = Time(1_000_000_000_000);

    fn seconds(count: u64) -> Time {
        Time(count * SECOND.0)
    }

    fn controls(by: By, initial: &[u64]) -> Controls {
        let rhythm = Rhythm { period: seconds(10), window: seconds(60), least: 100 };
        Controls::new(by, rhythm, &[10_000_000_000; 2], initial).unwrap()
    }

    #[test]
    fn awafs__percentiles_of_a_devices_own_messages() {
        let mut controls = controls(By::Awafs, &[20_000, 1_000_000]);
        assert_eq!(controls.observe(seconds(5), &[vec![(1_000, 10)], Vec::new()]), []);
        let ended: Vec<(u64, u64)> = (1..=90).map(|nth| (1_000 * (nth + 10), 1)).collect();
        let changed = controls.observe(seconds(10), &[ended, Vec::new()]);
        // Of 10 of 1 KB and 90 of 11 to 100 KB: the 10th and the 20th of a hundred.
        assert_eq!(changed, [(0, vec![1_000, 20_000])]);
    }

    #[test]
    fn nos2__one_threshold_for_all_devices_from_enough_messages() {
        let mut controls = controls(By::Nos2, &[20_000]);
        assert_eq!(controls.observe(seconds(10), &[vec![(2_000, 40)], vec![(2_000, 40)]]), [], "80 of 100");
        let changed = controls.observe(seconds(20), &[vec![(2_000, 40)], vec![(5_000_000, 4)]]);
        let [(0, first), (1, second)] = &changed[..] else { panic!("{changed:?}") };
        assert!(first == second && first.len() == 1 && (2_000..5_000_000).contains(&first[0]), "{changed:?}");
    }

    #[test]
    fn background__is_the_models_of_the_same_sizes() {
        let mut controls = controls(By::Background, &[20_000, 1_000_000]);
        let sizes = vec![(2_000, 500), (100_000, 200), (5_000_000, 20)];
        let changed = controls.observe(seconds(10), &[sizes, Vec::new()]);
        assert!(changed.len() == 2 && changed[0].1.is_sorted_by(|one, next| one < next), "{changed:?}");
    }

    #[test]
    fn new__refuses_what_is_no_rhythm_or_no_pair_of_queues() {
        let rhythm = |window| Rhythm { period: seconds(10), window: seconds(window), least: 1 };
        let of = |by, window, initial: &[u64]| {
            Controls::new(by, rhythm(window), &[1], initial).err().map(|it| it.to_string())
        };
        assert!(
            of(By::Nos2, 60, &[1, 2]).is_some_and(|error| error.contains("3 queues; expected a recommendation of 2"))
        );
        assert!(of(By::Awafs, 5, &[1]).is_some_and(|error| error.starts_with("--window")));
        assert!(Controls::new(By::Awafs, rhythm(60), &[0], &[1]).is_err());
    }
}
