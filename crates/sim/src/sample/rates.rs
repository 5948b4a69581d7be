//! Rates over the steps of a run: how busy chosen links were, and what chosen flows delivered.
//!
//! Only chosen links count what they send. Hosts' links check whose packets arrive only if flows are chosen. Other runs
//! do nothing for it.

use flowsieve_core::Time;
use flowsieve_record::Series;
use flowsieve_transport::{Said, TransportFacts};

use super::{GOODPUT, Sampling, UTILISATION};
use crate::build::Built;
use crate::event::Key;
use crate::prefetch_queue::PrefetchQueue;
use crate::slab::unpack;
use crate::topology::{Fabric, Node};

/// A link whose utilisation is sampled.
struct Utilised {
    number: u32,
    partition: u32,
    index: u32,
    bps: f64,
    /// How long the line was busy up to the last sample, in ps.
    busy_ps: f64,
    values: Vec<f64>,
}

/// A flow whose goodput is sampled.
struct Delivering {
    flow: u32,
    /// Segments of its connection that have arrived, one bit each.
    arrived: Vec<u64>,
    /// Payload that arrived for the first time since the last sample.
    bytes: u64,
    values: Vec<f64>,
}

impl Delivering {
    /// Counts a segment that arrived with `payload` bytes; each segment counts once.
    fn count(&mut self, segment: u32, payload: u16) {
        let (word, bit) = (segment as usize / 64, 1u64 << (segment % 64));
        if self.arrived.len() <= word {
            self.arrived.resize(word + 1, 0);
        }
        if self.arrived[word] & bit == 0 {
            self.arrived[word] |= bit;
            self.bytes += u64::from(payload);
        }
    }
}

/// The rates of a run.
pub(crate) struct Rates {
    links: Vec<Utilised>,
    /// By flow number.
    flows: Vec<Delivering>,
    /// By class of flow: bytes of headers.
    headers: Vec<u16>,
}

impl Rates {
    /// Makes the chosen links count, and the links to hosts report arrivals of the chosen flows.
    pub(crate) fn new<K: Key>(sampling: &Sampling, fabric: &Fabric, built: &mut Built<K>) -> Rates {
        let mut links = Vec::new();
        for &number in &sampling.utilised {
            let (partition, index) = built.placement.from[number as usize];
            let network = &mut built.partitions[partition as usize].network;
            network.count_sent(index);
            network.prefetch_queue = PrefetchQueue::none();
            let bps = fabric.links[number as usize].rate.bps() as f64;
            links.push(Utilised { number, partition, index, bps, busy_ps: 0.0, values: Vec::new() });
        }
        let to_hosts = (0u32..).zip(&fabric.links).filter(|(_, link)| matches!(link.to, Node::Host(_)));
        for (number, _) in to_hosts.filter(|_| !sampling.flows.is_empty()) {
            let (partition, index) = built.placement.to[number as usize];
            let network = &mut built.partitions[partition as usize].network;
            network.links[index as usize].add_feature();
            network.ports[index as usize].features.tells_arrivals = true;
            network.prefetch_queue = PrefetchQueue::none();
        }
        for partition in &mut built.partitions {
            partition.network.told_of = sampling.flows.clone();
        }
        let new = |&flow: &u32| Delivering { flow, arrived: Vec::new(), bytes: 0, values: Vec::new() };
        let facts = built.partitions.first().map_or(&[][..], |first| first.hosts.rules.transports.as_slice());
        Rates {
            links,
            flows: sampling.flows.iter().map(new).collect(),
            headers: facts.iter().map(|TransportFacts { header, .. }| *header).collect(),
        }
    }

    /// Returns the number of values in a sample.
    pub(crate) fn count(&self) -> usize {
        self.links.len() + self.flows.len()
    }

    /// Counts what has arrived since the last call.
    pub(crate) fn gather<K: Key>(&mut self, built: &mut Built<K>) {
        for partition in 0..built.partitions.len() {
            for (meta, body) in std::mem::take(&mut built.partitions[partition].network.arrivals) {
                let (sender, host) = built.placement.hosts[usize::from(body.src)];
                let hosts = &built.partitions[sender as usize].hosts;
                let side = &hosts.sides[hosts.sides_of(host).start + usize::from(body.class)];
                let packet = unpack(&meta, &body);
                let Said::Data { segment, .. } = side.endpoint.describe(&packet) else { continue };
                let Ok(at) = self.flows.binary_search_by_key(&packet.message, |flow| flow.flow) else { continue };
                self.flows[at].count(segment, meta.len.saturating_sub(self.headers[usize::from(body.class)]));
            }
        }
    }

    /// Takes the values of the step that ends at `at`.
    pub(crate) fn sample<K: Key>(&mut self, built: &mut Built<K>, at: Time, step: Time) {
        self.gather(built);
        for link in &mut self.links {
            built.advance((link.partition, link.index), Time(at.0 - 1));
            let network = &built.partitions[link.partition as usize].network;
            let port = &network.ports[link.index as usize];
            let sent_ps = 8e12 * port.sent_bytes as f64 / link.bps;
            // The rest of the packet on the line belongs to the next step, or was never sent.
            let rest = network.links[link.index as usize].rest(at) + port.cut_short;
            let busy_ps = sent_ps - rest.0 as f64;
            link.values.push((busy_ps - link.busy_ps) / step.0 as f64);
            link.busy_ps = busy_ps;
        }
        for flow in &mut self.flows {
            flow.values.push(8e12 * std::mem::take(&mut flow.bytes) as f64 / step.0 as f64);
        }
    }

    /// Returns the samples.
    pub(crate) fn finish(self, fabric: &Fabric, step_ps: u64) -> impl Iterator<Item = Series> {
        let links = self.links.into_iter().map(|link| (UTILISATION, fabric.link_name(link.number), link.values));
        let flows = self.flows.into_iter().map(|flow| (GOODPUT, format!("flow {}", flow.flow), flow.values));
        let series = move |(name, of, values): (&str, String, Vec<f64>)| Series {
            name: name.to_owned(),
            of,
            first_step: 0,
            step_ps,
            values,
        };
        links.chain(flows).map(series)
    }
}
