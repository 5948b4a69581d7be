//! Files written by hand: there are no others.

use super::*;
use crate::flow_list::{Extras, parse, write};
use proptest::prelude::*;

fn recorded(drop: &[&str], scale: &[(&str, f64)]) -> Layout {
    Layout::Recorded {
        drop: drop.iter().map(|name| (*name).to_owned()).collect(),
        scale: scale.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect(),
    }
}

/// The written list of these files, `a.csv`, `b.csv` and so on; or the error.
fn import(layout: Layout, files: &[&str]) -> Result<String, String> {
    let mut import = Import::new(layout);
    for (name, text) in ('a'..).zip(files) {
        import.add(&format!("{name}.csv"), text.as_bytes()).map_err(|error| error.fields())?;
    }
    let (list, mut written) = (import.list(), Vec::new());
    write(&mut written, &Extras::of(&list), list.flows.iter().map(|flow| list.row(*flow))).unwrap();
    let written = String::from_utf8(written).unwrap();
    let again = parse("written.csv", &written, 2).unwrap();
    assert_eq!((again.flows, again.features, again.predictions), (list.flows, list.features, list.predictions));
    Ok(written)
}

fn refused(layout: Layout, text: &str) -> String {
    import(layout, &[text]).unwrap_err()
}

#[test]
fn recorded__columns_become_features() {
    let text = "index,flow_size,cpu_ms,disk\n0,700,3,0\n1,9e3,18446744073709551615,10.0\n";
    let expected = "start_s,src,dst,bytes,feature:cpu_ms,feature:disk\n\
                    0,0,1,700,3,0\n\
                    0.000001,0,1,9000,18446744073709551615,10\n";
    assert_eq!(import(recorded(&[], &[]), &[text]), Ok(expected.to_owned()));
}

#[test]
fn recorded__columns_stand_in_any_order_with_any_line_ends() {
    let text = "\u{feff}\"disk\", \"index\" ,flow_size\r\n\r\n# a comment\r\n 5 , 0 ,\"700\"\r\n";
    let expected = "start_s,src,dst,bytes,feature:disk\n0,0,1,700,5\n";
    assert_eq!(import(recorded(&[], &[]), &[text]), Ok(expected.to_owned()));
}

#[test]
fn recorded__flows_are_ordered_by_index_within_their_file() {
    // The index begins anew in the second file, whose flows still come last.
    let files = ["index,flow_size,disk\n7,1,10\n3,2,20\n7,3,30\n5,4,40\n", "index,flow_size,disk\n1,6,60\n0,5,50\n"];
    let expected = "start_s,src,dst,bytes,feature:disk\n\
                    0,0,1,2,20\n\
                    0.000001,0,1,4,40\n\
                    0.000002,0,1,1,10\n\
                    0.000003,0,1,3,30\n\
                    0.000004,0,1,5,50\n\
                    0.000005,0,1,6,60\n";
    assert_eq!(import(recorded(&[], &[]), &files), Ok(expected.to_owned()));
}

#[test]
fn recorded__dropped_columns_are_not_read() {
    let text = "index,flow_size,job,disk\n0,700,word-count,5\n";
    let expected = "start_s,src,dst,bytes,feature:disk\n0,0,1,700,5\n";
    assert_eq!(import(recorded(&["job"], &[]), &[text]), Ok(expected.to_owned()));
    let plain = "start_s,src,dst,bytes\n0,0,1,700\n";
    assert_eq!(import(recorded(&["job", "disk"], &[]), &[text]), Ok(plain.to_owned()));
}

#[test]
fn recorded__scaled_columns_are_multiplied_and_rounded() {
    let column = |fields: &[&str], factor| {
        let rows: String = fields.iter().map(|field| format!("0,1,{field}\n")).collect();
        let list = import(recorded(&[], &[("cpu", factor)]), &[&format!("index,flow_size,cpu\n{rows}")])?;
        Ok::<_, String>(list.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let fields = ["0.25", "0.0004", "0.0005", "-0.0001", "1e-300", "2", "1.5e3"];
    assert_eq!(column(&fields, 1000.0).unwrap(), ["250", "0", "1", "0", "0", "2000", "1500000"]);
    assert_eq!(column(&["1234", "1250"], 0.01).unwrap(), ["12", "13"]);
    for field in ["-0.001", "nan", "inf", "1e17", "", "fast"] {
        assert_eq!(column(&["1", field], 1000.0).unwrap_err(), "a.csv:3 value cpu");
    }
}

#[test]
fn recorded__features_have_to_be_whole_numbers() {
    for field in ["0.5", "-1", "", "nan", "tcp", "18446744073709551616"] {
        let text = format!("index,flow_size,cpu\n0,5,1\n1,5,{field}\n");
        assert_eq!(refused(recorded(&[], &[]), &text), "a.csv:3 value cpu");
    }
}

#[test]
fn recorded__sizes_and_indices_are_numbers() {
    let of = |row: &str| refused(recorded(&[], &[]), &format!("index,flow_size\n{row}\n"));
    for field in ["0", "-5", "1.5", "", "big", "1000000000000001"] {
        assert_eq!(of(&format!("0,{field}")), "a.csv:2 value flow_size");
    }
    assert_eq!(of("-1,5"), "a.csv:2 value index");
}

#[test]
fn recorded__refuses_other_headers() {
    let of = |header: &str| refused(recorded(&[], &[]), &format!("{header}\n0,1,2\n"));
    assert_eq!(of("index,size,cpu"), "a.csv:1 unknown-column flow_size");
    assert_eq!(of("flow_size,cpu,"), "a.csv:1 unknown-column index");
    assert_eq!(of("index,flow_size,index"), "a.csv:1 twice index");
    let dropped = |name| refused(recorded(&[name], &[]), "index,flow_size,cpu\n0,1,2\n");
    assert_eq!(dropped("disk"), "a.csv:1 unknown-column disk");
    assert_eq!(dropped("index"), "a.csv:1 no-feature index");
    let scaled = refused(recorded(&[], &[("disk", 2.0)]), "index,flow_size,cpu\n0,1,2\n");
    assert_eq!(scaled, "a.csv:1 unknown-column disk");
    let other = import(recorded(&[], &[]), &["index,flow_size,cpu\n0,1,2\n", "index,flow_size,disk\n0,1,2\n"]);
    let expected = "b.csv:1 other-columns";
    assert_eq!(other, Err(expected.to_owned()));
}

#[test]
fn recorded__refuses_rows_of_another_width_and_empty_files() {
    let of = |text: &str| refused(recorded(&[], &[]), text);
    assert_eq!(of("index,flow_size\n0,1\n0,1,2\n"), "a.csv:3 columns");
    let empty = "a.csv empty";
    assert_eq!((of("").as_str(), of("index,flow_size\n").as_str()), (empty, empty));
    // Git LFS leaves such a file in place of the data.
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
    let expected = "a.csv:1 unknown-column index";
    assert_eq!(of(pointer), expected);
}

#[test]
fn recorded__names_are_such_that_a_list_can_have_them() {
    let text = "index,flow_size,disk read (MB),,disk_read__MB_,µs\n0,1,2,3,4,5\n";
    let list = import(recorded(&[], &[]), &[text]).unwrap();
    let names = "feature:disk_read__MB_,feature:column4,feature:disk_read__MB__2,feature:_s";
    assert_eq!(list.lines().next(), Some(format!("start_s,src,dst,bytes,{names}").as_str()));
    // As in the file, so that no two columns are confused.
    let text = text.replace(",5\n", ",fast\n");
    assert!(import(recorded(&["µs"], &[]), &[&text]).is_ok());
}

#[test]
fn recorded__as_many_features_as_a_list_may_have() {
    let text = |columns: usize| {
        let names: String = (0..columns).map(|number| format!(",{}{number}", "long".repeat(35))).collect();
        format!("index,flow_size{names}\n0,1{}\n", ",7".repeat(columns))
    };
    assert!(import(recorded(&[], &[]), &[&text(64)]).is_ok());
    assert_eq!(refused(recorded(&[], &[]), &text(65)), "a.csv:1 too-many");
}

#[test]
fn simulated__column_0_is_the_size() {
    let files = ["whatever it says\n700,650,3\n9000,8000,4\n", "# 1,2,3\n5,6,7\n"];
    let sizes = "start_s,src,dst,bytes\n0,0,1,700\n0.000001,0,1,9000\n0.000002,0,1,5\n";
    assert_eq!(import(Layout::Simulated { predicted: None }, &files), Ok(sizes.to_owned()));
    let predicted = "start_s,src,dst,bytes,predicted\n0,0,1,700,3\n0.000001,0,1,9000,4\n0.000002,0,1,5,7\n";
    assert_eq!(import(Layout::Simulated { predicted: Some(2) }, &files), Ok(predicted.to_owned()));
}

#[test]
fn simulated__says_where_there_is_no_number() {
    let of = |text: &str| refused(Layout::Simulated { predicted: Some(1) }, &format!("size,mean\n5,5\n{text}\n"));
    assert_eq!(of("0,5"), "a.csv:3 value column 0 (the size)");
    assert_eq!(of("x,5"), "a.csv:3 value column 0 (the size)");
    assert_eq!(of("5,0"), "a.csv:3 value column 1 (the prediction)");
    assert_eq!(of("5,-3"), "a.csv:3 value column 1 (the prediction)");
    assert_eq!(of("5"), "a.csv:3 columns");
    assert_eq!(of("5,5,5"), "a.csv:3 columns");
    let empty = "a.csv empty";
    assert_eq!(refused(Layout::Simulated { predicted: None }, ""), empty);
    assert_eq!(refused(Layout::Simulated { predicted: None }, "size\n"), empty);
}

proptest! {
    #[test]
    fn add__never_panics(
        text in "\\PC*|index,flow_size,[a-z ,\"]{0,5}\n([0-9.e-]{0,3},[0-9]{0,2},[0-9e.-]{0,5}\r?\n){0,5}",
        predicted in prop::option::of(1usize..4),
        factor in 1e-300..1e300,
    ) {
        let _ = import(Layout::Simulated { predicted }, &[&text]);
        let _ = import(recorded(&[], &[]), &[&text, &text]);
        let _ = import(recorded(&["a"], &[("b", factor)]), &[&text]);
    }
}
