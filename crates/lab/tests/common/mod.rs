//! A fabric of a few hosts, a scheme, and frames of TCP, for tests.

use etherparse::{IpEcn, Ipv4Header, PacketBuilder};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_settings::Raw;
use flowsieve_sim::topology::Fabric;
use std::net::IpAddr;

use flowsieve_lab::carrier::address_of;
use flowsieve_lab::wire::{self, Connection, Content, Protocol, Segment};

/// One switch with this many hosts of 12 Mbit/s, so that a full packet takes 1 ms, and links of 100 us. Two queues under PIAS,
/// demoted after 2,000 bytes.
pub(crate) fn pias(hosts: i64) -> (Fabric, Scheme) {
    built(hosts, "pias", &[("queues", "2"), ("thresholds", "2KB")])
}

/// The same switch under a scheme with these settings.
pub(crate) fn built(hosts: i64, name: &str, given: &[(&str, &str)]) -> (Fabric, Scheme) {
    let settings = bare::none_given()
        .with(None, "parameters", "rfc")
        .with(None, "kind", "single-switch")
        .with(None, "hosts", hosts)
        .with(None, "host_link", "12Mbps")
        .with(None, "link_delay", "100us")
        .with(None, "host_delay", "0us")
        .with(None, "nic", "scheme")
        .with(None, "buffer", "30KB")
        .with(None, "ecn_threshold", "3KB");
    let value = |text: &str| match text.parse::<i64>() {
        Ok(number) => Raw::from(number),
        Err(_) => Raw::from(text),
    };
    let given = given
        .iter()
        .map(|&(key, text)| (key, if key == "thresholds" { [text].as_slice().into() } else { value(text) }));
    let settings = given.fold(settings, |settings, (key, value): (_, Raw)| settings.with(Some(name), key, value));
    // Thresholds are given, so nothing is asked of a workload.
    let scheme = bare::scheme(name, &settings, &Facts::NONE).expect("a scheme");
    (Fabric::from_settings(&settings).expect("a fabric"), scheme)
}

/// A segment from one host to another, on ports 1,000 and 5,000 in this direction or back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) back: bool,
    pub(crate) sequence: u32,
    pub(crate) acknowledges: u32,
    pub(crate) syn: bool,
    pub(crate) payload: usize,
    pub(crate) ecn: bool,
}

pub(crate) const DATA: Tcp =
    Tcp { from: 0, to: 1, back: false, sequence: 0, acknowledges: 1, syn: false, payload: 1_460, ecn: true };
pub(crate) const ACK: Tcp = Tcp { from: 1, to: 0, back: true, payload: 0, ecn: false, ..DATA };

impl Tcp {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let [source, destination] = [self.from, self.to].map(|host| address_of(host.into()));
        let [from, to] = [self.from, self.to].map(|host| [198, 18, 0, host + 1]);
        let len = (self.payload + 20) as u16;
        let mut ip = Ipv4Header::new(len, 64, etherparse::IpNumber::TCP, from, to).expect("a header");
        ip.ecn = if self.ecn { IpEcn::Ect0 } else { IpEcn::NotEct };
        let (from_port, to_port) = if self.back { (5_000, 1_000) } else { (1_000, 5_000) };
        let builder = PacketBuilder::ethernet2(source, destination)
            .ip(etherparse::IpHeaders::Ipv4(ip, Default::default()))
            .tcp(from_port, to_port, self.sequence, 64_000);
        let builder = if self.syn { builder.syn() } else { builder.ack(self.acknowledges) };
        let mut frame = Vec::new();
        builder.write(&mut frame, &vec![0; self.payload]).expect("a frame");
        frame
    }

    pub(crate) fn segment(&self) -> Segment {
        match wire::read(&self.frame(), 1_500) {
            Ok(Content::Tcp(segment)) => segment,
            other => panic!("{other:?}"),
        }
    }
}

/// The connection of `DATA`.
pub(crate) fn connection() -> Connection {
    let end = |host: u8, port| (IpAddr::from([198, 18, 0, host + 1]), port);
    Connection { protocol: Protocol::Tcp, from: end(0, 1_000), to: end(1, 5_000) }
}
