//! Turns the settings of a point into what is carried out: a fabric, a scheme, flows and advance knowledge of them.
//!
//! All engines that carry packets start here, the simulator and others: [`Packets::set_up`] reads and checks all that
//! does not depend on how packets are carried.

use crate::classes::{Builder, Built};
use crate::coflow_weights;
use crate::foreign;
use crate::simulator::Packets;
use crate::simulator::refusals::{
    refuse_beyond_time, refuse_huge_flows, refuse_huge_sizes, refuse_huge_sketches, refuse_own_rack,
    refuse_probes_without_a_choice, refuse_without_coflows,
};
use crate::times;
use crate::users;
use crate::workload::{Extent, Hosts, Workload};
use flowsieve_core::coflow::Announcements;
use flowsieve_core::controllers::coordinator::Announcement;
use flowsieve_core::{BalancerSpec, ControllerKind, ControllerSpec, Time};
use flowsieve_experiment::{Error, Point};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::own::Failure;
use flowsieve_schemes::parameters;
use flowsieve_settings::{Settings, SettingsError};
use flowsieve_sim::topology::{Fabric, events};
use flowsieve_sim::{Flows, Measure};
use flowsieve_workload::{Flow, Predict};
use std::cell::Cell;
use std::fs::File;
use std::sync::{Arc, LazyLock};

/// The checked content of a point.
pub struct Setup {
    /// The fabric.
    pub fabric: Fabric,
    /// The scheme, with a class for each class of flows.
    pub scheme: Scheme,
    /// The flows and their arrivals.
    pub workload: Workload,
    /// Bytes that a packet takes on the wire in addition to its length: preamble, checksum and gap.
    pub wire_overhead: u16,
    /// The predictor of flows, if a scheme uses one.
    pub predictions: Option<Arc<dyn Predict>>,
    /// The flows of all coflows, if a coordinator hears of them at once.
    pub announcements: Option<Arc<Announcements>>,
    /// Whether code of the program that the scheme calls has failed: the run must end then.
    pub failure: Failure,
}

impl Setup {
    /// Calls `carry_out` with itself, the flows of a seed, and which of them count.
    pub(crate) fn with_flows<T>(
        &self,
        seed: u64,
        carry_out: impl for<'a> FnOnce(&'a Setup, Flows<'a>, Measure) -> T,
    ) -> T {
        // An error would have been found when the workload was read.
        let flows = || -> Box<dyn Iterator<Item = Flow> + '_> {
            self.workload.flows_to_end(seed).unwrap_or_else(|_| Box::new(std::iter::empty()))
        };
        let queries = self.workload.queries(seed);
        // Queries have the first numbers: their messages among flows, and they themselves among coflows.
        let (messages, asked) = queries.as_ref().map_or((0, 0), |queries| (queries.messages(), queries.queries()));
        let after_queries = move |flow: Flow| -> Option<Flow> {
            let coflow = flow.coflow.map(|coflow| coflow.saturating_add(asked));
            Some(Flow { id: flow.id.checked_add(messages)?, coflow, ..flow })
        };
        let beside = || -> Box<dyn Iterator<Item = Flow> + '_> { Box::new(flows().map_while(after_queries)) };
        let closed = self.workload.closed_loop(seed);
        let collectives = self.workload.collectives(seed);
        let waited_for = self.workload.waited_for(seed);
        let flows = match (&queries, &closed, self.workload.extent) {
            (Some(queries), ..) => Flows::Queries { queries, beside: &beside },
            (_, _, Extent::Entries { endless: true }) => Flows::Until { flows: &flows, waited_for: &waited_for },
            (_, None, _) => Flows::Given(&flows),
            (_, Some(flows), Extent::Until(end)) => Flows::Closed { flows, until: Time(end) },
            (_, Some(flows), _) => Flows::Closed { flows, until: Time::NEVER },
        };
        let flows = collectives.as_ref().map_or(flows, Flows::Collectives);
        let measure = match self.workload.extent {
            Extent::Window(from, to) => Measure::Window { from: Time(from), to: Time(to) },
            _ => Measure::All,
        };
        carry_out(self, flows, measure)
    }
}

/// Identifies the running program by its contents.
static PROGRAM: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let file = std::env::current_exe().and_then(File::open);
    let hashed = file.and_then(|file| Ok(blake3::Hasher::new().update_reader(file)?.finalize()));
    hashed.map(|hash| hash.to_hex().to_string()).map_err(|error| error.to_string())
});

impl Packets {
    /// Reads the settings of a point with a seed.
    ///
    /// # Errors
    /// Fails if a setting does not fit, or if two settings conflict.
    pub fn set_up(&self, point: &Point, seed: u64) -> Result<Setup, Error> {
        self.set_up_with(point, seed, &|fabric| {
            Workload::read(&point.settings, &Hosts::of(fabric), &point.folder, seed)
        })
    }

    /// Reads the settings of a point without flows.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_up_idle(&self, point: &Point, seed: u64) -> Result<Setup, Error> {
        self.set_up_with(point, seed, &|_| Ok(Workload::idle(&point.settings)?))
    }

    fn set_up_with(
        &self,
        point: &Point,
        seed: u64,
        workload: &dyn Fn(&Fabric) -> Result<Workload, Error>,
    ) -> Result<Setup, Error> {
        let settings = &point.settings;
        refuse_own_rack(settings)?;
        let mut fabric = foreign::fabric(settings, point.folder.path())?;
        times::scale(settings, &fabric);
        let workload = workload(&fabric)?;
        refuse_beyond_time(settings, &workload)?;
        let has_own = Cell::new(false);
        let users = users::read(&point.schemes, settings.declared(), &|name| self.file(name))?;
        let find = |name: &str| {
            let file = users.iter().find(|scheme| scheme.name == name).cloned().or_else(|| self.file(name));
            has_own.set(has_own.get() || file.as_ref().is_some_and(|file| self.is_own(&file.root)));
            file
        };
        let (program, failure) = (self.program(), Failure::default());
        let builder =
            Builder { point, workload: &workload, seed, find: &find, fabric: &fabric, program, failure: &failure };
        let Built { mut scheme, predictions } = builder.build()?;
        if has_own.get() {
            note_program(settings)?;
        }
        times::note(settings)?;
        let scope = settings.scheme(&point.variant.name);
        refuse_without_coflows(&scope, &scheme, &workload)?;
        refuse_huge_flows(&scheme, &workload, seed)?;
        refuse_huge_sizes(settings, &scheme, &workload)?;
        coflow_weights::give(point, &scope, &mut scheme)?;
        let announcements = announcements(&scheme, &workload, seed);
        refuse_huge_sketches(&scope, &scheme, &fabric)?;
        refuse_probes_without_a_choice(&scope, &scheme, &fabric)?;
        fabric.reconvergence = reconvergence(settings, &scheme, &fabric)?;
        let wire_overhead = wire_overhead(settings, point)?;
        Ok(Setup { fabric, scheme, workload, wire_overhead, predictions, announcements, failure })
    }
}

/// Returns how long after an event of a link switches choose other ways; `None` if they find these by themselves, or if
/// there are no events.
fn reconvergence(settings: &Settings, scheme: &Scheme, fabric: &Fabric) -> Result<Option<Time>, SettingsError> {
    if fabric.events.is_empty() {
        return Ok(None);
    }
    let balancers = || fabric.switches.iter().map(|switch| scheme.balancers.at(switch.place));
    if balancers().any(|balancer| matches!(balancer, BalancerSpec::Custom(_) | BalancerSpec::Conga(_))) {
        let problem = "switches have a program, which is not told of links that fail";
        events::refuse(
            settings,
            problem,
            "load_balancing = \"ecmp\", \"spray\", \"spray-random\", \"flowlet\" or \"hula\"",
        )?;
    }
    // HULA's probes do not come over a link that is down.
    if balancers().any(|balancer| matches!(balancer, BalancerSpec::Hula(_))) {
        return Ok(None);
    }
    events::reconvergence(&settings.common()).map(Some)
}

/// Adds to the effective configuration which program runs a custom scheme: settings do not show its code.
fn note_program(settings: &Settings) -> Result<(), Error> {
    let unreadable = |error| {
        Error::Input(format!("cannot read the program's own file, which identifies results of your schemes: {error}"))
    };
    settings.note("scheme.program.digest", PROGRAM.as_ref().map_err(unreadable)?);
    Ok(())
}

/// Returns the flows of all coflows, if a coordinator of the scheme hears of them at once.
fn announcements(scheme: &Scheme, workload: &Workload, seed: u64) -> Option<Arc<Announcements>> {
    let whole = |spec: &ControllerSpec| match &spec.kind {
        ControllerKind::Coordinator(params) => params.announcement == Announcement::Whole,
        ControllerKind::Custom(_) => !spec.kind.is_at_hosts(),
        _ => false,
    };
    (workload.has_coflows() && scheme.controllers.iter().any(whole)).then(|| {
        // An error would have been found when the workload was read.
        flowsieve_sim::announcements(workload.flows(seed).into_iter().flatten())
    })
}

fn wire_overhead(settings: &Settings, point: &Point) -> Result<u16, SettingsError> {
    let scope = settings.scheme(&point.variant.name);
    parameters::wire_overhead(&scope)
}
