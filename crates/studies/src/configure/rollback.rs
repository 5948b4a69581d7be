//! What takes a configuration back.

use super::ports::Listed;
use super::{Plan, Port, Refused, System};
use serde_json::{Value, json};
use std::fmt::Write;

/// The tables of SONiC that are written. What names another entry comes before it, so that it goes first.
pub(super) const TABLES: [&str; 6] =
    ["QUEUE", "PORT_QOS_MAP", "WRED_PROFILE", "SCHEDULER", "TC_TO_QUEUE_MAP", "DSCP_TO_TC_MAP"];

/// Queueing disciplines that work by their name alone.
const BY_NAME: [&str; 9] = ["fq", "fq_codel", "fq_pie", "cake", "sfq", "pfifo", "bfifo", "codel", "pie"];

impl System {
    /// Returns the name of the file that takes its configuration back.
    pub fn rollback_file(self) -> String {
        self.file().replace('.', "-rollback.")
    }

    /// Writes what takes `text` back, from what was read of the system before.
    ///
    /// # Errors
    /// Fails if what was there before is not known.
    pub fn rollback(self, plan: &Plan, text: &str, before: Option<&Listed>) -> Result<String, Refused> {
        let checkpoint =
            |back: &str| format!("! Back to the checkpoint. Later changes of the switch are lost, too.\n{back}\n");
        Ok(match self {
            System::Sonic => {
                let unknown = || Refused::Plan("the old values are not known: expected config_db.json".to_owned());
                let old = before.and_then(|before| before.database.as_ref()).ok_or_else(unknown)?;
                let new: Value = serde_json::from_str(text).unwrap_or_default();
                format!("{:#}\n", patch(&new, old))
            }
            System::Eos => checkpoint("configure replace checkpoint:flowsieve"),
            System::NxOs => checkpoint("rollback running-config checkpoint flowsieve"),
            System::Tc => tc(plan, before),
            // Named first, so that it may be missing.
            System::Nftables => "table inet flowsieve\ndelete table inet flowsieve\n".to_owned(),
            System::Hosts => "ip route replace PREFIX via GATEWAY dev DEVICE\n".to_owned(),
        })
    }
}

/// The JSON Patch (RFC 6902) that undoes a merge of `new` into `old`, field by field. Nothing else is touched, and no
/// table is left empty that was not there.
fn patch(new: &Value, old: &Value) -> Value {
    // What is named again has to be there before what names it now is removed.
    let (mut replaced, mut removed) = (Vec::new(), Vec::new());
    let path = |names: &[&str]| -> String {
        names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
    };
    let mut remove = |names: &[&str]| removed.push(json!({ "op": "remove", "path": path(names) }));
    for table in TABLES {
        let Some(entries) = new[table].as_object() else { continue };
        if old.get(table).is_none() {
            remove(&[table]);
            continue;
        }
        for (key, fields) in entries {
            let Some(entry) = old[table].get(key) else {
                remove(&[table, key]);
                continue;
            };
            for (field, value) in fields.as_object().into_iter().flatten() {
                match entry.get(field) {
                    None => remove(&[table, key, field]),
                    Some(before) if before == value => {}
                    Some(before) => {
                        replaced.push(json!({ "op": "replace", "path": path(&[table, key, field]), "value": before }))
                    }
                }
            }
        }
    }
    replaced.append(&mut removed);
    Value::Array(replaced)
}

/// Without a root of its own an interface has the kernel's default.
fn tc(plan: &Plan, before: Option<&Listed>) -> String {
    let mut text = String::from("# Back from tc.batch: tc -batch tc-rollback.batch\n");
    for Port { name, .. } in &plan.ports {
        let _ = match before.and_then(|before| before.qdiscs.get(name)).map_or("", String::as_str) {
            "" | "noop" | "noqueue" | "mq" | "pfifo_fast" => writeln!(text, "qdisc del dev {name} root"),
            kind if BY_NAME.contains(&kind) => writeln!(text, "qdisc replace dev {name} root {kind}"),
            // Its parameters, and its classes, are not in `ip -j link`.
            kind => writeln!(text, "# {name} had {kind}: load what set it up\nqdisc del dev {name} root"),
        };
    }
    text
}
