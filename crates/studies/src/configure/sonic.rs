//! SONiC's `config_db.json`. Every value is a string. What its YANG models take, and what its agents refuse of that, is
//! in docs/operate/configuration.md.

use crate::configure::{Lossless, Plan, Port, Refused, Speed};
use serde_json::{Map, Value, json};

/// Queues with a buffer profile in the default template, which gives 3 and 4 priority flow control.
const QUEUES: [u8; 7] = [0, 1, 2, 3, 4, 5, 6];

/// Code points of lossless traffic in the default template, each with the class and the queue of the same number.
const LOSSLESS: [u8; 2] = [3, 4];

/// The agent reads thresholds as signed 32-bit numbers; zero means the whole buffer.
const THRESHOLDS: (u64, u64) = (1, (1 << 31) - 1);

/// Name of the maps and of the scheduler.
const NAME: &str = "FLOWSIEVE";

pub(crate) fn write(plan: &Plan) -> Result<String, Refused> {
    plan.check_thresholds(THRESHOLDS)?;
    // Flow control acts on a queue. Lossless traffic that left its queue would be dropped where it was paused before.
    let offered = plan.queues_of_port.as_deref().unwrap_or_default();
    let has_none = plan.others.lossless == Lossless::None;
    let lossless: Vec<u8> = LOSSLESS.into_iter().filter(|queue| !has_none && !offered.contains(queue)).collect();
    let free: Vec<u8> = QUEUES.into_iter().filter(|queue| !lossless.contains(queue)).collect();
    let more = match plan.others.lossless {
        Lossless::Above => ", or --lossless behind, or --lossless none where PFC is off",
        Lossless::Behind => ", or --lossless none where PFC is off",
        Lossless::None => ", or --queues-of-port 0,1,2,3,4,5,6,7 where 7 has a buffer profile",
    };
    let alone = plan.marks_alone();
    let queues = plan.queues(&free, &lossless, more)?;
    let (mut of_ports, mut of_queues, mut profiles) = (Map::new(), Map::new(), Map::new());
    for (of, ports) in plan.by_speed() {
        let profile = profile(of);
        profiles.insert(profile.clone(), marks(plan, of));
        for port in ports {
            let maps = json!({ "dscp_to_tc_map": NAME, "tc_to_queue_map": NAME });
            of_ports.insert(port.name.clone(), maps);
            for queue in &queues.data {
                let entry = match alone {
                    // Maps and schedulers stay as they are.
                    true => json!({ "wred_profile": profile }),
                    false => json!({ "scheduler": NAME, "wred_profile": profile }),
                };
                of_queues.insert(format!("{}|{queue}", port.name), entry);
            }
            for (_, queue) in &queues.kept {
                of_queues.insert(format!("{}|{queue}", port.name), json!({ "scheduler": NAME }));
            }
        }
    }
    if alone {
        return Ok(format!("{:#}\n", json!({ "WRED_PROFILE": profiles, "QUEUE": of_queues })));
    }
    // All 64 are listed: what a map leaves out keeps the class of the map before.
    let others = || queues.kept.iter().chain(&queues.behind);
    let class = |dscp: u8| match plan.dscps.iter().position(|&of| of == dscp) {
        Some(at) => queues.data[at],
        None => {
            others().find(|(dscps, _)| dscps.contains(&dscp)).map_or(queues.data[plan.unmarked], |(_, queue)| *queue)
        }
    };
    let classes: Map<_, _> = (0..64).map(|dscp| (dscp.to_string(), json!(class(dscp).to_string()))).collect();
    let used = queues.data.iter().chain(others().map(|(_, queue)| queue));
    let own: Map<_, _> = used.map(|queue| (queue.to_string(), json!(queue.to_string()))).collect();
    let database = json!({
        "DSCP_TO_TC_MAP": { NAME: classes },
        "TC_TO_QUEUE_MAP": { NAME: own },
        "PORT_QOS_MAP": of_ports,
        // Of strict queues the higher goes first. There is a leaf `priority`, with which the agent refuses the entry.
        "SCHEDULER": { NAME: { "type": "STRICT" } },
        "WRED_PROFILE": profiles,
        "QUEUE": of_queues,
    });
    Ok(format!("{database:#}\n"))
}

/// At most 32 characters: letters, digits, `-` and `_`.
fn profile(of: &Port) -> String {
    format!("{NAME}_{}_{}", Speed(of.rate_bps), of.marks_from_bytes)
}

/// Marks around K. With `wred_*_enable` packets that cannot be marked are dropped there; without it some chips mark nothing.
fn marks(plan: &Plan, of: &Port) -> Value {
    let mut fields = Map::new();
    fields.insert("ecn".to_owned(), json!("ecn_all"));
    for colour in ["green", "yellow", "red"] {
        let (from, to, per_cent) = plan.marks.around(of.marks_from_bytes);
        fields.insert(format!("{colour}_min_threshold"), json!(from.to_string()));
        fields.insert(format!("{colour}_max_threshold"), json!(to.to_string()));
        fields.insert(format!("{colour}_drop_probability"), json!(per_cent.to_string()));
        fields.insert(format!("wred_{colour}_enable"), json!((!plan.others.without_wred).to_string()));
    }
    Value::Object(fields)
}
