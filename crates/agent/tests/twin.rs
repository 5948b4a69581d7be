//! The decision's own BPF instructions, run by an interpreter in this process, against core's rule: no kernel, no rights.

use flowsieve_agent::maps::{RULES, rule_words};
use flowsieve_core::packet_flow::{MessageEnd, PacketFlow, Placed, Segment};
use flowsieve_core::taggers::demotion::level;
use flowsieve_core::units::Time;
use object::{Object, ObjectSection};

/// The section of the decision alone: `struct twin` in, level and whether a message begins out.
const SECTION: &str = "classifier/twin";
/// Words of `struct twin`: flow 3, rule 2, segment 3, thresholds 7, count 1.
const WORDS: usize = 16;

/// A generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn instructions() -> Vec<u8> {
    let bytes = include_bytes!("../bpf/agent.bpf.o");
    let file = object::File::parse(&bytes[..]).expect("an object");
    file.section_by_name(SECTION).expect("the decision").data().expect("instructions").to_vec()
}

/// The kernel's side: the words that the program reads and writes.
struct Twin {
    words: [u8; WORDS * 8],
}

impl Twin {
    fn new(end: MessageEnd, thresholds: &[u64], first: &Segment, sent: u64) -> Twin {
        let mut twin = Twin { words: [0; WORDS * 8] };
        twin.set(0, sent);
        twin.set(1, first.now.0 / 1_000);
        twin.set(2, u64::from(first.received) << 32 | u64::from(first.seq));
        let [turn, gap] = rule_words(end);
        twin.set(3, turn);
        twin.set(4, gap);
        for (at, &threshold) in thresholds.iter().enumerate() {
            twin.set(8 + at, threshold);
        }
        twin.set(15, thresholds.len() as u64);
        twin
    }

    fn set(&mut self, word: usize, value: u64) {
        self.words[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn run(&mut self, vm: &rbpf::EbpfVmRaw<'_>, segment: &Segment) -> (usize, bool) {
        self.set(5, segment.now.0 / 1_000);
        self.set(6, u64::from(segment.len) << 32 | u64::from(segment.seq));
        self.set(7, u64::from(segment.received) << 32 | u64::from(segment.una));
        let answer = vm.execute_program(&mut self.words).expect("it runs");
        ((answer >> 1) as usize, answer & 1 == 1)
    }
}

/// A million packets by each rule: of a TCP with retransmissions, pauses and requests, and each 16th of one that breaks every
/// rule of TCP.
#[test]
fn decision__equals_cores_over_a_million_random_packets() {
    let program = instructions();
    let vm = rbpf::EbpfVmRaw::new(Some(&program)).expect("a program");
    for (end, seed) in RULES.into_iter().zip([88_172_645_463_325_252, 7, 20_261_130]) {
        let (mut random, mut now_ns) = (Random(seed), 1u64);
        let (mut packets, mut again, mut begun, mut levels) = (0u64, 0u64, 0u64, [0u64; 8]);
        while packets < 1_000_000 {
            // A connection of up to 3 GB near the wrap, with thresholds of its own; one of eight stood before.
            let count = random.below(8) as usize;
            let mut thresholds: Vec<u64> = (0..count).map(|_| 1 + random.below(400_000)).collect();
            thresholds.sort_unstable();
            let mut numbers = [0u32.wrapping_sub(random.below(2_000_000) as u32), random.below(1 << 32) as u32];
            let [high, received] = &mut numbers;
            let mut una = *high;
            let mut state: Option<(PacketFlow, Twin)> = None;
            for _ in 0..20_000 {
                let pauses = random.below(50) == 0;
                now_ns += random.below(if pauses { 120_000_000 } else { 20_000 });
                if random.below(if pauses { 2 } else { 3 }) == 0 {
                    una = *high;
                } else {
                    una = una.wrapping_add((random.below(u64::from(high.wrapping_sub(una)) + 1) as u32).min(3_000));
                }
                if random.below(if pauses { 2 } else { 20 }) == 0 {
                    *received = received.wrapping_add(random.below(500) as u32);
                }
                let is_again = una != *high && random.below(20) == 0;
                let most = if random.below(4) == 0 { 65_000 } else { 1_460 };
                let len = 1 + random.below(most) as u32;
                let mut segment = Segment { now: Time(now_ns * 1_000), seq: *high, len, una, received: *received };
                if is_again {
                    segment.seq = una.wrapping_add(random.below(u64::from(high.wrapping_sub(una))) as u32);
                    again += 1;
                }
                if packets % 16 == 15 {
                    segment.seq = segment.seq.wrapping_add(random.below(9_000) as u32).wrapping_sub(4_500);
                    segment.una = segment.una.wrapping_add(random.below(3) as u32).wrapping_sub(1);
                }
                let (flow, twin) = state.get_or_insert_with(|| {
                    let sent = if random.below(8) == 0 { random.below(1 << 40) } else { 0 };
                    (PacketFlow::new(&segment, sent), Twin::new(end, &thresholds, &segment, sent))
                });
                let Placed { before, begins } = flow.on_segment(end, &segment);
                let wanted = level(&thresholds, before);
                assert_eq!(twin.run(&vm, &segment), (wanted, begins), "packet {packets} by {end:?}: {segment:?}");
                let stop = segment.seq.wrapping_add(segment.len);
                if (stop.wrapping_sub(*high) as i32) > 0 {
                    *high = stop;
                }
                if (una.wrapping_sub(*high) as i32) > 0 {
                    una = *high;
                }
                begun += u64::from(begins);
                levels[wanted] += 1;
                packets += 1;
            }
        }
        // The comparison is of something.
        assert!(
            again > 10_000 && begun > 1_000 && levels.iter().all(|&count| count > 1_000),
            "{again} {begun} {levels:?}"
        );
        println!("{end:?}: {packets} packets equal, {again} sent again, {begun} messages, by level {levels:?}");
    }
}
