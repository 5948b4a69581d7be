//! Sizes by a logarithmic histogram: 8 bins an octave, each with its messages and their bytes.

use std::fmt::Write as _;

/// The bins: sizes up to 7 have one each, and each octave above has 8 of one width, up to 16 GB.
pub(crate) const BINS: usize = 256;
/// The most rows of a file.
const MOST_ROWS: u64 = 1_000_000;

/// What is in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Its messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The sizes of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins(pub Vec<Bin>);

impl Default for Bins {
    fn default() -> Bins {
        Bins(vec![Bin::default(); BINS])
    }
}

impl Bins {
    /// Returns the bin of a size, as the kernel's program does.
    pub fn bin_of(size: u64) -> usize {
        match size.checked_ilog2() {
            None | Some(0..3) => size as usize,
            Some(octave @ 3..34) => (octave as usize - 2) * 8 + (size >> (octave - 3) & 7) as usize,
            Some(_) => BINS - 1,
        }
    }

    /// Adds a message.
    pub fn add(&mut self, size: u64) {
        let bin = &mut self.0[Bins::bin_of(size)];
        (bin.messages, bin.bytes) = (bin.messages + 1, bin.bytes + size);
    }

    /// Returns what has come since an earlier reading.
    pub fn since(&self, earlier: &Bins) -> Bins {
        let bin = |(now, then): (&Bin, &Bin)| Bin {
            messages: now.messages.saturating_sub(then.messages),
            bytes: now.bytes.saturating_sub(then.bytes),
        };
        Bins(self.0.iter().zip(&earlier.0).map(bin).collect())
    }

    /// Returns all messages, and all their bytes.
    pub fn total(&self) -> Bin {
        self.0.iter().fold(Bin::default(), |sum, bin| Bin {
            messages: sum.messages + bin.messages,
            bytes: sum.bytes + bin.bytes,
        })
    }

    /// Returns the mean size in each bin that has messages, and their number.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.0.iter().filter(|bin| bin.messages > 0);
        used.map(|bin| ((bin.bytes + bin.messages / 2) / bin.messages, bin.messages))
    }

    /// Returns the sizes as a file of a column, for `tune --sizes`: a row a message, with the mean of its bin. Of more than a
    /// million messages a row stands for several, and no bin is left out.
    pub fn csv(&self) -> String {
        let each = self.total().messages.div_ceil(MOST_ROWS).max(1);
        let mut text = "bytes\n".to_owned();
        for (mean, messages) in self.counts() {
            for _ in 0..messages.div_ceil(each) {
                let _ = writeln!(text, "{mean}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bin_of__has_eight_an_octave() {
        assert_eq!([0, 1, 7, 8, 9, 15, 16, 17, 18, 31, 32].map(Bins::bin_of), [0, 1, 7, 8, 9, 15, 16, 16, 17, 23, 24]);
        assert_eq!([(1 << 34) - 1, 1 << 34, u64::MAX].map(Bins::bin_of), [255, 255, 255]);
        for size in 8..200_000u64 {
            let (here, next) = (Bins::bin_of(size), Bins::bin_of(size + size.div_ceil(7)));
            assert!(next > here, "a seventh more is another bin: {size}");
            assert!(Bins::bin_of(size + 1) <= here + 1, "no bin is left out: {size}");
        }
    }

    #[test]
    fn csv__keeps_messages_and_bytes() {
        let mut bins = Bins::default();
        for size in [100, 101, 103, 5_000] {
            bins.add(size);
        }
        assert_eq!(bins.csv(), "bytes\n101\n101\n101\n5000\n");
        assert_eq!(bins.total(), Bin { messages: 4, bytes: 5_304 });
        assert_eq!(Bins::default().csv(), "bytes\n");
    }

    #[test]
    fn csv__of_many_messages_is_short_and_keeps_rare_ones() {
        let mut bins = Bins::default();
        (bins.0[40], bins.0[200]) =
            (Bin { messages: 30_000_000, bytes: 3_000_000_000 }, Bin { messages: 1, bytes: 77_777_777 });
        let text = bins.csv();
        assert!(text.lines().count() < 1_000_010 && text.ends_with("\n77777777\n"), "{}", text.lines().count());
    }
}
