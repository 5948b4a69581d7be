//! Takes plotly.js out of the library that has it, and packs it for reports: gzip, then five characters for four bytes
//! (`unpacked` in `templates/report.js` is the inverse). A report would be 4.9 MB otherwise.
//! Nothing else of the library is used: what plotly.js draws is JSON.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// The digits of base 85: those of ZeroMQ's RFC 32 without the two that HTML knows.
const DIGITS: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?,_>()[]{}@%$#";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // The library hands it over with another, for formulas, which no report has.
    let scripts = plotly::Plot::offline_js_sources();
    let script = scripts.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    let (plotly_js, _) = script.ok_or("plotly's sources do not begin with a script")?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(plotly_js.as_bytes())?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("plotly.85"), in_base_85(&gzip.finish()?))?;
    Ok(())
}

/// The number of bytes that pad the last word, and the words.
fn in_base_85(bytes: &[u8]) -> String {
    let mut text = (bytes.len().next_multiple_of(4) - bytes.len()).to_string();
    for chunk in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        text.extend((0..5).rev().map(|place| char::from(DIGITS[(word / 85_u32.pow(place) % 85) as usize])));
    }
    text
}
