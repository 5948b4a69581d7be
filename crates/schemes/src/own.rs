//! Taggers and controllers of the program that runs the experiment: an experiment names them, and the program has their
//! code ([`Program`]). The Python package is such a program.
//!
//! They decide seldom: a tagger as a message begins ([`ChooseLevel`]), a controller once a period
//! ([`ChooseThresholds`]). What they return is kept and applied to packets here. They replace the tagger of a scheme whose
//! hosts demote flows by bytes sent ([`give`]).
//!
//! An answer that does not fit, or that the code could not give, ends the run ([`Failure`]).

mod controller;
mod tagger;

use std::sync::{Arc, OnceLock};

use flowsieve_core::bank::BankRules;
use flowsieve_core::controller::Hears;
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::{ControllerKind, ControllerSpec, Place, PortKind, TaggerSpec, Time};
use flowsieve_settings::units::{Size, parse_size, parse_time};
use flowsieve_settings::{Key, Scope, Section, Setting, SettingsError, declare};

use controller::OwnController;
use flowsieve_sim::scheme::Scheme;
use tagger::{Changes, OwnTagger};

use crate::adaptation::{self, CONTROLLER_DELAY, CONTROLLER_PERIOD};

declare! {
    static OWN_TAGGER: Setting<String> = Setting::text(
        Section::Scheme, "own_tagger",
        "code of the program that runs the experiment, which gives each message a priority or thresholds as it begins; \
         the Python package writes this name",
    );
    static OWN_TAGGER_KNOWS: Setting<bool> = Setting::choice(
        Section::Scheme,
        "own_tagger_knows",
        &[("nothing", false), ("sizes", true)],
        "what `own_tagger` is told of a message in addition to its hosts, class, coflow, start and deadline",
    )
    .with_default(false);
    static OWN_CONTROLLER: Setting<String> = Setting::text(
        Section::Scheme, "own_controller",
        "code of the program that runs the experiment, which gives thresholds to all hosts every `controller_period`; \
         the Python package writes this name",
    );
    static LATER_THRESHOLDS: Setting<Vec<String>> = Setting::texts(
        Section::Scheme, "later_thresholds",
        "demotion thresholds that replace `thresholds` during the run, each text a time and its sizes, such as \
         \"10ms 20KB 1MB\"",
    );
}

/// The largest threshold, in bytes: a petabyte.
pub const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// What a tagger may know of a message as it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The sending host.
    pub source: u32,
    /// The receiving host.
    pub destination: u32,
    /// The class of flow.
    pub class: u8,
    /// Bytes of the message, if the scheme says that it knows sizes.
    pub size: Option<u64>,
    /// When the message was handed to its sender.
    pub start: Time,
    /// When it should have finished.
    pub deadline: Option<Time>,
    /// Its coflow.
    pub coflow: Option<u32>,
}

/// What the packets of a message get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// The level of their offset by the thresholds in force at their host.
    InForce,
    /// One priority, 0 the highest.
    Priority(u64),
    /// The level of their offset by these thresholds, in bytes.
    Thresholds(Vec<u64>),
}

/// A tagger's code at one host.
pub trait ChooseLevel: Send {
    /// Chooses for a message that begins.
    ///
    /// # Errors
    /// Fails if there is no answer: with a sentence that says why, and ends the run.
    fn choose(&mut self, start: &Start) -> Result<Level, String>;
}

/// A controller's code in one run.
pub trait ChooseThresholds: Send {
    /// Chooses thresholds for all hosts, in bytes; `None`: they stay. `sizes`: those of the messages that have ended since
    /// the last call, in the order in which they ended.
    ///
    /// # Errors
    /// As [`ChooseLevel::choose`].
    fn choose(&mut self, sizes: &[u64], now: Time) -> Result<Option<Vec<u64>>, String>;
}

/// Builds code that has decided nothing yet: for a host, or for a run.
pub type Make<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

/// What code has cost since its program began to make runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Seconds that they took.
    pub seconds: f64,
}

/// A program that has code of its own for schemes.
pub trait Program: Send + Sync {
    /// Returns the tagger of this name.
    fn tagger(&self, name: &str) -> Option<Make<dyn ChooseLevel>>;

    /// Returns the controller of this name.
    fn controller(&self, name: &str) -> Option<Make<dyn ChooseThresholds>>;

    /// Returns the cost of each code that was called.
    fn costs(&self) -> Vec<Cost>;
}

/// Why a run must end: the first answer that was missing or wrong. Later ones are not asked for.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<OnceLock<String>>);

impl Failure {
    /// Returns the sentence that says why; `None`: all is well.
    pub fn problem(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Returns the answer; notes why there is none.
    fn note<T>(&self, answer: Result<T, String>) -> Option<T> {
        answer.map_err(|problem| _ = self.0.set(problem)).ok()
    }
}

/// Returns what a scheme has of the program's code, in words; `None`: nothing. Also says whether it is told sizes.
///
/// # Errors
/// Fails if a setting cannot be read.
pub fn in_words(scope: &Scope<'_>) -> Result<Option<(String, bool)>, SettingsError> {
    let tagger = scope.optional(&OWN_TAGGER)?.map(|name| format!("tagger {name}"));
    let controller = scope.optional(&OWN_CONTROLLER)?.map(|name| format!("controller {name}"));
    let knows = tagger.is_some() && scope.read(&OWN_TAGGER_KNOWS)?;
    let both: Vec<String> = tagger.into_iter().chain(controller).collect();
    Ok((!both.is_empty()).then(|| (both.join(" and "), knows)))
}

/// Gives a scheme the tagger and controller that its settings name.
///
/// # Errors
/// Fails if the scheme cannot have them, or if the program does not have their code.
pub fn give(
    scheme: &mut Scheme,
    scope: &Scope<'_>,
    program: Option<&dyn Program>,
    failure: &Failure,
) -> Result<(), SettingsError> {
    let keys: [&Key; 4] = [&OWN_TAGGER, &OWN_CONTROLLER, &LATER_THRESHOLDS, &OWN_TAGGER_KNOWS];
    let Some(key) = keys.into_iter().find(|key| scope.is_given(key)) else { return Ok(()) };
    let demoting = |class: &flowsieve_sim::scheme::Class| match &class.tagger {
        TaggerSpec::Demotion(Demotion { thresholds }) => Some(thresholds.clone()),
        _ => None,
    };
    let Some(first) = scheme.classes.iter().find_map(demoting) else {
        let problem = format!("`{}` has no effect on `{}`", key.name, scope.variant());
        let expected = "a scheme whose hosts demote flows by bytes sent, without `controller`, `message_gap` and \
                        `tag_batch`: base = \"pias\"";
        return Err(scope.error(key, problem).expected(expected));
    };
    // There may be no thresholds yet.
    let queues = match scheme.ports.at(Place::Leaf).kind {
        PortKind::Bank(BankRules { queues, .. }) => queues,
        _ => first.len() + 1,
    };
    let missing = |setting: &Setting<String>| {
        let expected = "the program that has this code: the experiment file alone cannot be run";
        scope.invalid(setting, expected)
    };
    let tagger = match scope.optional(&OWN_TAGGER)? {
        Some(name) => {
            let make = program.and_then(|program| program.tagger(&name)).ok_or_else(|| missing(&OWN_TAGGER))?;
            Some((name, make, scope.read(&OWN_TAGGER_KNOWS)?))
        }
        None if scope.is_given(&OWN_TAGGER_KNOWS) => {
            return Err(scope.invalid(&OWN_TAGGER_KNOWS, "`own_tagger` with it"));
        }
        None => None,
    };
    let later: Changes = later_thresholds(scope, queues)?.into();
    if let Some(name) = scope.optional(&OWN_CONTROLLER)? {
        let make = program.and_then(|program| program.controller(&name)).ok_or_else(|| missing(&OWN_CONTROLLER))?;
        if !later.is_empty() {
            return Err(
                scope.invalid(&LATER_THRESHOLDS, "none with `own_controller`, which changes the thresholds itself")
            );
        }
        let period = Time(scope.read(&CONTROLLER_PERIOD)?);
        let mut classes: Vec<u8> = (0..scheme.classes.len() as u8).collect();
        classes.retain(|class| demoting(&scheme.classes[usize::from(*class)]).is_some());
        let failure = failure.clone();
        scheme.controllers.push(ControllerSpec {
            name: "own controller",
            period: Some(period),
            hears: Hears::WhenItDecides(Time::ZERO),
            publishes_after: Time(scope.read(&CONTROLLER_DELAY)?),
            kind: ControllerKind::central(move |_| {
                OwnController::new(name.clone(), make(), period, classes.clone(), queues, failure.clone())
            }),
        });
    }
    for class in &mut scheme.classes {
        let Some(thresholds) = demoting(class) else { continue };
        let (tagger, later, failure) = (tagger.clone(), Arc::clone(&later), failure.clone());
        class.tagger = TaggerSpec::custom(move |site| {
            let own = tagger.as_ref().map(|(name, make, knows)| (name.clone(), make(), *knows));
            OwnTagger::new(site.node, (thresholds.clone(), queues), Arc::clone(&later), own, failure.clone())
        });
    }
    Ok(())
}

/// Reads the thresholds that replace the first ones, with their times, which rise.
fn later_thresholds(scope: &Scope<'_>, queues: usize) -> Result<Vec<(Time, Vec<u64>)>, SettingsError> {
    let mut later: Vec<(Time, Vec<u64>)> = Vec::new();
    for text in scope.optional(&LATER_THRESHOLDS)?.unwrap_or_default() {
        let mut words = text.split_whitespace();
        let time = words.next().and_then(|word| parse_time(word).ok()).map(Time);
        let bytes = |word| match parse_size(word) {
            Ok(Size::Bytes(bytes)) if bytes <= MOST_BYTES => Some(bytes),
            _ => None,
        };
        let Some((time, sizes)) = time.zip(words.map(bytes).collect::<Option<Vec<u64>>>()) else {
            let expected = format!("a time and sizes in bytes, such as \"10ms 20KB 1MB\", instead of {text:?}");
            return Err(scope.invalid(&LATER_THRESHOLDS, expected));
        };
        if time <= later.last().map_or(Time::ZERO, |(last, _)| *last) {
            return Err(scope.invalid(&LATER_THRESHOLDS, "times above 0 that rise"));
        }
        later.push((time, adaptation::given(scope, &LATER_THRESHOLDS, sizes, queues)?));
    }
    Ok(later)
}

/// Checks thresholds that code has returned.
fn checked(thresholds: Vec<u64>, queues: usize) -> Result<Vec<u64>, String> {
    let most = queues - 1;
    if thresholds.len() > most {
        return Err(format!("{} thresholds; expected at most {most}, for {queues} queues", thresholds.len()));
    }
    if let Some(large) = thresholds.iter().find(|&&threshold| threshold > MOST_BYTES) {
        return Err(format!("a threshold of {large} bytes; expected at most 10^15"));
    }
    if let Some(pair) = thresholds.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(format!(
            "thresholds that fall from {} to {}; expected an order that does not fall",
            pair[0], pair[1]
        ));
    }
    Ok(thresholds)
}

#[cfg(test)]
#[path = "own/tests.rs"]
mod tests;
