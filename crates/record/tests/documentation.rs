//! `docs/reference/flow-columns.md` has a row for each column of flows, made of its declaration.

use flowsieve_record::{Column, FlowRow, Sums};

/// The rows of the table.
fn table() -> String {
    let row = |column: &Column<FlowRow>| {
        // Results, unlike their parts, name it so: in a summary a class is a size class.
        let name = if column.name == "class" { "traffic_class" } else { column.name };
        let sums = match column.sums {
            Sums::None => "",
            Sums::Run => "by run",
            Sums::Class => "by run, by class",
        };
        format!("| `{name}` | {} | {} | {sums} |\n", column.unit, column.about)
    };
    let rows: String = FlowRow::columns().iter().map(row).collect();
    format!("| column | unit | is | sums |\n| --- | --- | --- | --- |\n{rows}")
}

#[test]
fn results_md__describes_every_column_of_flows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/flow-columns.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split("## Columns of flows\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let found: String = section.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    let expected = table();
    assert!(found == expected, "docs/reference/flow-columns.md, Columns of flows. The table has to be:\n{expected}");
}
