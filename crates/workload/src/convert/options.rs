//! What the contents of a file leave open, and the user must say.

use crate::convert::source::Source;

/// The unit of sizes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeUnit {
    /// Bytes.
    Bytes,
    /// 1,000 bytes.
    Kilobytes,
    /// Packets of this payload in bytes.
    Packets(u32),
}

impl SizeUnit {
    /// Parses `bytes`, `KB` or `packets:1460`.
    pub fn parse(text: &str) -> Option<SizeUnit> {
        match text {
            "bytes" => Some(SizeUnit::Bytes),
            "KB" | "kB" => Some(SizeUnit::Kilobytes),
            _ => {
                let payload = text.strip_prefix("packets:")?.parse().ok();
                payload.filter(|payload| (1..=1_000_000).contains(payload)).map(SizeUnit::Packets)
            }
        }
    }

    /// Returns the bytes of one unit.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            SizeUnit::Bytes => 1,
            SizeUnit::Kilobytes => 1_000,
            SizeUnit::Packets(payload) => payload.into(),
        }
    }

    /// Names it in words.
    pub(crate) fn in_words(self) -> String {
        match self {
            SizeUnit::Bytes => "bytes".to_owned(),
            SizeUnit::Kilobytes => "KB of 1,000 bytes".to_owned(),
            SizeUnit::Packets(payload) => format!("packets of {payload} B"),
        }
    }
}

/// The unit of starts in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
}

impl TimeUnit {
    /// Parses `ps`, `ns` or `us`.
    pub fn parse(text: &str) -> Option<TimeUnit> {
        [("ps", TimeUnit::Ps), ("ns", TimeUnit::Ns), ("us", TimeUnit::Us)]
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, unit)| unit)
    }

    /// Returns the picoseconds of one unit.
    pub(crate) fn ps(self) -> u64 {
        match self {
            TimeUnit::Ps => 1,
            TimeUnit::Ns => 1_000,
            TimeUnit::Us => 1_000_000,
        }
    }
}

/// The options in addition to the file and its format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// `--size-unit`.
    pub size_unit: Option<SizeUnit>,
    /// `--time-unit`.
    pub time_unit: Option<TimeUnit>,
    /// `--shift-start`: starts are counted from the first one.
    pub shift_start: bool,
    /// `--with`: the second file that some formats need, such as the topology of a flow list.
    pub with: Option<Source<'a>>,
    /// `--hosts-first`: the ids of the hosts are 0 to n−1, so that no topology is needed to identify them.
    pub hosts_first: bool,
    /// `--leave-out`: leave out and count what Flowsieve does not have, instead of refusing it.
    pub leave_out: bool,
    /// `--sampled`: one in so many packets was counted; 1 says that all were.
    pub sampled: Option<u32>,
}

/// The options, by their names in the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opt {
    /// `size-unit`.
    SizeUnit,
    /// `time-unit`.
    TimeUnit,
    /// `shift-start`.
    ShiftStart,
    /// `with`.
    With,
    /// `hosts-first`.
    HostsFirst,
    /// `leave-out`.
    LeaveOut,
    /// `sampled`.
    Sampled,
}

impl Opt {
    /// Returns its name, without dashes.
    pub fn name(self) -> &'static str {
        match self {
            Opt::SizeUnit => "size-unit",
            Opt::TimeUnit => "time-unit",
            Opt::ShiftStart => "shift-start",
            Opt::With => "with",
            Opt::HostsFirst => "hosts-first",
            Opt::LeaveOut => "leave-out",
            Opt::Sampled => "sampled",
        }
    }
}

impl Options<'_> {
    /// Returns the options that are given.
    pub(crate) fn given(&self) -> impl Iterator<Item = Opt> + use<> {
        let given = [
            (self.size_unit.is_some(), Opt::SizeUnit),
            (self.time_unit.is_some(), Opt::TimeUnit),
            (self.shift_start, Opt::ShiftStart),
            (self.with.is_some(), Opt::With),
            (self.hosts_first, Opt::HostsFirst),
            (self.leave_out, Opt::LeaveOut),
            (self.sampled.is_some(), Opt::Sampled),
        ];
        given.into_iter().filter(|(given, _)| *given).map(|(_, option)| option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__units() {
        assert_eq!(SizeUnit::parse("packets:1460"), Some(SizeUnit::Packets(1460)));
        assert_eq!(["bytes", "KB"].map(SizeUnit::parse), [Some(SizeUnit::Bytes), Some(SizeUnit::Kilobytes)]);
        for wrong in ["", "packets", "packets:", "packets:0", "packets:1000001", "packets:-1", "MB"] {
            assert_eq!(SizeUnit::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            ["ps", "ns", "us", "s"].map(|text| TimeUnit::parse(text).map(TimeUnit::ps)),
            [Some(1), Some(1_000), Some(1_000_000), None]
        );
    }
}
