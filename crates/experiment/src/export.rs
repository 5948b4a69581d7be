//! The flows of an experiment as a list, for replay here (`list = "flows.csv"`) and elsewhere.

use crate::error::Error;
use crate::plan::Plan;
use crate::simulator;
use flowsieve_schemes::settings::{Origin, SettingsError};
use flowsieve_workload::flow_list;
use std::io::Write;

/// Writes the flows of the plan's points with this seed; the points have to agree on them.
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
            let key = name.rsplit('.').next().unwrap_or(name);
            let error = SettingsError::new(Origin::Default, problem);
            return Err(error.expected(format!("one of them, such as --set {key}={was}")).into());
        }
    }
    let (workload, flows) = simulator::flows(point, seed, &plan.folder)?;
    flow_list::write(out, &workload.extras(), flows.map(|flow| workload.beside(flow)))
        .map_err(|error| Error::File { path: "the flow list".to_owned(), problem: error.to_string() })
}
