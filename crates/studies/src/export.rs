//! Exports flows as a list, for replay here (`list = "flows.csv"`) and elsewhere: those of an experiment, of a
//! substitute for a trace, and of third-party traces.

use flowsieve_experiment::Error;
use flowsieve_experiment::bundle;
use flowsieve_experiment::plan::Plan;
use flowsieve_settings::files;
use flowsieve_settings::{Origin, SettingsError};
pub use flowsieve_workload::coflow_trace::Like;
use flowsieve_workload::coflow_trace::{self, OwnRack, Placing};
use flowsieve_workload::flow_list::{self, Extras, FlowList};
use flowsieve_workload::flux::Import;
pub use flowsieve_workload::flux::Layout;
pub use flowsieve_workload::stand_in as known_stand_in;
use flowsieve_workload::{Calibration, StandIn};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Writes the flows of the plan's points with this seed; all points must have the same flows.
pub fn flows(plan: &Plan, seed: u64, out: &mut impl Write) -> Result<(), Error> {
    let Some(point) = plan.points.first() else { return Ok(()) };
    let of_flows = |index: usize| {
        let settings = plan.experiment.points[index].settings.iter();
        settings.filter(|(name, _)| !name.starts_with("scheme.")).collect::<Vec<_>>()
    };
    let first = of_flows(0);
    for index in 1..plan.points.len() {
        let other = of_flows(index);
        if let Some((name, value)) = other.iter().find(|pair| !first.contains(pair)) {
            let was = plan.experiment.points[0].settings.get(*name).map_or("nothing", String::as_str);
            let problem = format!("the points have different flows: {name} is {was} and {value}");
            // Several workloads have keys of the same names.
            let is_of_several = name.starts_with("workload.") && name.split('.').count() == 3;
            let key = if is_of_several { name } else { name.rsplit('.').next().unwrap_or(name) };
            let error = SettingsError::new(Origin::Default, problem);
            return Err(error.expected(format!("one of them, such as --set {key}={was}")).into());
        }
    }
    let (workload, flows, names) = flowsieve_engines::flows(point, seed)?;
    let rows = flows.map(|flow| workload.beside(flow));
    flow_list::write_named(out, &workload.extras(), &names, rows).map_err(Error::Output)
}

/// Writes the substitute for a trace, with the features of its flows. `changes` may be `calibration=NAME`.
pub fn stand_in(of: &StandIn, changes: &[String], seed: u64, out: &mut impl Write) -> Result<(), Error> {
    let calibrated = |text: &String| {
        let name = text.strip_prefix("calibration=")?;
        Calibration::ALL.into_iter().find(|each| each.name() == name)
    };
    let calibration = match changes {
        [] => Some(Calibration::Calibrated),
        [one] => calibrated(one),
        _ => None,
    };
    let Some(calibration) = calibration else {
        let names = Calibration::ALL.map(Calibration::name).join(", ");
        let given = changes.join(", ");
        return Err(Error::Input(format!(
            "--set {given}: {} has only `calibration`; expected one of {names}",
            of.name
        )));
    };
    write(&of.generate(calibration, seed), out)
}

/// Writes the flows of a coflow trace, with its arrivals, and reports the flows that it left out. Ports become hosts;
/// `hosts` sets another number of hosts, to which ports are mapped by number.
pub fn coflows(path: &Path, hosts: Option<u32>, like: Like, out: &mut impl Write) -> Result<Option<String>, Error> {
    let name = path.display().to_string();
    let trace = coflow_trace::read(&name, BufReader::new(open(path)?), like)?;
    let placing = if hosts.is_some() { Placing::Modulo } else { Placing::Same };
    let placed = trace.place(hosts.unwrap_or(trace.ports), placing, OwnRack::Drop);
    write(&FlowList { flows: placed.flows, ..FlowList::default() }, out)?;
    let left_out =
        || format!("{} flows of {} B from a host to itself are left out", placed.own_host, placed.own_host_bytes);
    Ok((placed.own_host > 0).then(left_out))
}

/// Reads the flows of Flux's files, one file after the other.
pub fn flux(files: &[PathBuf], layout: Layout) -> Result<FlowList, Error> {
    let mut import = Import::new(layout);
    for path in files {
        let name = path.display().to_string();
        import.add(&name, BufReader::new(open(path)?))?;
    }
    Ok(import.list())
}

fn open(path: &Path) -> Result<impl Read, Error> {
    files::open_text(path, files::MOST_BYTES).map_err(bundle::failed(path))
}

/// Writes all that is known of a list's flows.
pub fn write(list: &FlowList, out: &mut impl Write) -> Result<(), Error> {
    flow_list::write(out, &Extras::of(list), list.flows.iter().map(|flow| list.row(*flow))).map_err(Error::Output)
}
