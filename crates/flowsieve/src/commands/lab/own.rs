//! `flowsieve lab up`, `exec` and `down`: a lab that stays, for programs of one's own.
//!
//! A process holds the lab. `up` starts it, waits until the lab is there, and leaves it without a terminal; with
//! `--foreground` it is that process itself. The lab is an experiment of one run that ends when it is told to, so its result is
//! like any other.

use super::super::{default_out, show_result};
use super::{LabDown, LabExec, LabUp, in_words_of};
use crate::output::{print, tell};
use flowsieve_engines::linux::named::{self, Named};
use flowsieve_engines::linux::requests::{self, HostInfo, Info};
use flowsieve_engines::linux::{enter, new_session};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{Event, How, execute};
use flowsieve_experiment::plan::{self, Changes, Plan};
use flowsieve_results::ResultDir;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write as _};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What the process that holds a lab writes when the lab is there.
const READY: &str = "ready";
/// How often `down` looks whether the process has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// Builds a lab, and leaves it running.
pub(super) fn up(args: &LabUp, engines: &Engines) -> Result<(), Error> {
    let user = Changes { sets: args.set.clone(), ..Changes::default() };
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.file, &user, "-lab"));
    let name = match &args.name {
        Some(name) => name.clone(),
        None => args.file.file_stem().unwrap_or("lab".as_ref()).to_string_lossy().into_owned(),
    };
    if !args.foreground && args.held.is_none() {
        return start(&name);
    }
    if args.held.is_some() {
        new_session().map_err(|error| Error::Input(format!("cannot begin a session: {error}")))?;
    }
    let mut changes = user;
    changes.sets.extend(["engine=linux".to_owned(), "programs=own".to_owned()]);
    let plan = plan::read(&args.file, &changes, engines)?;
    check(&plan)?;
    if out.join("manifest.json").exists() && !args.replace {
        let problem = format!("{}: it holds a result", out.display());
        return Err(Error::Input(format!("{problem}; expected another folder with --out, or --replace")));
    }
    let out = std::path::absolute(&out).map_err(|error| Error::Input(format!("{}: {error}", out.display())))?;
    let claim = named::claim(&name, &out, args.held.as_deref()).map_err(in_words_of)?;
    plan.warnings.iter().for_each(|warning| tell(format!("warning: {warning}")));
    let result = hold(&plan, engines, (&claim.lab, args.replace), args.held.is_some())?;
    // The name goes before the result is shown: the lab is over.
    drop(claim);
    if args.held.is_some() { Ok(()) } else { show_result(&result, &Default::default(), false) }
}

/// Refuses a sweep: a lab is one point.
fn check(plan: &Plan) -> Result<(), Error> {
    match plan.runs.len() {
        1 => Ok(()),
        runs => {
            let problem = format!("a lab is one run, and this experiment has {runs}");
            Err(Error::Input(format!("{problem}; expected one scheme and one value, such as --set scheme=pias")))
        }
    }
}

/// Holds a lab until it is told to end, and writes its result.
fn hold(plan: &Plan, engines: &Engines, (lab, replace): (&Named, bool), is_started: bool) -> Result<ResultDir, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Error::Input(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    let said = Once::new();
    let show = |event: Event| {
        if !matches!(event, Event::Going(..)) {
            return ControlFlow::Continue(());
        }
        said.call_once(|| {
            let process = lab.process;
            if is_started {
                // Its starter may have been interrupted.
                let _ = writeln!(std::io::stdout(), "{READY}");
            } else {
                // The lab answers after this.
                let name = lab.name.clone();
                thread::spawn(move || requests::info(process).map(|info| print(&in_words(&name, &info))));
            }
        });
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    execute(plan, engines, &lab.out, How { jobs: 1, threads: None, fresh: true, replace }, &show)
}

/// Starts this command once more as the process that holds the lab, and waits until the lab is there.
fn start(name: &str) -> Result<(), Error> {
    let failed = |what: &str, error: std::io::Error| Error::Input(format!("cannot {what}: {error}"));
    let log = named::log().map_err(in_words_of)?;
    let file = File::create(&log).map_err(|error| failed("write messages", error))?;
    let program = std::env::current_exe().map_err(|error| failed("find the program", error))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--held").arg(&log);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
    let mut holder = command.spawn().map_err(|error| failed("start the lab's process", error))?;
    let mut line = String::new();
    if let Some(output) = holder.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(|error| failed("hear of the lab", error))?;
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    if line.trim() == READY {
        said.lines().for_each(tell);
        let info = requests::info(holder.id()).map_err(in_words_of)?;
        return print(&in_words(name, &info));
    }
    let _ = holder.wait();
    let _ = fs::remove_file(&log);
    Err(failure(&said))
}

/// Returns the error that another process has written.
fn failure(said: &str) -> Error {
    let (before, problem) = said.split_once("error: ").unwrap_or(("", said));
    before.lines().for_each(tell);
    Error::Input(if problem.trim().is_empty() { "the lab's process ended" } else { problem.trim() }.to_owned())
}

/// Lists a lab's hosts, and how to go on.
fn in_words(name: &str, info: &Info) -> String {
    let mut text = format!("the lab {name} runs, with {}\n", info.scheme);
    let width = info.hosts.iter().map(|host| host.name.len()).max().unwrap_or(0);
    for HostInfo { name, address, address_v6, namespace } in &info.hosts {
        let _ = writeln!(text, "  {name:width$}  {address}  {address_v6}  namespace {namespace}");
    }
    text + "`flowsieve lab exec HOST -- COMMAND` runs a program in a host; `flowsieve lab down` ends the lab\n"
}

/// Runs a program in a host, in place of this one.
pub(super) fn exec(args: &LabExec) -> Result<(), Error> {
    let lab = named::find(args.which.lab.as_deref()).map_err(in_words_of)?;
    let info = requests::info(lab.process).map_err(in_words_of)?;
    let by_number = || args.host.parse::<usize>().ok().and_then(|number| info.hosts.get(number));
    let Some(host) = info.hosts.iter().find(|host| host.name == args.host).or_else(by_number) else {
        let names = info.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Error::Input(format!("the lab {} has no host `{}`; expected one of {names}", lab.name, args.host)));
    };
    let Some((program, arguments)) = args.command.split_first() else { return Ok(()) };
    enter(&host.namespace).map_err(in_words_of)?;
    let error = Command::new(program).args(arguments).exec();
    Err(Error::Input(format!("cannot run {}: {error}", Path::new(program).display())))
}

/// Ends a lab, and shows its result.
pub(super) fn down(args: &LabDown) -> Result<(), Error> {
    let lab = named::find(args.which.lab.as_deref()).map_err(in_words_of)?;
    requests::down(lab.process).map_err(in_words_of)?;
    while lab.runs() && lab.has_its_name() {
        thread::sleep(PAUSE);
    }
    let said = lab.log.as_deref().map(fs::read_to_string).and_then(Result::ok);
    if let Some(log) = &lab.log {
        // `flowsieve lab clean` tries again.
        let _ = fs::remove_file(log);
    }
    let made = |out: &PathBuf| out.join("manifest.json").exists();
    match said {
        Some(said) if said.contains("error: ") || !made(&lab.out) => Err(failure(&said)),
        _ => show_result(&ResultDir::open(&lab.out)?, &Default::default(), args.json),
    }
}
