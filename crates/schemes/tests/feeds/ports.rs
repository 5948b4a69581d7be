//! Tries what a port reads: the same packets, with one field of all of them the same.

use flowsieve_core::admission::Pool;
use flowsieve_core::scheduler::{MAX_QUEUES, PortContext};
use flowsieve_core::{Kind, Meta, NONE, Place, PortKind, PortScheduler, Tag, Time, Victims};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, below, stream};

use flowsieve_schemes::Scheme;
use flowsieve_schemes::feeds::Field;
use flowsieve_schemes::scheme::PortSpec;

/// Packets of a trial.
const PACKETS: usize = 6_000;
/// Packets until the load changes.
const PHASE: usize = 1_000;
/// Packets until a pause that ends flowlets, and no message.
const FLOWLET: usize = 60;

/// Finds what ports read, by place.
pub(crate) fn read(scheme: &Scheme, fabric: &Fabric) -> Vec<(Place, Option<Vec<Field>>)> {
    // Places with the same port are tried once.
    let mut tried: Vec<(String, Option<Vec<Field>>)> = Vec::new();
    let place = |place: Place| {
        let spec = scheme.port(place);
        let text = format!("{spec:?}");
        if let Some((_, read)) = tried.iter().find(|(other, _)| *other == text) {
            return (place, read.clone());
        }
        let read = (!matches!(spec.kind, PortKind::Custom(_))).then(|| read_by(&spec, scheme, fabric));
        tried.push((text, read.clone()));
        (place, read)
    };
    Place::ALL.into_iter().map(place).collect()
}

fn read_by(spec: &PortSpec, scheme: &Scheme, fabric: &Fabric) -> Vec<Field> {
    let packets = packets(fabric);
    let as_they_are = decisions(spec, scheme, fabric, &packets);
    let reads = |field: &Field| {
        let mut changed = packets.clone();
        for (_, meta) in &mut changed {
            match field {
                Field::Priority => meta.tag = Tag::new(0, meta.tag.rank()),
                Field::Rank => meta.tag = Tag::new(meta.tag.priority(), 0),
                Field::Flow => meta.flow = 1,
                Field::Coflow => meta.coflow = NONE,
                Field::Kind => meta.kind = Kind::Data,
            }
        }
        decisions(spec, scheme, fabric, &changed) != as_they_are
    };
    // QCluster's sketch counts by flow. Where disorder avoidance keeps all packets in one queue, nothing shows it.
    let counts = matches!(spec.kind, PortKind::Cluster(_)) && spec.kind.sketch_bytes() > 0;
    let all = [Field::Priority, Field::Rank, Field::Flow, Field::Coflow, Field::Kind];
    all.into_iter().filter(|field| *field == Field::Flow && counts || reads(field)).collect()
}

/// Packets of random tags that come three times as fast as the line takes them, then half as fast, and so on, with pauses of
/// 0.7 ms, and of 150 ms in which ports adapt. One flow has half of the packets. Ranks are levels, numbers of a few
/// messages, bytes, and anything.
fn packets(fabric: &Fabric) -> Vec<(Time, Meta)> {
    let random = &mut stream(1, Purpose::OwnPart, u64::MAX - 1);
    let full = fabric.links[0].line(24).serialise(1_500).0;
    let mut now = Time::ZERO;
    let packet = |number: usize| {
        now += Time(if (number / PHASE).is_multiple_of(2) {
            below(random, 2 * full / 3)
        } else {
            below(random, 4 * full)
        });
        if number % PHASE == PHASE - 1 {
            now += Time::from_us(150_000);
        } else if number % FLOWLET == FLOWLET - 1 {
            now += Time::from_us(700);
        }
        let rank = match below(random, 4) {
            0 => below(random, 8),
            1 => 1_000 * below(random, 12),
            2 => below(random, 20_000),
            _ => below(random, 1 << 24),
        };
        let kind = if below(random, 10) == 0 { Kind::Ack } else { Kind::Data };
        let meta = Meta {
            flow: if below(random, 2) == 0 { 0 } else { below(random, 12) as u32 },
            coflow: if below(random, 3) == 0 { NONE } else { below(random, 6) as u32 },
            len: 1_000 + below(random, 500) as u16,
            tag: Tag::new(below(random, 8) as u8, rank as u32),
            kind,
            ..Meta::default()
        };
        (now, meta)
    };
    (0..PACKETS).map(packet).collect()
}

/// Returns, for each arrival, whether it is queued, and the packets in the order in which they leave. A port that numbers
/// its queues otherwise and does the same is the same.
fn decisions(spec: &PortSpec, scheme: &Scheme, fabric: &Fabric, packets: &[(Time, Meta)]) -> (Vec<bool>, Vec<u32>) {
    let line = fabric.links[0].line(24);
    let mut port = spec.build(line, scheme.header(), || unreachable!("a built-in port has no site"));
    debug_assert!(port.queues() <= MAX_QUEUES);
    let mut metas: Vec<Meta> = packets.iter().map(|(_, meta)| *meta).collect();
    let mut pool = Pool::new(scheme.shared_buffer);
    let shares = spec.shares_memory();
    let (mut victims, mut marks) = (Victims::default(), 0);
    let mut random: Xoshiro256PlusPlus = stream(1, Purpose::Marking, 0);
    let (mut queued, mut left) = (Vec::new(), Vec::new());
    let mut free_at = Time::ZERO;
    let ends = packets.iter().map(|(at, _)| *at).chain([Time(u64::MAX / 2)]);
    for (number, at) in (0..).zip(ends) {
        while free_at <= at {
            let (pool, victims, random, marks) = (&mut pool, &mut victims, &mut random, &mut marks);
            let mut context = PortContext { now: free_at, pool, victims, random, marks };
            let Some(packet) = port.dequeue(&mut metas, &mut context) else { break };
            let len = metas[packet as usize].len;
            if shares {
                context.pool.give(len);
            }
            left.push(packet);
            free_at += line.serialise(len);
        }
        if number as usize == packets.len() {
            break;
        }
        free_at = free_at.max(at);
        let (pool, random, marks) = (&mut pool, &mut random, &mut marks);
        let context = &mut PortContext { now: at, pool, victims: &mut victims, random, marks };
        let accepted = port.enqueue(&mut metas, number, context).is_accepted();
        if shares {
            victims.iter().for_each(|&victim| pool.give(metas[victim as usize].len));
            if accepted {
                pool.take(metas[number as usize].len);
            }
        }
        victims.clear();
        queued.push(accepted);
    }
    (queued, left)
}
