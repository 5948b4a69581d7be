use super::*;
use crate::site::Racks;

const US: u64 = 1_000_000;

fn rate() -> Rate {
    Rate::new(40_000_000_000).unwrap()
}

/// 200 us between probes, forgotten after 600 us; a line of 40 Gbit/s carries 2 MB in its memory of 400 us.
fn params() -> HulaParams {
    HulaParams {
        interval: Time::from_us(200),
        flowlet_gap: Time::from_us(500),
        age: Time::from_us(600),
        memory: Time::from_us(400),
        probe_priority: 3,
    }
}

/// A switch in a fabric of four racks with one host each. Its ports lead to switches at `places`; `ways` are the ports to
/// each rack. A leaf has its host behind its first port.
fn site(place: Place, places: &[Place], ways: [&[u16]; 4]) -> Site {
    let behind = |(number, &place): (u32, &Place)| SitePort {
        behind: if place == Place::Nic { Node::Host(number) } else { Node::Switch(number) },
        place,
        rate: rate(),
        delay: Time::ZERO,
    };
    Site {
        node: Node::Switch(9),
        place,
        ports: (0..).zip(places).map(behind).collect(),
        port: None,
        groups: ways.map(<[u16]>::to_vec).into(),
        next: [0, 1, 2, 3].into(),
        racks: Racks::new(vec![0, 1, 2, 3]).into(),
        seed: 7,
    }
}

/// The leaf of rack 0, with two spines behind ports 1 and 2.
fn leaf() -> Hula {
    let up: &[u16] = &[1, 2];
    Hula::new(&site(Place::Leaf, &[Place::Nic, Place::Spine, Place::Spine], [&[0], up, up, up]), params())
}

/// An aggregation switch: racks 0 and 1 behind ports 0 and 1, racks 2 and 3 beyond the cores behind ports 2 and 3.
fn aggregation() -> Hula {
    let up: &[u16] = &[2, 3];
    let places = [Place::Leaf, Place::Leaf, Place::Core, Place::Core];
    Hula::new(&site(Place::Spine, &places, [&[0], &[1], up, up]), params())
}

/// Ports with the bytes that they have sent, and the packets sent through them.
#[derive(Default)]
struct Ports {
    bytes: [u64; 4],
    sent: Vec<(u16, Probe)>,
    forgotten: Vec<(u16, u16)>,
}

impl SwitchPorts for Ports {
    fn backlog_bytes(&mut self, _: u16) -> u64 {
        panic!("not asked")
    }

    fn sent_bytes(&mut self, port: u16) -> u64 {
        self.bytes[usize::from(port)]
    }

    fn send(&mut self, packet: ProgramPacket) {
        assert_eq!((packet.len, packet.priority), (64, 3));
        self.sent.push((packet.port, Probe::unpacked(packet.payload)));
    }

    fn forget(&mut self, group: u16, way: u16) {
        self.forgotten.push((group, way));
    }
}

/// Delivers a rack's probe; returns the ports that forward it, and with which utilisation.
fn probe(hula: &mut Hula, ports: &mut Ports, (rack, round): (u32, u64), (port, used): (u16, u32), at_us: u64) -> Sent {
    let payload = Probe { rack, used, round }.packed();
    let packet = ProgramPacket { port, len: PROBE_BYTES, priority: 3, payload };
    hula.on_program_packet(&packet, Time::from_us(at_us), ports);
    let sent = std::mem::take(&mut ports.sent);
    assert!(sent.iter().all(|(_, probe)| (probe.rack, probe.round) == (rack, round)));
    sent.iter().map(|(port, probe)| (*port, probe.used)).collect()
}

type Sent = Vec<(u16, u32)>;

/// Returns the port by which a flowlet to a host leaves.
fn way(hula: &mut Hula, host: u16, flow: u32) -> u16 {
    let packet = Meta { dst: host, flow, ..Meta::default() };
    let way = hula.choose(&packet, 0, host, Time::ZERO, &mut Ports::default());
    hula.site.groups[usize::from(host)][way]
}

#[test]
fn utilisation__bytes_that_fade_by_hand() {
    let mut line = Line::new(rate());
    let mut at = |us: u64, sent| line.utilisation(sent, Time(us * US), Time::from_us(400));
    // 100 us at the full rate are 500,000 B, a quarter of what the memory holds.
    assert_eq!(at(100, 500_000), 250_000);
    // Three quarters of these are left, and 500,000 arrive: 875,000 B.
    assert_eq!(at(200, 1_000_000), 437_500);
    // Asked again at the same instant.
    assert_eq!(at(200, 1_000_000), 437_500);
    // Half of 875,000 B.
    assert_eq!(at(400, 1_000_000), 218_750);
    // Half of 2,000,000 B in 800 us counts.
    assert_eq!(at(1_200, 3_000_000), 500_000);
    // Nothing is left after the memory's time.
    assert_eq!(at(1_600, 3_000_000), 0);
}

#[test]
fn utilisation__of_a_line_that_is_always_busy_is_whole() {
    let mut line = Line::new(rate());
    for n in 1..1_000 {
        let used = line.utilisation(n * 500_000, Time::from_us(100 * n), Time::from_us(400));
        // Fractions of bytes are dropped.
        assert!(n < 100 || (999_990..=1_000_000).contains(&used), "{n}: {used}");
    }
}

#[test]
fn on_program_packet__keeps_the_better_way_and_its_newer_value() {
    let (mut leaf, mut ports) = (leaf(), Ports::default());
    let mut heard = |port, used, at_us| {
        assert_eq!(probe(&mut leaf, &mut ports, (2, at_us), (port, used), at_us), [], "a leaf has nothing below");
        way(&mut leaf, 2, 0)
    };
    assert_eq!(heard(1, 300_000, 1), 1);
    assert_eq!(heard(2, 300_000, 2), 1, "as good");
    assert_eq!(heard(2, 299_999, 3), 2, "better");
    assert_eq!(heard(2, 900_000, 4), 2, "worse, but newer");
    assert_eq!(heard(1, 500_000, 5), 1, "better than the newer");
}

#[test]
fn on_program_packet__its_own_line_may_be_the_most_used() {
    let (mut leaf, mut ports) = (leaf(), Ports::default());
    // Port 1 has sent 800,000 of 2,000,000 B.
    ports.bytes[1] = 800_000;
    probe(&mut leaf, &mut ports, (2, 1), (1, 100_000), 200);
    assert_eq!(leaf.best[2].map(|best| best.used), Some(400_000));
    // The probe on the other path reports more than its line.
    ports.bytes[2] = 200_000;
    probe(&mut leaf, &mut ports, (2, 1), (2, 390_000), 200);
    assert_eq!(leaf.best[2].map(|best| (best.port, best.used)), Some((2, 390_000)));
    // Nothing was sent for 200 us: a half of 400,000, and for 300 us: a quarter of that.
    probe(&mut leaf, &mut ports, (2, 2), (1, 0), 400);
    assert_eq!(leaf.best[2].map(|best| (best.port, best.used)), Some((1, 200_000)));
    probe(&mut leaf, &mut ports, (2, 3), (1, 0), 700);
    assert_eq!(leaf.best[2].map(|best| (best.port, best.used)), Some((1, 50_000)));
}

#[test]
fn on_program_packet__a_silent_way_gives_way_to_any() {
    let (mut leaf, mut ports) = (leaf(), Ports::default());
    let mut heard = |port, used, at_us| {
        probe(&mut leaf, &mut ports, (2, at_us), (port, used), at_us);
        way(&mut leaf, 2, 0)
    };
    assert_eq!(heard(1, 0, 200), 1);
    assert_eq!(heard(2, 900_000, 400), 1);
    assert_eq!(heard(2, 900_000, 600), 1);
    assert_eq!(heard(2, 900_000, 799), 1, "silent for 599 us");
    assert_eq!(heard(2, 900_000, 800), 2, "silent for 600 us");
    assert_eq!(heard(1, 0, 1_000), 1, "it is back");
}

#[test]
fn on_program_packet__flowlets_leave_a_path_that_is_silent() {
    let (mut leaf, mut ports) = (leaf(), Ports::default());
    // Both paths to rack 2 are heard every 200 us, then only that by port 1; the best is port 1 all the time.
    for round in 1..=5 {
        probe(&mut leaf, &mut ports, (2, round), (1, 0), 200 * round);
        if round <= 2 {
            probe(&mut leaf, &mut ports, (2, round), (2, 100), 200 * round);
        }
        // Port 2 was last heard at 400 us: 600 us later its flowlets end. Racks 1 to 3 have groups of the same two ports.
        let ended: &[(u16, u16)] = if round < 5 { &[] } else { &[(1, 1), (2, 1), (3, 1)] };
        assert_eq!(ports.forgotten, ended, "round {round}");
    }
    probe(&mut leaf, &mut ports, (2, 6), (1, 0), 1_200);
    assert_eq!(ports.forgotten.len(), 3, "it is dead already");
}

#[test]
fn choose__by_rack_and_by_hash_until_one_is_known() {
    let (mut leaf, mut ports) = (leaf(), Ports::default());
    let by_hash: Vec<u16> = (0..40).map(|flow| way(&mut leaf, 1, flow)).collect();
    assert!(by_hash.contains(&1) && by_hash.contains(&2));
    probe(&mut leaf, &mut ports, (2, 1), (2, 0), 1);
    assert_eq!((0..40).map(|flow| way(&mut leaf, 1, flow)).collect::<Vec<_>>(), by_hash);
    assert!((0..40).all(|flow| way(&mut leaf, 2, flow) == 2));
}

#[test]
fn on_program_packet__down_everywhere_and_up_only_from_below() {
    let (mut aggregation, mut ports) = (aggregation(), Ports::default());
    let mut heard = |rack, port, used| probe(&mut aggregation, &mut ports, (rack, 1), (port, used), 200);
    assert_eq!(heard(0, 0, 5), [(1, 5), (2, 5), (3, 5)], "from below");
    assert_eq!(heard(2, 3, 7), [(0, 7), (1, 7)], "from above");
    assert_eq!(heard(1, 3, 0), [], "it has gone round");
    assert!(aggregation.best[1].is_none());
}

#[test]
fn on_program_packet__passes_on_what_changed_if_it_is_the_best_of_its_round() {
    let (mut aggregation, mut ports) = (aggregation(), Ports::default());
    let mut heard =
        |round, port, used| probe(&mut aggregation, &mut ports, (2, round), (port, used), 200 * round).len();
    assert_eq!(heard(1, 2, 50), 2, "the first");
    assert_eq!(heard(1, 3, 50), 0, "no better, and of the same round");
    assert_eq!(heard(1, 3, 40), 2, "better");
    assert_eq!(heard(1, 3, 40), 0, "the same again");
    assert_eq!(heard(2, 2, 45), 0, "no better than 40");
    assert_eq!(heard(2, 3, 60), 2, "newer");
    assert_eq!(heard(3, 2, 60), 0);
    assert_eq!(heard(3, 2, 59), 2, "better");
    assert_eq!(heard(2, 2, 1), 0, "of a round that is over");
    assert_eq!(heard(u64::from(u32::MAX) + 9, 2, 1), 2, "rounds have 64 bits");
}

#[test]
fn on_timer__leaves_probe_upwards_one_after_the_other() {
    let mut fired = Vec::new();
    for rack in 0..4u16 {
        let mut ways: [&[u16]; 4] = [&[1, 2]; 4];
        ways[usize::from(rack)] = &[0];
        let mut place = site(Place::Leaf, &[Place::Nic, Place::Spine, Place::Spine], ways);
        let mut hosts = place.ports.to_vec();
        hosts[0].behind = Node::Host(rack.into());
        place.ports = hosts.into();
        let (mut leaf, mut ports) = (Hula::new(&place, params()), Ports::default());
        for round in 1..3 {
            fired.push(leaf.next_timer());
            leaf.on_timer(leaf.next_timer(), &mut ports);
            let probe = Probe { rack: rack.into(), used: 0, round };
            assert_eq!(std::mem::take(&mut ports.sent), [(1, probe), (2, probe)]);
        }
    }
    assert_eq!(fired, [0, 200, 50, 250, 100, 300, 150, 350].map(Time::from_us));
    assert_eq!(aggregation().next_timer(), Time::NEVER);
}
