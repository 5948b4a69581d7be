//! `docs/reference/convert.md` has a row for every format, and the registry says of each what it loses.

use flowsieve_convert::formats;

#[test]
fn convert_md__has_every_format_and_what_it_becomes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/convert.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| `") && !line.starts_with("| `--"))
        .map(|line| line.split('|').map(str::trim).collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    let names: Vec<&str> = rows.iter().map(|row| row[1].trim_matches('`')).collect();
    assert_eq!(names, formats().iter().map(|format| format.name).collect::<Vec<_>>());
    for (row, format) in rows.iter().zip(formats()) {
        let becomes = if format.name == "homa-rtts" { "measured sizes" } else { format.gives.in_words() };
        assert_eq!(row[3], becomes, "{}", format.name);
        assert!(!format.lost.is_empty() && !format.summary.is_empty(), "{}", format.name);
    }
}
