//! Schemes for one class of flow each, over one fabric with one set of ports (QCLIMB, NSDI 2024 §5.2.2: flows that use
//! it together with flows that use PIAS).
//!
//! The outer scheme, which names the others, defines ports and load balancing. Each inner scheme defines what hosts do
//! with its class: transport, tagger, and predictor.

use std::sync::Arc;

use flowsieve_schemes::own::{self, Failure, Program};
use flowsieve_schemes::{Context, Follows, Scheme, SchemeFile, WorkloadFacts, registry};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Place, Scope, Section, Setting, SettingsError, Table};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::{Flow, Predict, Prediction};

use crate::predictions;
use crate::workload::Workload;
use flowsieve_experiment::Error;
use flowsieve_experiment::{BASE, Point};

declare! {
    /// The schemes of the classes.
    pub static CLASSES: Setting<Vec<String>> = Setting::texts(
        Section::Scheme, "classes",
        "scheme of each class of flow, from class 0; ports and load balancing are those of the scheme with this setting",
    );
}

/// A scheme, and its predictor.
pub(crate) struct Built {
    pub(crate) scheme: Scheme,
    pub(crate) predictions: Option<Arc<dyn Predict>>,
}

/// Builds the schemes of a point.
pub(crate) struct Builder<'a> {
    pub(crate) point: &'a Point,
    pub(crate) workload: &'a Workload,
    pub(crate) seed: u64,
    pub(crate) fabric: &'a Fabric,
    /// Finds the built-in scheme of a name.
    pub(crate) find: &'a dyn Fn(&str) -> Option<SchemeFile>,
    /// The program that has code for taggers and controllers, if there is one.
    pub(crate) program: Option<&'a dyn Program>,
    /// Where that code notes that the run must end.
    pub(crate) failure: &'a Failure,
}

impl Builder<'_> {
    /// Builds the scheme of a point with those of its classes.
    pub(crate) fn build(&self) -> Result<Built, Error> {
        let (point, settings) = (self.point, &self.point.settings);
        let scope = settings.scheme(&point.variant.name);
        let file = self.file(&scope, &point.variant.base)?;
        let scope = file.scope(scope);
        let Some(names) = scope.optional(&CLASSES)? else {
            return Ok(Built {
                predictions: predictions::read(&scope, file.knows, self.workload, (self.seed, &point.folder))?,
                scheme: self.scheme(&file, scope)?,
            });
        };
        if names.is_empty() {
            return Err(scope.invalid(&CLASSES, "a scheme for class 0 at least").into());
        }
        let listed = self.workload.highest_class();
        if let Some((_, wrong)) = listed.filter(|(class, _)| usize::from(*class) >= names.len()) {
            let expected = format!("0 to {}, the classes of `{}`", names.len() - 1, scope.variant());
            return Err(wrong.expecting(expected));
        }
        self.refuse_own_hosts(&scope)?;
        let mut scheme = self.scheme(&file, scope.clone())?;
        let (mut classes, mut by_class) = (Vec::new(), Vec::new());
        for (class, name) in names.iter().enumerate() {
            let of_class = settings.scheme(name).of_class(class);
            let file = self.file(&of_class, name).map_err(|mut error| {
                // Without its own table, the scheme is named by the list of classes alone.
                if !of_class.is_given(&BASE) {
                    error.origin = scope.error(&CLASSES, "").origin;
                    error = error.of_key(CLASSES.name);
                }
                error
            })?;
            let of_class = file.scope(of_class);
            by_class.push(predictions::read(&of_class, file.knows, self.workload, (self.seed, &point.folder))?);
            let other = self.scheme(&file, of_class)?;
            refuse_unlike(&scope, &scheme, name, &other)?;
            classes.extend(other.classes.into_iter().take(1));
        }
        scheme.classes = classes;
        let predicts = by_class.iter().any(Option::is_some);
        Ok(Built { scheme, predictions: predicts.then(|| Arc::new(ByClass(by_class)) as Arc<dyn Predict>) })
    }

    /// Refuses settings of hosts in the table of a scheme with classes: the classes' tables have them.
    fn refuse_own_hosts(&self, scope: &Scope<'_>) -> Result<(), SettingsError> {
        let of_hosts = |key: &&&Key| matches!(key.section, Section::Transport | Section::Scheme);
        let own = Table::Scheme(scope.variant().to_owned());
        let keys = flowsieve_schemes::SETTINGS.iter().chain([&predictions::SETTINGS]).copied().flatten();
        match keys.filter(of_hosts).find(|key| self.point.settings.given(&(own.clone(), key.name)).is_some()) {
            None => Ok(()),
            Some(key) => {
                let problem = format!("`{}` has no effect with `classes`", key.name);
                Err(scope.error(key, problem).expected("this key in the table of a class's scheme"))
            }
        }
    }

    fn file(&self, scope: &Scope<'_>, default: &str) -> Result<SchemeFile, SettingsError> {
        let base = scope.read_or(&BASE, default.to_owned())?;
        let found = (self.find)(&base);
        if let Some(file) = found.as_ref().filter(|file| file.root != base) {
            // What a user's file says stands in the configuration by itself.
            scope.note_instead(&BASE, &file.root);
        }
        found.ok_or_else(|| {
            let problem = format!("there is no scheme `{base}`");
            let error = scope.error(&BASE, problem).expected("a built-in scheme, or one with a `base` in its table");
            error.names(base, registry::names())
        })
    }

    fn scheme(&self, file: &SchemeFile, scope: Scope<'_>) -> Result<Scheme, SettingsError> {
        let context = Context { scope, workload: &Carried { workload: self.workload, fabric: self.fabric } };
        let mut scheme = file.scheme(&context)?;
        own::give(&mut scheme, &context.scope, self.program, self.failure)?;
        Ok(scheme)
    }
}

/// A workload and its fabric.
struct Carried<'a> {
    workload: &'a Workload,
    fabric: &'a Fabric,
}

impl WorkloadFacts for Carried<'_> {
    fn distribution(&self) -> Option<&str> {
        self.workload.distribution()
    }

    fn load(&self) -> Option<f64> {
        self.workload.load()
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        self.workload.quantile_bytes(p)
    }

    fn follows(&self) -> Follows {
        self.workload.follows()
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(self.fabric)
    }
}

/// Predictors by class of flow; a flow of a higher class uses the last one.
struct ByClass(Vec<Option<Arc<dyn Predict>>>);

impl Predict for ByClass {
    fn predict(&self, flow: &Flow) -> Prediction {
        let class = usize::from(flow.class).min(self.0.len().saturating_sub(1));
        self.0.get(class).and_then(Option::as_ref).map_or_else(Prediction::default, |of_class| of_class.predict(flow))
    }
}

/// Refuses a scheme of a class that cannot use the ports of the one that names it.
fn refuse_unlike(scope: &Scope<'_>, scheme: &Scheme, name: &str, other: &Scheme) -> Result<(), SettingsError> {
    let refuse = |what: &str, expected: &str| {
        let problem = format!("`{name}` cannot be a class of `{}`: {what}", scope.variant());
        Err(scope.error(&CLASSES, problem).expected(expected))
    };
    let kinds = |of: &Scheme| Place::ALL.map(|place| format!("{:?}", of.ports.at(place).kind));
    if kinds(scheme) != kinds(other) {
        return refuse("their ports differ in discipline, queues or thresholds", "schemes with the same ports");
    }
    if format!("{:?}", scheme.balancers) != format!("{:?}", other.balancers) {
        return refuse("they balance load differently", "one `load_balancing` for both, such as \"ecmp\" in [network]");
    }
    if scheme.nic != other.nic || scheme.header() != other.header() {
        return refuse("their hosts' ports or their headers differ", "one `nic`, `nic_backlog` and `header` for both");
    }
    let set = |of: &Scheme| of.classes.first().is_some_and(|class| class.transport.facts().sets_priorities);
    if set(scheme) != set(other) {
        let problem = "one chooses the priorities of packets by its transport, so the same queue has two meanings";
        return refuse(problem, "classes and an outer scheme that are all Homa's, or none of them");
    }
    if !scheme.controllers.is_empty() || !other.controllers.is_empty() {
        return refuse("a controller adapts its thresholds", "thresholds that are given or computed once");
    }
    Ok(())
}
