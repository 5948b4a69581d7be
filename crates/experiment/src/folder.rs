//! The folder of an experiment: what its paths are relative to, and what was read there.

use crate::bundle::Unpacked;
use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder that an experiment's paths are relative to. All points of a plan share one, with the files that engines
/// have read from it. A folder that exists for one experiment alone is removed when its last user is dropped.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    path: PathBuf,
    /// Kept for its drop, which removes the folder.
    _unpacked: Option<Arc<Unpacked>>,
    /// Texts of schemes by name, which a result holds: they come before files.
    schemes: Arc<BTreeMap<String, String>>,
    /// One value of each type, created at the first request.
    read: Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>,
}

impl Folder {
    /// Names a folder that exists.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), ..Folder::default() }
    }

    /// Names a folder inside a bundle's own.
    pub(crate) fn inside(unpacked: Unpacked, path: PathBuf) -> Folder {
        Folder { path, _unpacked: Some(Arc::new(unpacked)), ..Folder::default() }
    }

    /// Returns the same folder with these texts of schemes by name.
    pub(crate) fn with_schemes(self, schemes: &BTreeMap<String, String>) -> Folder {
        Folder { schemes: Arc::new(schemes.clone()), ..self }
    }

    /// Returns the text of a scheme that it holds beside files.
    pub(crate) fn scheme(&self, name: &str) -> Option<&str> {
        self.schemes.get(name).map(String::as_str)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the same folder with nothing read: a new plan reads its files again.
    #[must_use]
    pub(crate) fn unread(&self) -> Folder {
        Folder { read: Arc::default(), ..self.clone() }
    }

    /// Returns the value of this type, which all clones share: the files that an engine has read, and the like.
    pub fn of<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut values = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = values.iter().find_map(|value| Arc::clone(value).downcast().ok()) {
            return found;
        }
        let made = Arc::new(T::default());
        values.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of__a_type_is_the_same_value_for_all_that_share() {
        let (first, other) = (Folder::default(), Folder::default());
        *first.clone().of::<Mutex<u8>>().lock().unwrap() = 7;
        assert_eq!(*first.of::<Mutex<u8>>().lock().unwrap(), 7);
        assert_eq!(*first.of::<Mutex<u16>>().lock().unwrap(), 0);
        assert_eq!(*other.of::<Mutex<u8>>().lock().unwrap(), 0);
        assert_eq!(*first.unread().of::<Mutex<u8>>().lock().unwrap(), 0);
    }
}
