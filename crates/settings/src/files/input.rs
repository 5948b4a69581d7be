//! Opens files for reading: only regular files of a limited size. Reading a FIFO or a device might never end, or never
//! begin.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::files::kind::in_words;

/// The most bytes of a file, unless its reader has a lower limit.
pub const MOST_BYTES: u64 = 16_000_000_000;

/// The most bytes of a line.
pub const LINE_BYTES: usize = 10_000;

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// Opens a regular file, or a link to one, of at most `most` bytes. Anything else is refused without waiting or
/// reading.
///
/// # Errors
/// Fails if the file system does; [`io::ErrorKind::InvalidData`] if it is not a regular file, or is too long.
pub fn open(path: &Path, most: u64) -> io::Result<File> {
    // Opening a device may already have an effect.
    check(&std::fs::metadata(path)?, most)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // If it has become a FIFO meanwhile, do not wait for it. Regular files are not affected.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    check(&file.metadata()?, most)?;
    Ok(file)
}

/// Opens it as a stream that ends with an error if the file has grown beyond the limit.
///
/// # Errors
/// Fails as [`open`] does.
pub fn open_text(path: &Path, most: u64) -> io::Result<Bounded<File>> {
    Ok(Bounded::new(open(path, most)?, most))
}

/// Reads all bytes of a file of at most `most` bytes.
///
/// # Errors
/// Fails as [`open`] does.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_text(path, most)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a file of at most `most` bytes. Zero bytes, as in a file with holes, are not text and are not
/// kept.
///
/// # Errors
/// Fails as [`open`] does; [`io::ErrorKind::InvalidData`] if it is not UTF-8 text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut file = open_text(path, most)?;
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        if let Some(at) = chunk[..count].iter().position(|&byte| byte == 0) {
            return Err(invalid(format!("has a zero byte at {}; expected a text file", bytes.len() + at)));
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(bytes).map_err(|_| invalid("is not UTF-8 text; expected a text file".to_owned()))
}

/// Passes a file to `take` in pieces, for sums over all of its bytes.
///
/// # Errors
/// Fails as [`open`] does.
pub fn digest_of(path: &Path, most: u64, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut file, mut chunk) = (open_text(path, most)?, vec![0; CHUNK]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(()),
            count => take(&chunk[..count]),
        }
    }
}

fn check(metadata: &std::fs::Metadata, most: u64) -> io::Result<()> {
    if !metadata.is_file() {
        return Err(invalid(format!("is {}; expected a regular file", in_words(metadata.file_type()))));
    }
    if metadata.len() > most {
        return Err(too_long(metadata.len(), most));
    }
    Ok(())
}

fn too_long(bytes: u64, most: u64) -> io::Error {
    invalid(format!("has {bytes} bytes; expected {most} at most"))
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// A stream of at most a given number of bytes; one more is an error.
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    read: u64,
    most: u64,
}

impl<R> Bounded<R> {
    /// Limits `inner`.
    pub fn new(inner: R, most: u64) -> Bounded<R> {
        Bounded { inner, read: 0, most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        if self.read > self.most { Err(too_long(self.read, self.most)) } else { Ok(count) }
    }
}

/// A stream of lines of at most [`LINE_BYTES`] each; a longer line is an error before it is kept. For readers of rows
/// without such a limit.
#[derive(Debug)]
pub struct ShortLines<R> {
    inner: R,
    /// The current line, from 1.
    line: u64,
    /// Bytes of the line so far.
    bytes: usize,
}

impl<R> ShortLines<R> {
    /// Limits the lines of `inner`.
    pub fn new(inner: R) -> ShortLines<R> {
        ShortLines { inner, line: 1, bytes: 0 }
    }
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for &byte in &buffer[..count] {
            if byte == b'\n' {
                (self.line, self.bytes) = (self.line + 1, 0);
                continue;
            }
            self.bytes += 1;
            if self.bytes > LINE_BYTES {
                let line = self.line;
                return Err(invalid(format!("line {line} is longer than {LINE_BYTES} bytes; expected a shorter one")));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(path: &Path, most: u64) -> (io::ErrorKind, String) {
        let error = open(path, most).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn open__refuses_what_is_no_regular_file_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let invalid = |what: &str| (io::ErrorKind::InvalidData, format!("is {what}; expected a regular file"));
        assert_eq!(kind_of(folder.path(), 9), invalid("a folder"));
        #[cfg(unix)]
        {
            let fifo = folder.path().join("fifo");
            make_fifo(&fifo);
            assert_eq!(kind_of(&fifo, 9), invalid("a FIFO"));
            assert_eq!(kind_of(Path::new("/dev/zero"), 9), invalid("a device"));
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&fifo, &link).unwrap();
            assert_eq!(kind_of(&link, 9), invalid("a FIFO"));
        }
        assert_eq!(kind_of(&folder.path().join("none"), 9).0, io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    fn make_fifo(path: &Path) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    #[test]
    fn open__refuses_a_sparse_file_by_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let said = "has 1099511627776 bytes; expected 16000000000 at most".to_owned();
        assert_eq!(kind_of(&path, MOST_BYTES), (io::ErrorKind::InvalidData, said));
        File::create(&path).unwrap().set_len(10).unwrap();
        assert!(open(&path, 10).is_ok() && open(&path, 9).is_err());
    }

    #[test]
    fn read_text__does_not_keep_the_holes_of_a_file() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"{ }").unwrap();
        file.set_len(1 << 33).unwrap();
        let error = read_text(&path, 1 << 34).unwrap_err();
        assert_eq!(error.to_string(), "has a zero byte at 3; expected a text file");
        file.set_len(3).unwrap();
        assert_eq!(read_text(&path, 3).unwrap(), "{ }");
    }

    #[test]
    fn bounded__ends_with_an_error_where_a_stream_grows() {
        let mut bytes = Vec::new();
        assert!(Bounded::new(io::repeat(1), 100_000).read_to_end(&mut bytes).is_err());
        assert!(bytes.len() <= 200_000);
        bytes.clear();
        assert_eq!(Bounded::new(io::repeat(1).take(100), 100).read_to_end(&mut bytes).unwrap(), 100);
    }

    #[test]
    fn short_lines__names_the_line_that_is_too_long() {
        let text = format!("{}\n{}\n{}", "a".repeat(LINE_BYTES), "b", "c".repeat(LINE_BYTES + 1));
        let error = ShortLines::new(text.as_bytes()).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "line 3 is longer than 10000 bytes; expected a shorter one");
        let text = &text[..text.len() - 1];
        assert_eq!(ShortLines::new(text.as_bytes()).read_to_end(&mut Vec::new()).unwrap(), text.len());
    }
}
