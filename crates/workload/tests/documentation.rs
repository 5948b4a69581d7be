//! `docs/reference/sizes.md` states every built-in distribution unchanged.

use flowsieve_workload::{SOURCE_MEAN, builtins};

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/sizes.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the document's tables whose first cell is the name of a distribution, or of one at its source's mean.
fn rows(of_source_means: bool) -> Vec<String> {
    let is_name = |row: &str| {
        let name = row.split('`').nth(1).unwrap_or("");
        let known = builtins().iter().any(|builtin| builtin.name == name.trim_end_matches(SOURCE_MEAN));
        row.starts_with("| `") && known && name.ends_with(SOURCE_MEAN) == of_source_means
    };
    document().lines().filter(|row| is_name(row)).map(str::to_owned).collect()
}

fn names(name: &str, aliases: &[&str]) -> String {
    let names: Vec<String> = std::iter::once(&name).chain(aliases).map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[test]
fn workloads_md__lists_every_distribution_with_its_figures() {
    let expected: Vec<String> = builtins()
        .iter()
        .map(|builtin| {
            let sizes = builtin.distribution().unwrap();
            let quantiles = [0.5, 0.9, 0.99, 1.0].map(|p| sizes.quantile(p).to_string()).join(" | ");
            format!(
                "| {} | {} | {}, {} | {:.1} | {quantiles} | {} |",
                names(builtin.name, builtin.aliases),
                builtin.summary,
                builtin.reading,
                builtin.rounding,
                sizes.mean_bytes(),
                builtin.provenance
            )
        })
        .collect();
    assert!(rows(false) == expected, "docs/reference/sizes.md should have these rows:\n{}", expected.join("\n"));
}

#[test]
fn workloads_md__lists_every_mean_of_a_source() {
    let row = |builtin: &flowsieve_workload::Builtin| {
        let mean = builtin.source_mean?;
        let share = builtin.distribution().unwrap().mean_bytes() / mean * 100.0;
        Some(format!("| `{}{SOURCE_MEAN}` | {mean} B | {share:.1} % |", builtin.name))
    };
    let expected: Vec<String> = builtins().iter().filter_map(row).collect();
    assert!(rows(true) == expected, "docs/reference/sizes.md should have these rows:\n{}", expected.join("\n"));
}
