//! The words of the maps, as `bpf/agent.bpf.c` lays them out. Every value is an array of 64-bit words, in the machine's order.

use flowsieve_core::packet_flow::MessageEnd;
use flowsieve_core::units::Time;

/// The layout: an agent refuses maps of another one.
pub const VERSION: u64 = 1;
/// The most levels.
pub const LEVELS: usize = 8;
/// Words of an entry of `conf`.
pub const CONF_WORDS: usize = 16;
/// Words of `counts`.
pub const COUNT_WORDS: usize = 32;
/// The rules that `record` keeps at once, in their order.
pub const RULES: [MessageEnd; 3] =
    [MessageEnd::Turn, MessageEnd::TurnThenIdle(Time::from_us(1_000)), MessageEnd::Idle(Time::from_us(50_000))];
/// Their names on the command line.
pub const RULE_NAMES: [&str; 3] = ["turn", "turn-1ms", "idle-50ms"];

/// Picoseconds of a nanosecond.
const NS: u64 = 1_000;

/// What `tag` and `copy` do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conf {
    /// Bytes, rising; at most seven.
    pub thresholds: Vec<u64>,
    /// A DSCP for each level, the highest first.
    pub dscps: Vec<u8>,
    /// When a message ends.
    pub end: MessageEnd,
    /// The share of the sockets that are tagged.
    pub percent: u8,
    /// Whether packets are counted only.
    pub dry: bool,
    /// Whether a super-packet has the tag of its middle, and not that of its first byte.
    pub middle: bool,
}

impl Conf {
    /// Returns the words of an entry.
    pub fn words(&self) -> [u64; CONF_WORDS] {
        let mut words = [0; CONF_WORDS];
        words[0] = VERSION;
        for (word, threshold) in words[2..9].iter_mut().zip(&self.thresholds) {
            *word = *threshold;
        }
        words[9] = self.thresholds.len().min(LEVELS - 1) as u64;
        words[10] = self.dscps.iter().take(LEVELS).rev().fold(0, |all, &dscp| all << 8 | u64::from(dscp));
        [words[11], words[12]] = rule_words(self.end);
        [words[13], words[14], words[15]] = [self.percent.into(), self.dry.into(), self.middle.into()];
        words
    }

    /// Reads the words of an entry; `None` if they are none of this layout.
    pub fn from_words(words: &[u64; CONF_WORDS]) -> Option<Conf> {
        let count = usize::try_from(words[9]).ok().filter(|&count| count < LEVELS)?;
        let idle = Time(words[12].checked_mul(NS)?);
        let end = match (words[11], words[12]) {
            (1, 0) => MessageEnd::Turn,
            (1, _) => MessageEnd::TurnThenIdle(idle),
            (0, 1..) => MessageEnd::Idle(idle),
            _ => return None,
        };
        let conf = Conf {
            thresholds: words[2..2 + count].to_vec(),
            dscps: words[10].to_le_bytes()[..=count].to_vec(),
            end,
            percent: u8::try_from(words[13]).ok()?,
            dry: words[14] != 0,
            middle: words[15] != 0,
        };
        (words[0] == VERSION).then_some(conf)
    }
}

/// Returns a rule's words: whether a turn is needed, and the gap in ns.
pub fn rule_words(end: MessageEnd) -> [u64; 2] {
    match end {
        MessageEnd::Turn => [1, 0],
        MessageEnd::TurnThenIdle(gap) => [1, gap.0 / NS],
        MessageEnd::Idle(gap) => [0, gap.0 / NS],
    }
}

/// What a program has counted on all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets by queue, each of a super-packet's own.
    pub packets: [u64; LEVELS],
    /// Bytes of data by queue.
    pub bytes: [u64; LEVELS],
    /// Packets that are not TCP over Ethernet.
    pub other: u64,
    /// Packets that had a DSCP already.
    pub marked: u64,
    /// Packets without a full socket: of pods below, of connections that are opening or gone.
    pub no_socket: u64,
    /// Packets for whose socket the kernel had no memory.
    pub no_storage: u64,
    /// Connections that stood before.
    pub older: u64,
    /// Packets of bytes that were sent before.
    pub again: u64,
    /// Messages that began where another one ended.
    pub begun: u64,
    /// Packets outside of the share that is tagged; of `copy`, those whose DSCP is not the agent's.
    pub spared: u64,
    /// Super-packets.
    pub supers: u64,
    /// Bytes of data of the longest.
    pub longest: u64,
    /// Their bytes that lie in another queue than their tag's.
    pub moved: u64,
    /// Outer headers that were written.
    pub copied: u64,
    /// Messages that began, by rule (`record`).
    pub begun_by: [u64; 3],
    /// Messages whose beginning was not seen (`record`).
    pub unknown: u64,
}

impl Counts {
    /// Adds up the words of all processors.
    pub fn of<'a>(processors: impl IntoIterator<Item = &'a [u64; COUNT_WORDS]>) -> Counts {
        let mut sum = Counts::default();
        for words in processors {
            for level in 0..LEVELS {
                sum.packets[level] += words[level];
                sum.bytes[level] += words[LEVELS + level];
            }
            let [other, marked, no_socket, no_storage, older, again, begun, spared, rest @ ..] = &words[16..] else {
                continue;
            };
            let [supers, longest, moved, copied, turn, turn_1ms, idle, unknown] = rest else { continue };
            sum.other += other;
            sum.marked += marked;
            sum.no_socket += no_socket;
            sum.no_storage += no_storage;
            sum.older += older;
            sum.again += again;
            sum.begun += begun;
            sum.spared += spared;
            sum.supers += supers;
            sum.longest = sum.longest.max(*longest);
            sum.moved += moved;
            sum.copied += copied;
            for (sum, begun) in sum.begun_by.iter_mut().zip([turn, turn_1ms, idle]) {
                *sum += begun;
            }
            sum.unknown += unknown;
        }
        sum
    }

    /// Returns the shares of all tagged bytes, by queue; `None` without any.
    pub fn shares(&self, queues: usize) -> Option<Vec<f64>> {
        let all: u64 = self.bytes.iter().sum();
        (all > 0).then(|| self.bytes[..queues.min(LEVELS)].iter().map(|&bytes| bytes as f64 / all as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words__come_back_as_they_went() {
        for (end, thresholds) in RULES.into_iter().zip([vec![], vec![20_000], (1..8).collect()]) {
            let dscps = (0..=thresholds.len() as u8).map(|level| 35 - 4 * level).collect();
            let conf = Conf { thresholds, dscps, end, percent: 5, dry: true, middle: false };
            assert_eq!(Conf::from_words(&conf.words()), Some(conf));
        }
    }

    #[test]
    fn from_words__refuses_another_layout() {
        let conf = Conf {
            thresholds: vec![9],
            dscps: vec![3, 7],
            end: MessageEnd::Turn,
            percent: 100,
            dry: false,
            middle: true,
        };
        for (word, value) in [(0, VERSION + 1), (9, 8), (11, 2), (13, 256), (12, u64::MAX)] {
            let mut words = conf.words();
            words[word] = value;
            assert_eq!(Conf::from_words(&words), None, "word {word}");
        }
    }

    #[test]
    fn counts__are_those_of_all_processors() {
        let words: [u64; COUNT_WORDS] = std::array::from_fn(|at| at as u64);
        let counts = Counts::of([&words, &words]);
        assert_eq!((counts.packets[7], counts.bytes[0], counts.other, counts.copied), (14, 16, 32, 54));
        assert_eq!((counts.longest, counts.begun_by, counts.unknown), (25, [56, 58, 60], 62));
        assert_eq!(counts.shares(2), Some(vec![16.0 / 184.0, 18.0 / 184.0]));
        assert_eq!(Counts::default().shares(2), None);
    }
}
