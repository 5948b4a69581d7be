//! What takes a configuration back gives what was there before.

use super::read_back::{plans, three_queues};
use flowsieve_studies::configure::{Listed, System};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Merges as `config load` does: field by field.
fn merged(old: &Value, new: &Value) -> Value {
    let mut root = old.clone();
    for (table, entries) in new.as_object().unwrap() {
        for (key, fields) in entries.as_object().unwrap() {
            for (field, value) in fields.as_object().unwrap() {
                root[table][key][field] = value.clone();
            }
        }
    }
    root
}

/// Applies a JSON Patch (RFC 6902) of steps `remove` and `replace`, each of something that is there.
fn patched(mut root: Value, patch: &Value) -> Value {
    for step in patch.as_array().unwrap() {
        let path = step["path"].as_str().unwrap();
        let (parent, last) = path.rsplit_once('/').unwrap();
        let last = last.replace("~1", "/").replace("~0", "~");
        let parent = root.pointer_mut(parent).and_then(Value::as_object_mut).unwrap_or_else(|| panic!("{path}"));
        let before = match step["op"].as_str().unwrap() {
            "remove" => parent.remove(&last),
            "replace" => parent.insert(last, step["value"].clone()),
            op => panic!("{op}"),
        };
        assert!(before.is_some(), "{path} is there");
        // A table that is left empty is refused.
        assert!(parent.values().all(|value| value.as_object().is_none_or(|of| !of.is_empty())), "{path}");
    }
    root
}

/// A database that has some of the tables, entries and fields already, and others; by what each choice says.
fn database(new: &Value, choices: &[u8]) -> Value {
    let mut choices = choices.iter().copied().cycle();
    let mut next = |one_in: u8| choices.next().unwrap_or_default().is_multiple_of(one_in);
    let ports: Map<_, _> = new["QUEUE"]
        .as_object()
        .unwrap()
        .keys()
        .map(|key| key.split('|').next().unwrap())
        .map(|name| (name.to_owned(), json!({ "speed": "25000" })))
        .collect();
    let mut root = json!({ "DEVICE_METADATA": { "localhost": { "hostname": "leaf1" } }, "PORT": ports });
    for (table, entries) in new.as_object().unwrap() {
        if next(3) {
            continue;
        }
        root[table]["AZURE~1/x|3-4"] = json!({ "type": "DWRR", "list": ["a"] });
        for (key, fields) in entries.as_object().unwrap() {
            for (field, value) in fields.as_object().unwrap().iter().take(if next(2) { 0 } else { 99 }) {
                if next(2) {
                    root[table][key]["own"] = json!("kept");
                    root[table][key][field] = if next(2) { value.clone() } else { json!("before") };
                }
            }
        }
    }
    root
}

proptest! {
    #[test]
    fn rollback__sonic_gives_the_database_of_before(plan in plans(), choices in prop::collection::vec(any::<u8>(), 1..200)) {
        let Ok(text) = System::Sonic.write(&plan) else { return Ok(()) };
        let new: Value = serde_json::from_str(&text).unwrap();
        let old = database(&new, &choices);
        let listed = Listed::read(&old.to_string(), None).unwrap();
        let patch: Value = serde_json::from_str(&System::Sonic.rollback(&plan, &text, Some(&listed)).unwrap()).unwrap();
        prop_assert_eq!(patched(merged(&old, &new), &patch), old);
    }
}

#[test]
fn rollback__of_each_system() {
    let plan = three_queues();
    let of = |system: System, listed: &Listed| system.rollback(&plan, &system.write(&plan).unwrap(), Some(listed));
    let nothing = Listed::default();
    let said = of(System::Sonic, &nothing).unwrap_err().to_string();
    assert_eq!(said, "the old values are not known: expected config_db.json");
    let checkpoint = |system: System| of(system, &nothing).unwrap().lines().next_back().unwrap().to_owned();
    assert_eq!(checkpoint(System::Eos), "configure replace checkpoint:flowsieve");
    assert_eq!(checkpoint(System::NxOs), "rollback running-config checkpoint flowsieve");
    // Defaults come back by themselves, some disciplines by their name, and others only by hand.
    let qdiscs = [("Ethernet0", "mq"), ("Ethernet4", "fq_codel"), ("Ethernet48", "htb")];
    let qdiscs = qdiscs.map(|(name, kind)| (name.to_owned(), kind.to_owned())).into();
    assert_eq!(
        of(System::Tc, &Listed { qdiscs, ..nothing }).unwrap(),
        "# Back from tc.batch: tc -batch tc-rollback.batch\nqdisc del dev Ethernet0 root\n\
         qdisc replace dev Ethernet4 root fq_codel\n# Ethernet48 had htb: load what set it up\nqdisc del dev Ethernet48 root\n"
    );
}
