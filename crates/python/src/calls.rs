//! Taggers and controllers that are callables of Python: called with the interpreter's lock, on the thread of the run.
//!
//! A callable that is a class is instantiated for each host or run, so that what it remembers is of that host or run.

use flowsieve_core::Time;
use flowsieve_experiment::Error;
use flowsieve_schemes::own::{ChooseLevel, ChooseThresholds, Cost, Level, MOST_BYTES, Make, Program, Start};
use flowsieve_settings::files::for_terminal;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString, PyType};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of thresholds that is read of an answer: more than ports can have queues.
const MOST_THRESHOLDS: usize = 256;
/// Letters of an answer or exception that an error quotes.
const MOST_LETTERS: usize = 120;
const PS_PER_SECOND: f64 = 1e12;

/// Callables by the names that experiments have for them.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<BTreeMap<String, Py<PyAny>>>);

impl Calls {
    /// Adds those of a dict.
    pub(crate) fn with(&self, py: Python<'_>, more: &Bound<'_, PyDict>) -> PyResult<Calls> {
        let mut all: BTreeMap<String, Py<PyAny>> =
            self.0.iter().map(|(name, callable)| (name.clone(), callable.clone_ref(py))).collect();
        for (name, callable) in more {
            all.insert(name.extract()?, callable.unbind());
        }
        Ok(Calls(Arc::new(all)))
    }

    /// Begins to count calls.
    pub(crate) fn session(&self) -> Session {
        Session { calls: self.clone(), made: Arc::default() }
    }
}

/// What calls have cost and raised.
#[derive(Default)]
struct Made {
    costs: BTreeMap<String, (u64, Duration)>,
    /// What was raised, with the sentence that the run's error has for it.
    raised: Vec<(String, PyErr)>,
    /// Threads that are in a call, as Python numbers them.
    inside: Vec<u64>,
}

/// The callables while runs are made.
#[derive(Clone)]
pub(crate) struct Session {
    calls: Calls,
    made: Arc<Mutex<Made>>,
}

impl Session {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The exception of an error, with the callable's own exception as its cause.
    pub(crate) fn with_cause(&self, py: Python<'_>, error: &Error, exception: PyErr) -> PyErr {
        let Error::Simulation { problem, .. } = error else { return exception };
        let made = self.made();
        if let Some((_, cause)) = made.raised.iter().find(|(said, _)| said == problem) {
            exception.set_cause(py, Some(cause.clone_ref(py)));
        }
        exception
    }

    /// Raises KeyboardInterrupt in each call that a thread is in.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let inside = self.made().inside.clone();
        if inside.is_empty() {
            return Ok(());
        }
        let ctypes = py.import("ctypes")?;
        let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        for thread in inside {
            let exception = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
            raise.call1((ctypes.getattr("c_ulong")?.call1((thread,))?, exception))?;
        }
        Ok(())
    }

    fn called<T>(&self, kind: &'static str, name: &str, boxed: fn(Called) -> Box<T>) -> Option<Make<T>>
    where
        T: ?Sized + 'static,
    {
        self.calls.0.get(name)?;
        let (session, name) = (self.clone(), name.to_owned());
        Some(Arc::new(move || {
            boxed(Called { session: session.clone(), kind, name: name.clone(), callable: None, thread: 0 })
        }))
    }
}

impl Program for Session {
    fn tagger(&self, name: &str) -> Option<Make<dyn ChooseLevel>> {
        self.called("tagger", name, |called| Box::new(called))
    }

    fn controller(&self, name: &str) -> Option<Make<dyn ChooseThresholds>> {
        self.called("controller", name, |called| Box::new(called))
    }

    fn costs(&self) -> Vec<Cost> {
        let cost = |(name, (calls, took)): (&String, &(u64, Duration))| Cost {
            name: name.clone(),
            calls: *calls,
            seconds: took.as_secs_f64(),
        };
        self.made().costs.iter().map(cost).collect()
    }
}

/// What a callable is told.
enum Told<'a> {
    Start(&'a Start),
    Sizes(&'a [u64], Time),
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 / PS_PER_SECOND
}

/// A callable of a host or of a run.
struct Called {
    session: Session,
    kind: &'static str,
    name: String,
    /// The callable, or its instance if it is a class; `None` before the first call.
    callable: Option<Py<PyAny>>,
    /// The run's thread, as Python numbers it.
    thread: u64,
}

impl Called {
    /// Calls it, and reads its answer. Waiting for the interpreter's lock counts as cost.
    fn answer<T>(
        &mut self,
        told: &Told<'_>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, &'static str>,
    ) -> Result<T, String> {
        let begun = Instant::now();
        let answered = Python::try_attach(|py| {
            let answer = self.call(py, told);
            let answer = answer.map_err(|raised| {
                let said = one_line(&raised.to_string());
                let problem = format!("the {} {} raised {said}", self.kind, self.name);
                self.session.made().raised.push((problem.clone(), raised));
                problem
            })?;
            read(&answer).map_err(|expected| {
                let repr = answer.repr().map(|repr| repr.to_string()).unwrap_or_default();
                format!("the {} {} returned {}; expected {expected}", self.kind, self.name, one_line(&repr))
            })
        });
        let mut made = self.session.made();
        let (calls, took) = made.costs.entry(self.name.clone()).or_default();
        *calls += 1;
        *took += begun.elapsed();
        answered.unwrap_or_else(|| Err("the interpreter ends".to_owned()))
    }

    fn call<'py>(&mut self, py: Python<'py>, told: &Told<'_>) -> PyResult<Bound<'py, PyAny>> {
        if self.thread == 0 {
            self.thread = py.import("threading")?.call_method0("get_ident")?.extract()?;
        }
        self.session.made().inside.push(self.thread);
        let answer = self.instance(py).and_then(|callable| match told {
            Told::Start(start) => callable.call1((FlowStart::of(start),)),
            Told::Sizes(sizes, now) => callable.call1((PyList::new(py, *sizes)?, seconds(*now))),
        });
        self.session.made().inside.retain(|thread| *thread != self.thread);
        answer
    }

    fn instance<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(callable) = &self.callable {
            return Ok(callable.bind(py).clone());
        }
        // The session has it: it was asked for by name.
        let given = self.session.calls.0[&self.name].bind(py);
        let callable = if given.is_instance_of::<PyType>() { given.call0()? } else { given.clone() };
        self.callable = Some(callable.clone().unbind());
        Ok(callable)
    }
}

impl ChooseLevel for Called {
    fn choose(&mut self, start: &Start) -> Result<Level, String> {
        self.answer(&Told::Start(start), |answer| {
            const EXPECTED: &str = "a priority from 0 on, a list of thresholds in bytes, or None";
            if answer.is_none() {
                return Ok(Level::InForce);
            }
            if answer.is_instance_of::<PyBool>() {
                return Err(EXPECTED);
            }
            // Whole numbers of numpy, too.
            let is_whole = answer.hasattr("__index__").unwrap_or(false) && answer.try_iter().is_err();
            if answer.is_instance_of::<PyInt>() || is_whole {
                return answer.extract().map(Level::Priority).map_err(|_| EXPECTED);
            }
            thresholds(answer, EXPECTED).map(Level::Thresholds)
        })
    }
}

impl ChooseThresholds for Called {
    fn choose(&mut self, sizes: &[u64], now: Time) -> Result<Option<Vec<u64>>, String> {
        self.answer(&Told::Sizes(sizes, now), |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            thresholds(answer, "a list of thresholds in bytes, or None").map(Some)
        })
    }
}

/// Reads thresholds in bytes. Floats, such as percentiles, are rounded.
fn thresholds(answer: &Bound<'_, PyAny>, expected: &'static str) -> Result<Vec<u64>, &'static str> {
    let texts = answer.is_instance_of::<PyString>() || answer.is_instance_of::<PyBytes>();
    if texts || answer.is_instance_of::<PyDict>() {
        return Err(expected);
    }
    let mut found = Vec::new();
    for item in answer.try_iter().map_err(|_| expected)? {
        if found.len() == MOST_THRESHOLDS {
            return Err("no more thresholds than there are queues");
        }
        found.push(bytes(&item.map_err(|_| expected)?)?);
    }
    Ok(found)
}

fn bytes(item: &Bound<'_, PyAny>) -> Result<u64, &'static str> {
    const EXPECTED: &str = "thresholds that are numbers, 0 to 10^15 bytes";
    if item.is_instance_of::<PyBool>() {
        return Err(EXPECTED);
    }
    let number: f64 = item.extract().map_err(|_| EXPECTED)?;
    if !(0.0..=MOST_BYTES as f64).contains(&number) {
        return Err(EXPECTED);
    }
    // Whole numbers up to the limit are exact.
    Ok(number.round() as u64)
}

/// The first line, not too long, and fit for a terminal.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(MOST_LETTERS).collect();
    let cut = if cut.len() < line.len() { format!("{cut}…") } else { cut };
    for_terminal(&cut, false).into_owned()
}

/// What a tagger may know of a flow as it begins.
#[pyclass(frozen, get_all, module = "flowsieve._flowsieve")]
pub(crate) struct FlowStart {
    source: u32,
    destination: u32,
    class_: u8,
    size: Option<u64>,
    start: f64,
    deadline: Option<f64>,
    coflow: Option<u32>,
}

impl FlowStart {
    fn of(start: &Start) -> FlowStart {
        let Start { source, destination, class: class_, size, start, deadline, coflow } = *start;
        let (start, deadline) = (seconds(start), deadline.map(seconds));
        FlowStart { source, destination, class_, size, start, deadline, coflow }
    }
}

#[pymethods]
impl FlowStart {
    #[new]
    #[pyo3(signature = (source, destination, *, class_=0, size=None, start=0.0, deadline=None, coflow=None))]
    fn new(
        source: u32,
        destination: u32,
        class_: u8,
        size: Option<u64>,
        start: f64,
        deadline: Option<f64>,
        coflow: Option<u32>,
    ) -> FlowStart {
        FlowStart { source, destination, class_, size, start, deadline, coflow }
    }

    fn __repr__(&self) -> String {
        let FlowStart { source, destination, size, start, .. } = self;
        let size = size.map(|size| format!(", size={size}")).unwrap_or_default();
        format!("FlowStart(source={source}, destination={destination}{size}, start={start})")
    }
}
