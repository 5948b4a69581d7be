//! The simulator in a browser: the engine of the command as a module of WebAssembly without imports.
//!
//! The page writes an experiment's text into [`input`], calls a function, and reads its answer at [`output`]. Answers are
//! JSON, but for the rows of a trace. A module has one experiment at a time; a page that wants two has two workers.

mod watched;

use flowsieve_engines::built_in;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText, Folder};
use serde::Serialize;
use serde_json::{Value, json};
use std::cell::RefCell;

/// The most bytes of an experiment's text.
const MOST_TEXT: usize = 1 << 20;

/// What a module holds.
#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    plan: Option<Plan>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Makes room for an experiment's text of this many bytes, and returns its address; 0: more than a megabyte.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> usize {
    STATE.with_borrow_mut(|state| {
        state.input = vec![0; bytes.min(MOST_TEXT)];
        if bytes > MOST_TEXT { 0 } else { state.input.as_mut_ptr().addr() }
    })
}

/// Returns where the last answer is. Its length is what the function returned.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> usize {
    STATE.with_borrow(|state| state.output.as_ptr().addr())
}

/// Reads and plans the experiment: its points and runs, or `error`.
#[unsafe(no_mangle)]
pub extern "C" fn plan() -> usize {
    STATE.with_borrow_mut(|state| {
        state.plan = None;
        let text = String::from_utf8_lossy(&state.input).into_owned();
        let found = planned(&text).map(|plan| {
            let found = points(&plan);
            state.plan = Some(plan);
            found
        });
        answer(state, found)
    })
}

/// Makes the run of a point with a seed: the flows, or `error`.
#[unsafe(no_mangle)]
pub extern "C" fn run(point: usize, seed: u32) -> usize {
    STATE.with_borrow_mut(|state| {
        let found = with_point(state, point, |point| watched::run(point, u64::from(seed)));
        answer(state, found)
    })
}

/// Makes the same run, and traces each packet at each link: the first `rows` of them. The answer is the length of the JSON in
/// four bytes, the JSON, and the rows, of 24 bytes each.
#[unsafe(no_mangle)]
pub extern "C" fn trace(point: usize, seed: u32, rows: usize) -> usize {
    STATE.with_borrow_mut(|state| {
        let found = with_point(state, point, |point| watched::trace(point, u64::from(seed), rows));
        let (head, rows) = match found {
            Ok((head, rows)) => (head, rows),
            Err(error) => (refused(&error), Vec::new()),
        };
        let head = head.to_string();
        state.output = (head.len() as u32).to_le_bytes().to_vec();
        state.output.extend(head.as_bytes());
        state.output.extend(rows);
        state.output.len()
    })
}

fn planned(text: &str) -> Result<Plan, Error> {
    Source::new(ExperimentText::new("playground.toml", text), Folder::default()).plan(&built_in())
}

/// A point, as the page lists it.
#[derive(Serialize)]
struct Listed {
    scheme: String,
    load: Option<f64>,
    label: String,
}

fn points(plan: &Plan) -> Value {
    let listed = plan.points.iter().zip(&plan.experiment.points);
    let points: Vec<Listed> =
        listed.map(|(point, of)| Listed { scheme: of.scheme.clone(), load: of.load, label: point.label() }).collect();
    let runs: Vec<(usize, u64)> = plan.runs.iter().map(|run| (run.point, run.seed)).collect();
    json!({ "points": points, "runs": runs, "packet_hops": plan.packet_hops(), "warnings": plan.warnings })
}

fn with_point<T>(
    state: &State,
    point: usize,
    of: impl FnOnce(&flowsieve_experiment::Point) -> Result<T, Error>,
) -> Result<T, Error> {
    let points = state.plan.as_ref().map_or(&[][..], |plan| &plan.points);
    let point = points.get(point).ok_or_else(|| Error::Input(format!("no point {point}; expected a plan with it")))?;
    of(point)
}

fn answer(state: &mut State, found: Result<Value, Error>) -> usize {
    state.output = found.unwrap_or_else(|error| refused(&error)).to_string().into_bytes();
    state.output.len()
}

fn refused(error: &Error) -> Value {
    json!({ "error": error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_experiment::engine::go_on;
    use std::path::Path;

    const TEXT: &str = r#"
title = "Eight hosts"
[topology]
kind = "single-switch"
hosts = 8
[workload]
sizes = "web-search"
load = 0.6
flows = 40
[sweep]
scheme = ["dctcp", "pias", "pfabric", "qc-las", "awafs", "nos2", "homa", "sieve"]
[run]
seeds = 1
"#;

    /// Writes a text as the page does.
    fn write(text: &str) {
        assert_ne!(input(text.len()), 0);
        STATE.with_borrow_mut(|state| state.input.copy_from_slice(text.as_bytes()));
    }

    fn read(length: usize) -> Vec<u8> {
        STATE.with_borrow(|state| state.output[..length].to_vec())
    }

    fn json(length: usize) -> Value {
        serde_json::from_slice(&read(length)).unwrap()
    }

    #[test]
    fn run__every_flow_is_the_engines() {
        write(TEXT);
        let planned = json(plan());
        assert_eq!(planned["points"].as_array().unwrap().len(), 8, "{planned}");
        let own = super::planned(TEXT).unwrap();
        for (at, point) in own.points.iter().enumerate() {
            let expected = built_in().run(point, 1, &mut go_on, None).unwrap();
            let found = json(run(at, 1));
            let fcts = found["flows"].as_array().unwrap().iter().map(|flow| flow[2].as_u64());
            assert!(fcts.eq(expected.flows.iter().map(|row| row.fct_ps)), "{}", point.label());
        }
    }

    /// Its flows are in a file that is built in, and its experiment says what the small ones wait for.
    #[test]
    fn run__the_lesson_has_its_flows() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let text = std::fs::read_to_string(folder.join("three-flows.toml")).unwrap();
        write(&text.replace("three-flows.csv", "built-in:/three-flows.csv"));
        let planned = json(plan());
        let schemes: Vec<&str> =
            planned["points"].as_array().unwrap().iter().flat_map(|of| of["scheme"].as_str()).collect();
        let fct_us = |scheme: &str, flow: usize| {
            let at = schemes.iter().position(|of| *of == scheme).unwrap();
            json(run(at, 1))["flows"][flow][2].as_u64().unwrap() / 1_000_000
        };
        // 20 KB: the port's queue is full, has K bytes, or has nothing of its priority.
        assert!(fct_us("fifo", 2) > 2_000 && (150..250).contains(&fct_us("dctcp", 2)) && fct_us("pias", 2) < 60);
        // 20 MB: the other flows' 220 KB delay it, and nothing else does.
        assert!(schemes.iter().all(|scheme| (16_600..16_700).contains(&fct_us(scheme, 0))));
    }

    /// Each packet of data that leaves its host leaves the switch, too, or is dropped there.
    #[test]
    fn trace__no_packet_is_lost_on_the_page() {
        write(TEXT);
        plan();
        let all = read(trace(1, 1, 1_000_000));
        let head = u32::from_le_bytes(all[..4].try_into().unwrap()) as usize;
        let of: Value = serde_json::from_slice(&all[4..4 + head]).unwrap();
        let rows = all[4 + head..].chunks_exact(watched::ROW);
        assert_eq!(rows.len() as u64, of["rows"].as_u64().unwrap());
        let (mut up, mut down) = (0, 0);
        for row in rows {
            let link = usize::from(u16::from_le_bytes([row[16], row[17]]));
            let from_host = of["links"][link][0].as_u64().unwrap() < 8;
            let is_sent = row[20] == 0;
            match (row[21] < 2, from_host, is_sent) {
                (true, true, true) => up += 1,
                (true, false, _) => down += 1,
                _ => {}
            }
        }
        assert!(up > 1_000 && up == down, "{up} up, {down} down");
    }

    #[test]
    fn plan__what_is_no_experiment_is_a_sentence() {
        for (text, says) in [
            ("", "expected"),
            ("title = 5", "title"),
            ("[topology]\nkind = \"ring\"\n", "ring"),
            (
                "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\nlist = \"none.csv\"\n[sweep]\nscheme = \"pias\"\n",
                "none.csv",
            ),
        ] {
            write(text);
            let found = json(plan());
            assert!(found["error"].as_str().is_some_and(|error| error.contains(says)), "{text}: {found}");
        }
        assert!(json(run(0, 1))["error"].as_str().unwrap().contains("no point 0"));
        assert_eq!(input(MOST_TEXT + 1), 0);
    }
}
