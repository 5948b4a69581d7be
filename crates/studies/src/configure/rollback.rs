//! What takes a configuration back.

use super::ports::Listed;
use super::{Plan, Refused, System};
use serde_json::{Value, json};
use std::fmt::Write;

/// The tables of SONiC that are written. What names another entry comes before it, so that it goes first.
pub(super) const TABLES: [&str; 6] =
    ["QUEUE", "PORT_QOS_MAP", "WRED_PROFILE", "SCHEDULER", "TC_TO_QUEUE_MAP", "DSCP_TO_TC_MAP"];

/// Queueing disciplines that work by their name alone.
const BY_NAME: [&str; 9] = ["fq", "fq_codel", "fq_pie", "cake", "sfq", "pfifo", "bfifo", "codel", "pie"];

impl System {
    /// Returns the name of the file that takes its configuration back; `None`: its file says how.
    pub fn rollback_file(self) -> Option<&'static str> {
        match self {
            System::Sonic => Some("sonic-rollback.json"),
            System::Eos => Some("eos-rollback.txt"),
            System::NxOs => Some("nxos-rollback.txt"),
            System::Tc => Some("tc-rollback.batch"),
            System::Nftables => Some("nftables-rollback.conf"),
            System::Hosts => None,
        }
    }

    /// Writes what takes `text` back, from what was read of the system before.
    ///
    /// # Errors
    /// Fails if what it was before is not known.
    pub fn rollback(self, plan: &Plan, text: &str, before: &Listed) -> Result<String, Refused> {
        Ok(match self {
            System::Sonic => {
                let unknown = || Refused::Plan("the old values are not known: expected config_db.json".to_owned());
                let old = before.database.as_ref().ok_or_else(unknown)?;
                let new: Value = serde_json::from_str(text).unwrap_or_default();
                format!("{:#}\n", patch(&new, old))
            }
            System::Eos => "! Back to the checkpoint that eos.txt saved. Later changes are lost, too.\n\
                            configure replace checkpoint:flowsieve\n"
                .to_owned(),
            System::NxOs => "! Back to the checkpoint that nxos.txt saved. Later changes are lost, too.\n\
                             rollback running-config checkpoint flowsieve\n"
                .to_owned(),
            System::Tc => tc(plan, before),
            System::Nftables => "# Named first, so that it may be missing.\n\
                                 table inet flowsieve\ndelete table inet flowsieve\n"
                .to_owned(),
            System::Hosts => String::new(),
        })
    }
}

/// The JSON Patch (RFC 6902) that undoes a merge of `new` into `old`, field by field. Nothing else is touched, and no table is
/// left empty that was not there.
fn patch(new: &Value, old: &Value) -> Value {
    let mut steps = Vec::new();
    let path = |names: &[&str]| -> String {
        names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
    };
    let mut remove = |names: &[&str]| steps.push(json!({ "op": "remove", "path": path(names) }));
    let mut replaced = Vec::new();
    for table in TABLES {
        let Some(entries) = new[table].as_object() else { continue };
        let Some(there) = old.get(table) else {
            remove(&[table]);
            continue;
        };
        for (key, fields) in entries {
            let Some(entry) = there.get(key) else {
                remove(&[table, key]);
                continue;
            };
            for (field, value) in fields.as_object().into_iter().flatten() {
                match entry.get(field) {
                    None => remove(&[table, key, field]),
                    Some(before) if before != value => {
                        let path = path(&[table, key, field]);
                        replaced.push(json!({ "op": "replace", "path": path, "value": before }));
                    }
                    _ => {}
                }
            }
        }
    }
    // What is named again has to be there, and what is removed must not be named.
    replaced.append(&mut steps);
    Value::Array(replaced)
}

/// Without a root of its own an interface has the kernel's default.
fn tc(plan: &Plan, before: &Listed) -> String {
    let mut text = String::from("# Back from tc.batch: tc -batch tc-rollback.batch\n");
    for port in &plan.ports {
        let name = &port.name;
        let kind = before.qdiscs.get(name).map_or("", String::as_str);
        let is_default = ["", "noop", "noqueue", "mq", "pfifo_fast"].contains(&kind);
        let _ = match BY_NAME.contains(&kind) {
            true => writeln!(text, "qdisc replace dev {name} root {kind}"),
            false if is_default => writeln!(text, "qdisc del dev {name} root"),
            // Its parameters, and its classes, are not in `ip -j link`.
            false => writeln!(text, "# {name} had {kind}: load what set it up\nqdisc del dev {name} root"),
        };
    }
    text
}
