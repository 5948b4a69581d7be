//! Takes plotly.js out of the library that has it, so that a report finds it in the program's file and needs no memory
//! for it.
//! Nothing else of the library is used: what plotly.js draws is JSON.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // The library hands it over with another, for formulas, which no report has.
    let scripts = plotly::Plot::offline_js_sources();
    let script = scripts.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    let (plotly_js, _) = script.ok_or("plotly's sources do not begin with a script")?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("plotly.js"), plotly_js)?;
    Ok(())
}
