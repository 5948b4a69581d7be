//! Writes a stand-in as a flow list: `stand_in NAME [tight|calibrated|loose] [SEED]`.

use flowsieve_workload::flow_list::{self, Extras};
use flowsieve_workload::{Calibration, stand_in};
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |nth: usize, default: &'static str| arguments.get(nth).map_or(default, String::as_str);
    let stand_in = stand_in(argument(0, "")).ok_or("no such stand-in")?;
    let wanted = argument(1, "calibrated");
    let calibration = Calibration::ALL.into_iter().find(|calibration| calibration.name() == wanted);
    let list = stand_in.generate(calibration.ok_or("no such calibration")?, argument(2, "1").parse()?);
    let mut out = BufWriter::new(std::io::stdout().lock());
    flow_list::write(&mut out, &Extras::of(&list), list.flows.iter().map(|flow| list.row(*flow)))?;
    Ok(out.flush()?)
}
