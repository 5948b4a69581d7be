//! Screening: a sample of receivers (`screen`).
//!
//! Most of what a flow meets under all-to-all traffic is at its receiver's port. So the flows to every k-th host alone,
//! under the real schemes, rank the points of a sweep at about a k-th of the cost. Each seed has other receivers. What
//! needs the other hosts' flows is refused: bursts to one host, closed loops, uneven pairs, and fabrics whose links
//! between switches are more loaded than those of hosts.

use super::{ARRIVALS, Drawn, Hosts};
use crate::workload::pattern::PATTERN;
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError, declare};
use flowsieve_workload::{Flow, Pattern};

declare! {
    /// Which receivers are in the sample.
    pub static SCREEN: Setting<u64> = Setting::count(
        Section::Workload, "screen", 2, 65_535,
        "screening: keep only the flows to every so-manieth host, from another first host in each seed, to rank the \
         points of a sweep at a fraction of the cost",
    );
}

/// A sample of receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    /// Every so-manieth host.
    every: u32,
}

impl Screen {
    /// Reads it for drawn traffic.
    pub(super) fn read(scope: &Scope<'_>, drawn: &Drawn, hosts: &Hosts) -> Result<Option<Screen>, SettingsError> {
        let Some(every) = scope.optional(&SCREEN)? else { return Ok(None) };
        let refuse = |key: &Key, problem: &str, expected: &str| Err(scope.error(key, problem).expected(expected));
        if scope.workload().is_some() {
            return refuse(&SCREEN, "`screen` among several workloads", "one [workload]");
        }
        if drawn.closed.is_some() {
            return refuse(&ARRIVALS, "a closed loop waits for flows that `screen` leaves out", "other arrivals");
        }
        if !matches!(drawn.traffic.pattern, Pattern::AllToAll) {
            let problem = "`screen` does not rank this pattern: a sample of receivers misses what its flows meet";
            return refuse(&PATTERN, problem, "pattern = \"all-to-all\", or no `screen`");
        }
        if drawn.traffic.from_start.mix.is_some() {
            return refuse(&SCREEN, "`screen` with `mix_sizes`, which make receivers unlike", "one of the two");
        }
        if let Some(class) = &hosts.narrower {
            let problem = format!(
                "`screen` does not rank this fabric: its {class} links are more loaded than the hosts' links, and a sample \
                 of receivers does not load them"
            );
            return refuse(&SCREEN, &problem, "a fabric whose hosts' links are the most loaded, or no `screen`");
        }
        let count = hosts.racks.len();
        match u32::try_from(every) {
            Ok(every) if every as usize <= count => Ok(Some(Screen { every })),
            _ => refuse(&SCREEN, &format!("one host in {every} of {count}"), &format!("2 to {count}")),
        }
    }

    /// Refuses it for flows that are not drawn.
    pub(super) fn refuse(scope: &Scope<'_>, beside: &str) -> Result<(), SettingsError> {
        if !scope.is_given(&SCREEN) {
            return Ok(());
        }
        let problem = format!("`screen` with {beside}: a sample of receivers is not known to rank it");
        Err(scope.error(&SCREEN, problem).expected("flows drawn by `load` between all hosts"))
    }

    /// Returns the share of the flows that it keeps.
    pub(super) fn share(self) -> f64 {
        1.0 / f64::from(self.every)
    }

    /// Keeps the flows of the sample, with numbers of their own.
    pub(super) fn of<'a>(
        self,
        flows: impl Iterator<Item = Flow> + Send + 'a,
        seed: u64,
    ) -> Box<dyn Iterator<Item = Flow> + Send + 'a> {
        let first = (seed % u64::from(self.every)) as u32;
        let to_sample = flows.filter(move |flow| flow.dst % self.every == first);
        Box::new(to_sample.zip(0..).map(|(flow, id)| Flow { id, ..flow }))
    }

    /// Says what was left out.
    pub(super) fn sentence(self) -> String {
        let every = self.every;
        format!("screened: only the flows to one host in {every} are sent, so figures rank points and are not a result")
    }
}
