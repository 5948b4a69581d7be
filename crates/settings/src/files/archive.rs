//! Tar files from others: only regular files with plain headers are accepted.
//!
//! Headers of other types describe the next file, for example by a long name, and a reader takes as much memory as they
//! ask for. No archive of this program has any.

use std::io::{self, Read};

/// The types of a regular file in a header: the current one, and the older one (POSIX.1-2017, pax, ustar interchange
/// format).
const REGULAR: [u8; 2] = [b'0', b'\0'];

/// The offset of the type in a header.
const TYPE_AT: usize = 156;

/// Returns the files of an archive, in its order. An entry that is not a regular file is an error, before any of it is
/// read.
///
/// # Errors
/// Fails if the stream fails, or if it is no tar file.
pub fn regular_entries<R: Read>(
    archive: &mut tar::Archive<R>,
) -> io::Result<impl Iterator<Item = io::Result<tar::Entry<'_, R>>>> {
    let entries = archive.entries()?.raw(true);
    Ok(entries.map(|entry| {
        let entry = entry?;
        let kind = entry.header().as_bytes()[TYPE_AT];
        if !REGULAR.contains(&kind) {
            let problem = format!("a header of type {:?}; expected those of regular files, {:?}", kind as char, '0');
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(entry)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an archive whose first header has this type and size.
    fn archive(kind: u8, bytes: u64) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.set_path("bundle.json").unwrap();
        header.set_size(bytes);
        header.as_mut_bytes()[TYPE_AT] = kind;
        header.set_cksum();
        [header.as_bytes().as_slice(), &[b'a'; 1024]].concat()
    }

    fn first(bytes: &[u8]) -> io::Result<u64> {
        let mut archive = tar::Archive::new(bytes);
        let mut entries = regular_entries(&mut archive)?;
        entries.next().map_or(Ok(0), |entry| entry.map(|entry| entry.size()))
    }

    #[test]
    fn regular_entries__refuses_every_other_header_before_its_bytes() {
        assert_eq!(first(&archive(b'0', 1_000)).unwrap(), 1_000);
        assert_eq!(first(&archive(b'\0', 1_000)).unwrap(), 1_000);
        // The size alone takes no memory.
        assert_eq!(first(&archive(b'0', 1_500_000_000)).unwrap(), 1_500_000_000);
        for kind in 0..=u8::MAX {
            if !REGULAR.contains(&kind) {
                let refused = first(&archive(kind, 1_500_000_000)).unwrap_err();
                assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "{kind}");
            }
        }
    }
}
