//! Writes files that are complete or absent: under another name first, then renamed. A file that the user names is
//! never replaced unasked.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use crate::files::kind::in_words;

/// The prefix of files and folders that are being written. A killed process leaves them.
pub const PARTIAL: &str = ".partial-";

/// What to do with an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep it, and refuse the new one.
    Refuse,
    /// Replace it, if it is a regular file: the user asked for it.
    Replace,
    /// Replace it, unless it is a folder: it is a file of the program in the program's own folder. A link is not
    /// followed.
    Own,
}

impl Existing {
    /// Converts the option `--replace`.
    pub fn replaced(replace: bool) -> Existing {
        if replace { Existing::Replace } else { Existing::Refuse }
    }
}

/// Builds temporary files with the permissions that the process gives to any new file.
pub fn partial() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PARTIAL);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// Does the same for a folder.
pub fn partial_folder() -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = partial();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    builder
}

/// Returns the folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Checks that a file can be written under this name, before the work that it takes.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if it exists and stays; [`io::ErrorKind::InvalidInput`] if it is not a regular
/// file.
pub fn check_new(path: &Path, existing: Existing) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if existing == Existing::Own && !found.is_dir() {
        return Ok(());
    }
    if !found.is_file() {
        let what = in_words(found.file_type());
        let problem = format!("is {what}, which is not replaced; expected a new name or a regular file");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    if existing == Existing::Refuse {
        let problem = "already exists and is not overwritten; expected a new name or --replace";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    Ok(())
}

/// Checks the same of a file that a user names, and that its folder is there: nothing makes it.
///
/// # Errors
/// Fails as [`check_new`] does; [`io::ErrorKind::NotFound`] without the folder.
pub fn check_named(path: &Path, existing: Existing) -> io::Result<()> {
    check_new(path, existing)?;
    if folder_of(path).is_dir() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::NotFound, "its folder does not exist"))
    }
}

/// Writes a file and gives it its name once it is complete and on the disk. It has the permissions that the process
/// gives to any new file. In a folder that cannot be written, a file that has these bytes already stays as it is.
///
/// # Errors
/// Fails as [`check_new`] does, if the file system fails (converted by `failed`), or if `write` fails. An existing file
/// then stays.
pub fn write_whole<T, E>(
    path: &Path,
    existing: Existing,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<T, E>,
) -> Result<T, E> {
    check_new(path, existing).map_err(&failed)?;
    let mut file = match partial().tempfile_in(folder_of(path)) {
        Err(error) if is_read_only(&error) && existing != Existing::Refuse => {
            return find_whole(path, error, failed, write);
        }
        file => file.map_err(&failed)?,
    };
    let mut out = BufWriter::new(file.as_file_mut());
    let value = write(&mut out)?;
    out.flush().map_err(&failed)?;
    drop(out);
    file.as_file().sync_all().map_err(&failed)?;
    let named = match existing {
        // A file that has appeared meanwhile stays, too.
        Existing::Refuse => file.persist_noclobber(path),
        Existing::Replace | Existing::Own => file.persist(path),
    };
    named.map_err(|error| failed(error.error))?;
    Ok(value)
}

/// Whether a file system refuses to be written.
pub fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Writes elsewhere what cannot be written because of `error`, and compares it with the file that is there.
fn find_whole<T, E>(
    path: &Path,
    error: io::Error,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<T, E>,
) -> Result<T, E> {
    let mut file = tempfile::tempfile().map_err(&failed)?;
    let mut out = BufWriter::new(&mut file);
    let value = write(&mut out)?;
    out.flush().map_err(&failed)?;
    drop(out);
    file.rewind().map_err(&failed)?;
    let there = File::open(path).map(BufReader::new);
    let same = there.and_then(|there| is_same(there, BufReader::new(file)));
    if same.is_ok_and(|same| same) { Ok(value) } else { Err(failed(error)) }
}

fn is_same(mut one: impl BufRead, mut other: impl BufRead) -> io::Result<bool> {
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let common = a.len().min(b.len());
        if a[..common] != b[..common] || common == 0 {
            return Ok(a.len() == b.len() && common == 0);
        }
        one.consume(common);
        other.consume(common);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, existing: Existing) -> io::Result<()> {
        write_whole(path, existing, |error| error, |out| out.write_all(b"new"))
    }

    #[test]
    fn write_whole__what_is_there_stays_unless_it_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, Existing::Refuse).unwrap();
        fs::write(&path, "old").unwrap();
        assert_eq!(write(&path, Existing::Refuse).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, Existing::Replace).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// As in a folder that cannot be written.
    #[test]
    fn find_whole__the_same_bytes_need_no_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let find = || {
            let denied = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
            find_whole(&path, denied, |error| error, |out| out.write_all(&[7; 100_000])).map_err(|error| error.kind())
        };
        let denied = Err(io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(find(), denied, "there is none");
        for (there, expected) in [
            (vec![7_u8; 100_000], Ok(())),
            (vec![7; 99_999], denied),
            (vec![7; 100_001], denied),
            ([vec![7; 99_999], vec![8]].concat(), denied),
            (Vec::new(), denied),
        ] {
            fs::write(&path, &there).unwrap();
            assert_eq!(find(), expected, "{} bytes", there.len());
            assert_eq!(fs::read(&path).unwrap(), there);
        }
    }

    #[test]
    fn write_whole__what_comes_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let written = write_whole(&path, Existing::Refuse, |error| error, |_| fs::write(&path, "other"));
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_whole__a_failure_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let failed: io::Result<()> = write_whole(
            &path,
            Existing::Replace,
            |error| error,
            |out| {
                out.write_all(b"half")?;
                Err(io::ErrorKind::StorageFull.into())
            },
        );
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn write_whole__refuses_what_is_no_regular_file_even_to_replace_it() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let (fifo, link, own) = (folder.path().join("fifo"), folder.path().join("link"), folder.path().join("own"));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::write(folder.path().join("target"), "kept").unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        for path in [&fifo, &link, &folder.path().to_owned(), &"/dev/null".into()] {
            let refused = write(path, Existing::Replace).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
        // A file of the program replaces a link, and the link's target stays.
        std::os::unix::fs::symlink("target", &own).unwrap();
        write(&own, Existing::Own).unwrap();
        assert!(own.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read(folder.path().join("target")).unwrap(), b"kept");
    }

    #[cfg(unix)]
    #[test]
    fn write_whole__is_as_open_to_others_as_any_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, any) = (folder.path().join("a"), folder.path().join("b"));
        write(&ours, Existing::Refuse).unwrap();
        fs::write(&any, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&any));
    }
}
