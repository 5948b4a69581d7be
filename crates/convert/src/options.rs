//! What the contents of a file do not tell, and a person has to.

use crate::source::Source;

/// In what a file counts sizes.
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
    /// `bytes`, `KB` or `packets:1460`.
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

    /// Bytes of one of it.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            SizeUnit::Bytes => 1,
            SizeUnit::Kilobytes => 1_000,
            SizeUnit::Packets(payload) => payload.into(),
        }
    }

    /// In words.
    pub(crate) fn in_words(self) -> String {
        match self {
            SizeUnit::Bytes => "bytes".to_owned(),
            SizeUnit::Kilobytes => "KB of 1,000 bytes".to_owned(),
            SizeUnit::Packets(payload) => format!("packets of {payload} B"),
        }
    }
}

/// In what a file counts starts.
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
    /// `ps`, `ns` or `us`.
    pub fn parse(text: &str) -> Option<TimeUnit> {
        [("ps", TimeUnit::Ps), ("ns", TimeUnit::Ns), ("us", TimeUnit::Us)]
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, unit)| unit)
    }

    /// Picoseconds of one of it.
    pub(crate) fn ps(self) -> u64 {
        match self {
            TimeUnit::Ps => 1,
            TimeUnit::Ns => 1_000,
            TimeUnit::Us => 1_000_000,
        }
    }
}

/// What is asked for beside the file and its format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// `--size-unit`.
    pub size_unit: Option<SizeUnit>,
    /// `--time-unit`.
    pub time_unit: Option<TimeUnit>,
    /// `--shift-start`: starts are counted from the first.
    pub shift_start: bool,
    /// `--with`: the second file that some formats need, such as the topology to which a flow list belongs.
    pub with: Option<Source<'a>>,
    /// `--hosts-first`: the ids of the hosts are 0 to n−1, so that no topology has to tell which ids are hosts.
    pub hosts_first: bool,
    /// `--leave-out`: what Flowsieve does not have is left out and counted, instead of refused.
    pub leave_out: bool,
}

/// The options by the names that the command has for them.
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
}

impl Opt {
    /// Without dashes.
    pub fn name(self) -> &'static str {
        match self {
            Opt::SizeUnit => "size-unit",
            Opt::TimeUnit => "time-unit",
            Opt::ShiftStart => "shift-start",
            Opt::With => "with",
            Opt::HostsFirst => "hosts-first",
            Opt::LeaveOut => "leave-out",
        }
    }
}

impl Options<'_> {
    /// Those that are given.
    pub(crate) fn given(&self) -> impl Iterator<Item = Opt> + use<> {
        let given = [
            (self.size_unit.is_some(), Opt::SizeUnit),
            (self.time_unit.is_some(), Opt::TimeUnit),
            (self.shift_start, Opt::ShiftStart),
            (self.with.is_some(), Opt::With),
            (self.hosts_first, Opt::HostsFirst),
            (self.leave_out, Opt::LeaveOut),
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
