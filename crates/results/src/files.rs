//! Files that are complete or absent: written under another name, then renamed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flowsieve_settings::files::Existing;
pub(crate) use flowsieve_settings::files::{PARTIAL, partial, partial_folder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ResultError;

/// The most bytes of a manifest, a part's description or another file of JSON. Each is held in memory as a whole.
const MOST_JSON_BYTES: u64 = 2_000_000_000;

/// Writes a file under its name once it is complete and on the disk. `write` fails with the path that it is given.
pub fn write_whole<T>(path: &Path, write: impl FnOnce(&mut File) -> Result<T, ResultError>) -> Result<T, ResultError> {
    let failed = |error| ResultError::io("write", path)(error);
    flowsieve_settings::files::write_whole(path, Existing::Own, failed, |out| write(out.get_mut()))
}

/// The BLAKE3 hash of a file of at most `most` bytes, in hexadecimal.
pub(crate) fn digest(path: &Path, most: u64) -> Result<String, ResultError> {
    let mut hasher = blake3::Hasher::new();
    let hashed = flowsieve_settings::files::digest_of(path, most, |bytes| {
        hasher.update(bytes);
    });
    hashed.map_err(ResultError::io("read", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The text of a file of a result.
pub fn read_text(path: &Path) -> Result<String, ResultError> {
    flowsieve_settings::files::read_text(path, MOST_JSON_BYTES).map_err(ResultError::io("read", path))
}

/// Between a JSON object and the hash of its bytes, which is its last field.
const SEAL: &str = ",\n  \"blake3\": \"";

/// The end of a JSON object.
const END: &str = "\n}";

/// Writes JSON that ends in its own hash, so that any change of it is noticed.
pub(crate) fn write_sealed(path: &Path, value: &impl Serialize) -> Result<(), ResultError> {
    write_whole(path, |file| {
        let mut body = Body { out: BufWriter::new(file), hasher: blake3::Hasher::new(), held: Vec::new() };
        serde_json::to_writer_pretty(&mut body, value).map_err(|error| ResultError::io("write", path)(error.into()))?;
        let Body { mut out, hasher, .. } = body;
        let sealed = write!(out, "{SEAL}{}\"\n}}\n", hasher.finalize().to_hex()).and_then(|()| out.flush());
        sealed.map_err(ResultError::io("write", path))
    })
}

/// The bytes of a JSON object except its end, hashed as they are written: the manifest of thousands of runs is not held in
/// memory.
struct Body<W> {
    out: W,
    hasher: blake3::Hasher,
    /// Bytes that may be the end.
    held: Vec<u8>,
}

impl<W: Write> Write for Body<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let done = self.held.len().saturating_sub(END.len());
        self.hasher.update(&self.held[..done]);
        self.out.write_all(&self.held[..done])?;
        self.held.drain(..done);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads JSON that may end in its own hash; JSON of earlier versions does not.
pub(crate) fn read_sealed<T: DeserializeOwned>(path: &Path, newest: u32) -> Result<T, ResultError> {
    let text = read_text(path)?;
    let is_whole = match text.rsplit_once(SEAL) {
        Some((body, seal)) => seal.trim_end() == format!("{}\"\n}}", blake3::hash(body.as_bytes()).to_hex()),
        None => !ends_in_hash(&text),
    };
    if !is_whole {
        return Err(ResultError::damaged(path, "its bytes are not those that were written"));
    }
    parse_json(path, &text, newest)
}

/// Whether JSON has a hash in its last field: then the field's name is damaged if it is not that of a seal.
fn ends_in_hash(text: &str) -> bool {
    let value = text.trim_end().strip_suffix('}').map(str::trim_end).and_then(|text| text.strip_suffix('"'));
    let value = value.and_then(|text| text.rsplit_once('"')).map(|(_, value)| value);
    value.is_some_and(|value| value.len() == 64 && value.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Reads JSON that carries a schema version, up to this one.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, newest: u32) -> Result<T, ResultError> {
    let text = read_text(path)?;
    parse_json(path, &text, newest)
}

/// The same of a text that was read from `path`.
pub fn parse_json<T: DeserializeOwned>(path: &Path, text: &str, newest: u32) -> Result<T, ResultError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u64,
    }
    let damaged = |error: serde_json::Error| ResultError::damaged(path, error);
    let version: Version = serde_json::from_str(text).map_err(damaged)?;
    if !(1..=u64::from(newest)).contains(&version.schema) {
        return Err(ResultError::Schema { path: path.into(), found: version.schema, expected: newest });
    }
    serde_json::from_str(text).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn read_sealed__notices_any_change_of_a_bit() {
        #[derive(Serialize, serde::Deserialize, Debug)]
        struct Kept {
            schema: u32,
            wall_s: f64,
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let read = || read_sealed::<Kept>(&path, 2);
        write_sealed(&path, &Kept { schema: 2, wall_s: 1.5 }).unwrap();
        assert_eq!(read().unwrap().wall_s, 1.5);
        let whole = fs::read(&path).unwrap();
        // Only the last line end may be another one.
        for bit in 0..8 * (whole.len() - 1) {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &changed).unwrap();
            assert!(read().is_err(), "{}", String::from_utf8_lossy(&changed));
        }
        fs::write(&path, "{\n  \"schema\": 1,\n  \"wall_s\": 2.5\n}\n").unwrap();
        assert_eq!(read().unwrap().wall_s, 2.5, "as it was without a seal");
    }

    #[test]
    fn write_whole__a_failure_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        fs::write(&path, "old").unwrap();
        let failed: Result<(), _> = write_whole(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(ResultError::io("write", &path)(std::io::ErrorKind::StorageFull.into()))
        });
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("free some space") && message.contains("manifest.json"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
