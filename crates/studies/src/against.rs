//! Replays runs of other simulators: the same flows through the same network, and how well completion times agree.
//!
//! A run is two files of a folder: `NAME.csv` has each flow with its FCT, or `NAME.txt` is the `fct.txt` of HPCC's simulator
//! or a fork; `NAME.toml` states the network as an experiment. `crosscheck/README.md` describes them.

use flowsieve_experiment::engine::{Engines, go_on};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText, FileError};
use flowsieve_results::SizeClass;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Limits of the files, in bytes.
const MOST_FLOWS_BYTES: u64 = 256 << 20;
const MOST_EXPERIMENT_BYTES: u64 = 1 << 20;

/// The columns of `NAME.csv`. Others are ignored.
#[derive(Clone, Debug, Deserialize)]
struct Flow {
    bytes: u64,
    src: u32,
    dst: u32,
    start_us: f64,
    fct_us: f64,
}

/// The lines of `NAME.txt`.
const FCT: &str = "the fct.txt of HPCC or its forks: sip dip sport dport size start fct ideal, addresses in 8 hexadecimal digits, times in ns";

/// Reads a line of an `fct.txt`. The address of node n is 0b.00.00.01 + 256 n.
fn of_fct(line: &str) -> Result<Flow, String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [src, dst, _, _, bytes, start, fct, _] = words[..] else {
        return Err(format!("this line has {} fields", words.len()));
    };
    let node = |text: &str| {
        let address = u32::from_str_radix(text, 16).ok().filter(|at| at >> 24 == 0x0b && at & 0xff == 1);
        address.map(|at| at >> 8 & 0xffff).ok_or_else(|| format!("`{text}` is no address of a node"))
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no whole number"));
    let us = |text: &str| number(text).map(|ns| ns as f64 / 1e3);
    Ok(Flow { bytes: number(bytes)?, src: node(src)?, dst: node(dst)?, start_us: us(start)?, fct_us: us(fct)? })
}

/// A run of another simulator.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The name of its files.
    pub name: String,
    flows: PathBuf,
    experiment: PathBuf,
}

/// The agreement of a replay with the run.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The name of the run.
    pub name: String,
    /// The scheme of its experiment.
    pub scheme: String,
    /// By size class, "all" last. Classes without flows are left out.
    pub classes: Vec<ClassAgreement>,
    /// The correlation of the logarithms of both FCTs; `None` if either has no variance.
    pub correlation: Option<f64>,
}

/// The agreement over the flows of a size class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAgreement {
    /// The name of the class.
    pub class: String,
    /// Its number of flows.
    pub flows: usize,
    /// The mean FCT of the run, in us.
    pub theirs_us: f64,
    /// The mean FCT of the replay, in us.
    pub here_us: f64,
    /// The geometric mean of the ratios, replay over run, flow by flow.
    pub typical: f64,
}

/// Lists the runs in a folder, by name.
///
/// # Errors
/// Fails if the folder cannot be read, has no run, or has flows without an experiment.
pub fn recorded(folder: &Path) -> Result<Vec<Recorded>, Error> {
    let unreadable =
        |error: &std::io::Error| FileError::unreadable(folder, error, "a folder with NAME.csv and NAME.toml");
    let entries = fs::read_dir(folder).map_err(|error| unreadable(&error))?;
    let mut runs = Vec::new();
    for entry in entries {
        let flows = entry.map_err(|error| unreadable(&error))?.path();
        let is = |extension: &str| flows.extension().is_some_and(|of| of == extension);
        let experiment = flows.with_extension("toml");
        // A text without an experiment may be anything.
        if !(is("csv") || is("txt") && experiment.is_file()) {
            continue;
        }
        if !experiment.is_file() {
            let expected = format!("{} next to it", experiment.display());
            return Err(FileError::new("file", &flows, "has no experiment").expected(expected).into());
        }
        let name = flows.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        runs.push(Recorded { name, flows, experiment });
    }
    if runs.is_empty() {
        return Err(FileError::new("file", folder, "has no run").expected("NAME.csv and NAME.toml").into());
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(runs)
}

impl Recorded {
    /// Sends the flows through the network of the experiment and compares their FCTs.
    ///
    /// # Errors
    /// Fails if a file is wrong, the experiment has several points, or a flow does not finish.
    pub fn replay(&self, engines: &Engines) -> Result<Agreement, Error> {
        let flows = self.read_flows()?;
        let folder = tempfile::tempdir().map_err(Error::Output)?;
        let plan = self.plan(&flows, folder.path(), engines)?;
        let [point] = &plan.points[..] else {
            let problem = format!("has {} points", plan.points.len());
            return Err(FileError::new("value", &self.experiment, problem).expected("one scheme and no sweep").into());
        };
        let mut rows = engines.run(point, 1, &mut go_on, None)?.flows;
        rows.sort_by_key(|row| row.flow);
        let wrong = |problem: String| Error::Simulation { point: self.name.clone(), problem };
        let mut pairs = Vec::with_capacity(flows.len());
        for (flow, row) in flows.iter().zip(&rows) {
            if (flow.bytes, flow.src, flow.dst) != (row.bytes, row.src, row.dst) {
                return Err(wrong(format!("flow {} is another one than that of the run", row.flow)));
            }
            let fct_ps = row.fct_ps.ok_or_else(|| wrong(format!("flow {} does not finish", row.flow)))?;
            pairs.push((flow.bytes, flow.fct_us, fct_ps as f64 / 1e6));
        }
        if pairs.len() != flows.len() {
            return Err(wrong(format!("{} of {} flows were sent", pairs.len(), flows.len())));
        }
        let classes = plan.experiment.classes.as_slice().iter().filter_map(|class| agreement(class, &pairs)).collect();
        let scheme = plan.experiment.points[0].scheme.clone();
        Ok(Agreement { name: self.name.clone(), scheme, classes, correlation: correlation(&pairs) })
    }

    /// Reads the flows, by start.
    fn read_flows(&self) -> Result<Vec<Flow>, Error> {
        let expected = "columns bytes, src, dst, start_us and fct_us, each a number";
        let text = flowsieve_settings::files::read_text(&self.flows, MOST_FLOWS_BYTES)
            .map_err(|error| FileError::unreadable(&self.flows, &error, expected))?;
        let mut flows = Vec::new();
        let is_fct = self.flows.extension().is_some_and(|extension| extension == "txt");
        let expected = if is_fct { FCT } else { expected };
        let rows: Vec<(u64, Result<Flow, String>)> = if is_fct {
            (1..)
                .zip(text.lines())
                .filter(|(_, line)| !line.trim().is_empty())
                .map(|(at, line)| (at, of_fct(line)))
                .collect()
        } else {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            (2..).zip(reader.deserialize::<Flow>().map(|row| row.map_err(|error| error.to_string()))).collect()
        };
        for (line, row) in rows {
            let wrong = |problem: String| FileError::new("row", &self.flows, problem).at(line).expected(expected);
            let flow = row.map_err(&wrong)?;
            let (start, fct) = (flow.start_us, flow.fct_us);
            if !(start >= 0.0 && start.is_finite() && fct > 0.0 && fct.is_finite()) {
                return Err(wrong(format!("a flow that starts at {start} µs and takes {fct} µs")).into());
            }
            flows.push(flow);
        }
        if flows.is_empty() {
            return Err(FileError::new("row", &self.flows, "has no flow").expected(expected).into());
        }
        flows.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
        Ok(flows)
    }

    /// Plans the experiment with these flows, which are written to a folder.
    fn plan(&self, flows: &[Flow], folder: &Path, engines: &Engines) -> Result<Plan, Error> {
        let mut list = String::from("start_s,src,dst,bytes\n");
        for flow in flows {
            // Starts are kept to the picosecond.
            let _ = writeln!(list, "{:.6}e-6,{},{},{}", flow.start_us, flow.src, flow.dst, flow.bytes);
        }
        let path = folder.join("flows.csv");
        fs::write(&path, list).map_err(Error::Output)?;
        let text = flowsieve_settings::files::read_text(&self.experiment, MOST_EXPERIMENT_BYTES)
            .map_err(|error| FileError::unreadable(&self.experiment, &error, "an experiment"))?;
        let changes = Changes { sets: vec![format!("list={}", path.display())], ..Changes::default() };
        let input = ExperimentText::new(&self.experiment.display().to_string(), &text);
        plan(&input, flowsieve_settings::files::folder_of(&self.experiment), &changes, engines)
    }
}

/// The agreement of the flows of a class: (bytes, theirs, here), FCTs in us.
fn agreement(class: &SizeClass, pairs: &[(u64, f64, f64)]) -> Option<ClassAgreement> {
    let inside: Vec<_> = pairs.iter().filter(|pair| class.holds(pair.0)).collect();
    let flows = inside.len();
    let mean = |of: &dyn Fn(&(u64, f64, f64)) -> f64| inside.iter().map(|pair| of(pair)).sum::<f64>() / flows as f64;
    (flows > 0).then(|| ClassAgreement {
        class: class.name.clone(),
        flows,
        theirs_us: mean(&|pair| pair.1),
        here_us: mean(&|pair| pair.2),
        typical: libm::exp(mean(&|pair| libm::log(pair.2 / pair.1))),
    })
}

/// Pearson's correlation of the logarithms.
fn correlation(pairs: &[(u64, f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = pairs.iter().map(|pair| (libm::log(pair.1), libm::log(pair.2))).collect();
    let count = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |sum, log| (sum.0 + log.0 / count, sum.1 + log.1 / count));
    let about = |of: &dyn Fn(f64, f64) -> f64| logs.iter().map(|log| of(log.0 - x, log.1 - y)).sum::<f64>();
    let (xx, yy, xy) = (about(&|a, _| a * a), about(&|_, b| b * b), about(&|a, b| a * b));
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

/// Formats the agreements, a table for each run.
pub fn table(agreements: &[Agreement]) -> String {
    let mut text = String::new();
    for Agreement { name, scheme, classes, correlation } in agreements {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{name}: {scheme}");
        text.push_str("flows of         flows  mean FCT there  mean FCT here  difference  typical ratio\n");
        for class in classes {
            let difference = format!("{:+.2} %", 100.0 * (class.here_us / class.theirs_us - 1.0)).replace('-', "−");
            let _ = writeln!(
                text,
                "{:<12} {:>9}  {:>11.1} µs {:>11.1} µs  {difference:>10}  {:>13.4}",
                class.class, class.flows, class.theirs_us, class.here_us, class.typical
            );
        }
        if let Some(correlation) = correlation {
            let _ = writeln!(text, "correlation of the logarithms of FCT: {correlation:.5}");
        }
    }
    text
}
