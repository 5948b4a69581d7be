//! `flowsieve tune`: what would help a fabric's traffic, by simulation, or at once by a queueing model (`--model`). `thresholds`
//! is its name with the model ([`as_tune`]).

mod model;

use clap::{Args, ValueHint};
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::execute::{How, Show, execute_sharing};
use flowsieve_experiment::plan::Plan;
use flowsieve_report::Layout;
use flowsieve_results::ResultDir;
use flowsieve_studies::configuration::{Given, Ports, Written};
use flowsieve_studies::configure::{Kept, Lossless, Others};
use flowsieve_studies::thresholds as studies;
use flowsieve_studies::tune::{self, Effort, Request, Tuned, Unmarked, Work};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use model::{Computed, Place, computed};

use crate::interruption;
use crate::options::Jobs;
use crate::output::{print, print_json, tell};
use crate::papers::{self, TABLES};
use crate::progress::shown;
use crate::values::{Budget, Marking, Method, Rate, Span, Time, kept, lossless, ports};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve tune quickstart --sizes flows.csv --column bytes --load 0.6
      what would help these flows in this fabric, into the folder recommendation
  flowsieve tune quickstart --workload web-search --load 0.6 --ports Ethernet0=10Gbps
      with configuration of switches and hosts, for SONiC, EOS, NX-OS, tc and nftables
  flowsieve tune quickstart --workload web-search --load 0.6 --seeds 5
      the same answer every time, however long it takes
  flowsieve tune --model --workload web-search --load 0.8 --rate 25Gbps,100Gbps --rtt 40us
      at once, by a model: thresholds, how many queues help, the ECN threshold of each speed, and DSCPs
  flowsieve tune quickstart --model --check --workload web-search --load 0.6 --marking port
      with a short simulation of them in this fabric, with marks by the length of a port
  flowsieve tune --model --cdf sizes.csv --queues 4 --ports Ethernet0=10Gbps --out settings
      and configuration for them
  flowsieve tune --model --workload web-search --load 0.8 --queues 8 --method pias
  flowsieve tune --model --workload data-mining --load 0.5,0.6,0.7,0.8,0.9 --method background
  flowsieve tune --model --workload web-search --load 0.8 --method simulate --evaluations 200

A simulation that is stopped or has used its budget continues if you repeat the command.
`flowsieve thresholds` is `flowsieve tune --model --check`, by its earlier name.")]
pub(crate) struct Tune {
    /// The fabric: an experiment, or a file with a [topology] alone [default with --model: one switch, of --rate and --rtt]
    #[arg(value_name = "FABRIC", value_hint = ValueHint::FilePath, required_unless_present = "model")]
    fabric: Option<PathBuf>,
    #[command(flatten)]
    of: Distribution,
    /// Answer at once: the best thresholds by a model, without a search in the simulator
    #[arg(long, conflicts_with = "SearchOptions")]
    model: bool,
    /// With --model: compare its thresholds with one queue in a short simulation
    #[arg(long, requires = "model")]
    check: bool,
    #[command(flatten)]
    ask: AskOptions,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    by: ByOptions,
    #[command(flatten)]
    ports: PortsOptions,
    /// Where the recommendation goes; with --model the configuration of --ports [default: recommendation]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The flow sizes.
#[derive(Debug, Clone, Args)]
pub struct Distribution {
    /// A built-in distribution (see `flowsieve list workloads`) [default in a search: the sizes of the fabric's file]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cdf", "sizes"])]
    pub workload: Option<String>,
    /// A file of a distribution: rows of size_bytes,cdf
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cdf: Option<String>,
    /// Measured sizes: a CSV file with that of a flow in each row, or an export (nfdump, Zeek, tshark, Prometheus, ss, tcplife)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "cdf")]
    pub sizes: Option<PathBuf>,
    /// The column of these sizes, by its name in the first row [default: the first column]
    #[arg(long, value_name = "NAME", requires = "sizes")]
    pub column: Option<String>,
    /// One in N packets was counted (sFlow, sampled NetFlow): sizes are corrected; 1: all were, though sizes look sampled
    #[arg(long, value_name = "N", requires = "sizes", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sampled: Option<u32>,
}

impl Tune {
    fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from("recommendation"))
    }
}

impl Distribution {
    fn column(&self) -> Option<studies::Column> {
        let (name, sampled) = (self.column.clone(), self.sampled);
        self.sizes.clone().map(|path| studies::Column { path, name, sampled })
    }

    /// Says what was read of measured sizes, and what was left out.
    fn say(&self) -> Result<(), Error> {
        let notes = self.column().map(|column| column.notes()).transpose()?;
        notes.into_iter().flatten().for_each(|note| tell(format!("note: {note}")));
        Ok(())
    }

    fn wanted(&self, loads: Vec<f64>, queues: Option<u64>, method: studies::Method) -> studies::Wanted {
        let sizes = self.column();
        studies::Wanted { workload: self.workload.clone(), cdf: self.cdf.clone(), sizes, loads, queues, method }
    }
}

/// What both the search and the model are asked.
#[derive(Debug, Clone, Args)]
pub struct AskOptions {
    /// Load of the host links; by the model several make a table [default: the file's; by the model 0.8]
    #[arg(long, value_name = "LOAD", value_delimiter = ',')]
    pub load: Vec<f64>,
    /// Take the load of the busiest minute from the counter of an interface: rows `seconds,octets` or, under a heading
    /// `time,bytes_per_second`, rates
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "load", requires = "load_rate")]
    pub load_from: Option<PathBuf>,
    /// The rate of that interface
    #[arg(long, value_name = "RATE", requires = "load_from")]
    pub load_rate: Option<Rate>,
    /// Numbers of queues to try; by the model their number [default: 2..8; by the model 8, and 2 for --method two-level]
    #[arg(long, value_name = "FEWEST..MOST")]
    pub queues: Option<Span>,
    /// What ports compare with their marking threshold: a queue's length, as commodity switches do, a port's, or both
    /// [default: queue,port; with --ports or by the model queue]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub marking: Vec<Marking>,
    /// Flows of a run, at least 100 in the search [default: as many as take some seconds; 2000 with --method simulate]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub flows: Option<u32>,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

impl AskOptions {
    /// Returns the loads that are given, or that of an interface's counter.
    fn loads(&self) -> Result<Vec<f64>, Error> {
        let (Some(path), Some(rate)) = (&self.load_from, self.load_rate) else { return Ok(self.load.clone()) };
        let (load, notes) = studies::counted_load(path, rate.bps)?;
        notes.into_iter().for_each(|note| tell(format!("note: {note}")));
        Ok(vec![load])
    }
}

/// How the simulator is searched.
#[derive(Debug, Clone, Args)]
pub struct SearchOptions {
    /// Also try what needs programmable switches: QCluster
    #[arg(long)]
    pub programmable: bool,
    /// Also try switches that put the first packets of a connection into a higher queue by themselves, as Cisco's Dynamic Packet
    /// Prioritization does
    #[arg(long)]
    pub counting: bool,
    /// Hosts go on sending as the file says, and ports marking: only queues are searched for
    #[arg(long, conflicts_with = "programmable")]
    pub hosts_stay: bool,
    /// The queue of hosts that do not tag, on the way to all: top, lowest, or its number, 0 being served first
    #[arg(long, value_name = "QUEUE", default_value = "top", value_parser = unmarked)]
    pub unmarked: Unmarked,
    /// Say so if the longest flows of hosts that tag may lose more than this share, such as 0.2
    #[arg(long, value_name = "SHARE")]
    pub at_most: Option<f64>,
    /// Seeds of each candidate that is run whole, and as many others for the chosen one; instead of a budget, for the
    /// same answer every time
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    pub seeds: Option<u64>,
    /// Time for the whole search [default: 10m, or twice what the least answer takes if that is more]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Budget>,
}

/// Reads a queue.
fn unmarked(text: &str) -> Result<Unmarked, String> {
    match (text, text.parse::<usize>()) {
        ("top", _) => Ok(Unmarked::Top),
        ("lowest", _) => Ok(Unmarked::Lowest),
        (_, Ok(queue)) if queue < 64 => Ok(Unmarked::Queue(queue)),
        _ => Err("expected top, lowest, or the number of a queue".to_owned()),
    }
}

/// By which model, and for which links.
#[derive(Debug, Clone, Args)]
pub struct ByOptions {
    /// How the model's thresholds are chosen [default: all methods next to each other, with a recommendation]
    #[arg(long, value_enum)]
    pub method: Option<Method>,
    /// Rate of the host links, then further rates that need an ECN threshold [default: 10Gbps]
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    pub rate: Vec<Rate>,
    /// Round trip without queues, for ECN thresholds and simulation [default: 80us]
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Time>,
    /// With --method simulate: most sets of thresholds to run, not counting the final runs with other flows [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub evaluations: Option<u32>,
}

/// For which ports configuration is written.
#[derive(Debug, Clone, Default, Args)]
pub struct PortsOptions {
    /// Write configuration for these ports, once for each system: names with speeds, or a file that the system writes:
    /// config_db.json, `show interfaces status`, or `ip -j link` as FILE=RATE
    #[arg(long, value_name = "NAME=RATE,...|FILE", value_parser = ports)]
    pub ports: Vec<Given>,
    /// Queues of a port that may be used, by the switch's numbers [default: 0 to 7; for SONiC 0 to 6 without the lossless 3
    /// and 4]
    #[arg(long, value_name = "QUEUE", value_delimiter = ',', requires = "ports")]
    pub queues_of_port: Vec<u8>,
    /// Keep these DSCPs in this queue, above the data: lossless traffic such as 24,26=3, or UDP and tunnels by their outer
    /// DSCP [default: 46,48,56 in the highest that is free, and on SONiC 3 in 3 and 4 in 4]
    #[arg(long, value_name = "DSCP,...=QUEUE", requires = "ports", value_parser = kept)]
    pub keep: Vec<Kept>,
    /// SONiC's lossless queues 3 and 4: above the data, behind it where its queues are higher, or none, as PFC is off
    #[arg(long, value_name = "above|behind|none", default_value = "above", requires = "ports", value_parser = lossless)]
    pub lossless: Lossless,
    /// Leave SONiC's wred_*_enable false, so that packets without ECN are not dropped at K; some chips then mark nothing
    #[arg(long, requires = "ports")]
    pub no_wred: bool,
    /// Replace what is in the folder: a recommendation for another question, or configuration
    #[arg(long)]
    pub replace: bool,
}

impl PortsOptions {
    fn ports(&self) -> Result<Option<Ports>, Error> {
        if self.ports.is_empty() {
            return Ok(None);
        }
        let queues_of_port = (!self.queues_of_port.is_empty()).then(|| self.queues_of_port.clone());
        let others = Others { kept: self.keep.clone(), lossless: self.lossless, without_wred: self.no_wred };
        Ports::read(&self.ports, queues_of_port, others).map(Some)
    }
}

/// The options of a search, as Python has them.
#[derive(Debug, Clone, Args)]
pub struct TuneOptions {
    /// What is asked.
    #[command(flatten)]
    pub ask: AskOptions,
    /// How it is searched for.
    #[command(flatten)]
    pub search: SearchOptions,
    /// What is written.
    #[command(flatten)]
    pub ports: PortsOptions,
}

/// The options of the model, as Python has them.
#[derive(Debug, Clone, Args)]
pub struct ModelOptions {
    /// What is asked.
    #[command(flatten)]
    pub ask: AskOptions,
    /// By which model.
    #[command(flatten)]
    pub by: ByOptions,
}

/// Returns the command line of `tune` that says what one of `thresholds` said, or the line itself. It had the fabric as an option,
/// a folder to write to, and simulated unless a method or `--model-only` was given.
pub(crate) fn as_tune(arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|command| command != "thresholds") {
        return arguments;
    }
    let mut line: Vec<OsString> = arguments[..1].to_vec();
    line.extend(["tune", "--model"].map(OsString::from));
    let says = |option: &str| {
        arguments.iter().any(|word| word.to_str().is_some_and(|word| word.split('=').next() == Some(option)))
    };
    if !["--model-only", "--method", "--help", "-h"].into_iter().any(says) {
        line.push("--check".into());
    }
    for word in &arguments[2..] {
        match word
            .to_str()
            .map(|text| text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value))))
        {
            Some(("--model-only", _)) => {}
            Some(("--fabric", value)) => line.extend(value.map(OsString::from)),
            Some(("--write", None)) => line.push("--out".into()),
            Some(("--write", Some(value))) => line.push(format!("--out={value}").into()),
            _ => line.push(word.clone()),
        }
    }
    let options: Vec<_> = line[1..].iter().map(|word| word.to_string_lossy()).collect();
    tell(format!("`thresholds` is now `flowsieve {}`", options.join(" ")));
    line
}

pub(crate) fn tune(args: &Tune) -> Result<(), Error> {
    if args.model {
        return model::by_model(args);
    }
    let Tune { by: ByOptions { method, rate, rtt, evaluations }, .. } = args;
    let of_model = [
        ("method", method.is_some()),
        ("rate", !rate.is_empty()),
        ("rtt", rtt.is_some()),
        ("evaluations", evaluations.is_some()),
    ];
    if let Some((name, _)) = of_model.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Error::Input(format!("--{name}: expected --model; a search is in the links of its fabric")));
    }
    let Some(fabric) = &args.fabric else { return Ok(()) };
    interruption::answer()?;
    let options = TuneOptions { ask: args.ask.clone(), search: args.search.clone(), ports: args.ports.clone() };
    let out = args.out();
    let found = tuned(fabric, &args.of, &options, &out, &mut |what, plan, work| {
        tell(what);
        shown(plan, work)
    })?;
    if args.json {
        return print_json(&found);
    }
    print(&found.text())?;
    tell_of(&out, &found.configuration);
    let report = out.join("proof").join("report.html");
    let (page, report) =
        (out.join("README.md"), if report.is_file() { format!(", {}", report.display()) } else { String::new() });
    print(&format!("\nRecommendation: {}{report}\n", page.display()))
}

/// Says which files of configuration were written, and why others were not.
fn tell_of(folder: &Path, configuration: &[Written]) {
    for file in configuration {
        let path = folder.join(&file.file);
        match &file.refused {
            None => tell(format!("Configuration: {}", path.display())),
            Some(why) => tell(format!("not written: {}: {why}", path.display())),
        }
        file.notes.iter().for_each(|note| tell(format!("note: {}: {note}", file.file)));
    }
}

/// Makes runs, and tells `Show` of their events.
pub type Making<'a> = &'a (dyn Fn(Show<'_>) -> Result<ResultDir, Error> + Sync);

/// Called for each step with its purpose, its plan, and what makes its runs; returns what this returns.
pub type Step<'a> = &'a mut dyn FnMut(&str, &Plan, Making<'_>) -> Result<ResultDir, Error>;

/// Runs on this machine.
struct Here<'a> {
    begun: Instant,
    jobs: usize,
    replace: bool,
    step: Step<'a>,
}

impl Work for Here<'_> {
    fn make(&mut self, what: &str, plan: &Plan, out: &Path, parts: &Path) -> Result<ResultDir, Error> {
        let how = How { jobs: self.jobs, threads: None, fresh: false, replace: self.replace };
        let engines = built_in();
        let result = (self.step)(what, plan, &|show| execute_sharing(plan, &engines, out, parts, how, show))?;
        let layout = Layout::new(&result.manifest().experiment, None)?;
        papers::write(&result, &layout).map_err(Error::Unreported)?;
        Ok(result)
    }

    fn spent(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// Finds by simulation what would help, as the options say. `step` makes the runs of a step, and shows their events.
///
/// # Errors
/// Fails if the options contradict one another, the sizes or the fabric cannot be read, or a run fails.
pub fn tuned(
    fabric: &Path,
    of: &Distribution,
    options: &TuneOptions,
    out: &Path,
    step: Step<'_>,
) -> Result<Tuned, Error> {
    let TuneOptions { ask, search, ports } = options;
    of.say()?;
    let load = match &*ask.loads()? {
        [] => None,
        [load] => Some(*load),
        _ => return Err(Error::Input("--load: expected one load of the host links, such as 0.6".to_owned())),
    };
    if let Some(flows @ ..100) = ask.flows {
        return Err(Error::Input(format!("--flows {flows}: expected at least 100 flows for a search")));
    }
    let ports = (ports.ports()?, ports.replace);
    let markings: Vec<Marking> = match (&*ask.marking, &ports.0) {
        ([], None) => vec![Marking::Queue, Marking::Port],
        ([], Some(_)) => vec![Marking::Queue],
        (given, _) => given.to_vec(),
    };
    let jobs = ask.jobs.count();
    let request = Request {
        fabric: fabric.to_owned(),
        tables: TABLES,
        wanted: of.wanted(load.into_iter().collect(), None, studies::Method::Background),
        load,
        queues: ask.queues.map_or((2, 8), |queues| (queues.fewest, queues.most)),
        markings: markings.into_iter().map(Into::into).collect(),
        programmable: search.programmable,
        counting: search.counting,
        hosts_stay: search.hosts_stay,
        flows: ask.flows.map(u64::from),
        unmarked: search.unmarked,
        at_most: search.at_most,
        effort: match (search.seeds, &search.budget) {
            (Some(seeds), _) => Effort::Seeds(seeds),
            (None, Some(budget)) => Effort::Budget { time: budget.0, is_given: true },
            (None, None) => Effort::Budget { time: BUDGET, is_given: false },
        },
        jobs,
        out: out.to_owned(),
        replace: ports.1,
        ports: ports.0,
    };
    // The folder belongs to the request, so its results are replaced by those of the same request.
    tune::tune(&request, &mut Here { begun: Instant::now(), jobs, replace: true, step })
}

/// The time of a search, unless the least answer takes longer.
const BUDGET: Duration = Duration::from_secs(600);
