//! Results whose files were changed together with their digests: each is an error of the file, never a panic and never
//! more memory than the files are worth.

use std::fs;
use std::path::{Path, PathBuf};

use crate::made::{Made, made};
use flowsieve_record::Series;
use flowsieve_results::ResultDir;

/// More than the reader of such a small result needs, and less than any length that a byte of its files can be made to say.
const MOST_BYTES: u64 = 64_000_000;

/// A small result with a series, and its manifest without the hash of its own bytes, as manifests of before are.
struct Small {
    _folder: tempfile::TempDir,
    path: PathBuf,
    manifest: String,
}

impl Small {
    fn new() -> Small {
        let folder = tempfile::tempdir().unwrap();
        let sampled = |_: &str, _, _, run: &mut flowsieve_record::PointResult| {
            let values = (0..10).map(f64::from).collect();
            run.series.push(Series {
                name: "backlog".into(),
                of: "host-up".into(),
                first_step: 0,
                step_ps: 10,
                values,
            });
        };
        made(folder.path(), &Made { seeds: 1, flows: 20, run: sampled, ..Made::default() });
        let path = folder.path().to_owned();
        let text = fs::read_to_string(path.join("manifest.json")).unwrap();
        let (body, _) = text.rsplit_once(",\n  \"blake3\": ").unwrap();
        Small { manifest: format!("{body}\n}}\n"), path, _folder: folder }
    }

    fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.path.join(name)).unwrap()
    }

    /// Whether the result can be read with these bytes, whose hash its manifest has, in the place of a file's.
    fn reads_with(&self, name: &str, kept: &[u8], bytes: &[u8]) -> bool {
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        fs::write(self.path.join(name), bytes).unwrap();
        fs::write(self.path.join("manifest.json"), self.manifest.replace(&hash(kept), &hash(bytes))).unwrap();
        let mut reads = false;
        let taken = allocation_counter::measure(|| reads = is_read(&self.path));
        assert!(taken.bytes_max < MOST_BYTES, "{name}: {} bytes were taken", taken.bytes_max);
        reads
    }
}

fn is_read(path: &Path) -> bool {
    ResultDir::open(path).is_ok_and(|result| result.series(|_, _| true).is_ok())
}

/// The bytes of a Parquet file's footer, with its length and the magic number (parquet-format, "File format").
fn footer(bytes: &[u8]) -> std::ops::Range<usize> {
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    end - length..bytes.len()
}

/// These bytes, each with one of the changes; gives how many were refused, of how many. All bytes of a footer are tried
/// without the decoder, which takes less time.
fn refused(small: &Small, name: &str, places: impl Iterator<Item = usize>) -> (usize, usize) {
    let kept = small.file(name);
    assert!(small.reads_with(name, &kept, &kept));
    let (mut refused, mut all) = (0, 0);
    for (at, change) in places.zip([0x01, 0x40, 0xff].into_iter().cycle()) {
        let mut bytes = kept.clone();
        bytes[at] ^= change;
        all += 1;
        refused += usize::from(!small.reads_with(name, &kept, &bytes));
    }
    small.reads_with(name, &kept, &kept);
    (refused, all)
}

#[test]
fn open__of_a_hostile_footer_is_an_error_without_a_panic_or_much_memory() {
    let small = Small::new();
    for name in ["flows.parquet", "series.parquet"] {
        let footer = footer(&small.file(name));
        let (refused, all) = refused(&small, name, footer.step_by(11));
        // The others are of names, encodings and statistics that nothing reads.
        assert!(refused > all / 4, "{name}: {refused} of {all}");
    }
}

#[test]
fn open__of_hostile_pages_is_an_error_without_a_panic_or_much_memory() {
    let small = Small::new();
    for name in ["flows.parquet", "series.parquet"] {
        let footer = footer(&small.file(name));
        let (refused, all) = refused(&small, name, (4..footer.start).step_by(13));
        assert!(refused > 0, "{name}: {refused} of {all}");
    }
}

#[test]
fn open__of_a_file_cut_anywhere_is_an_error() {
    let small = Small::new();
    for name in ["flows.parquet", "series.parquet"] {
        let kept = small.file(name);
        for length in (0..kept.len()).step_by(61) {
            assert!(!small.reads_with(name, &kept, &kept[..length]), "{name}: {length}");
        }
        small.reads_with(name, &kept, &kept);
    }
}
