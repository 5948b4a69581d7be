//! Data of any type that the points of a plan share.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// One value per type, created at the first request: the files that an engine has read, and the like.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>);

impl Shared {
    /// Returns the value of this type.
    pub fn of<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = values.iter().find_map(|value| Arc::clone(value).downcast().ok()) {
            return found;
        }
        let made = Arc::new(T::default());
        values.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Shared")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of__a_type_is_the_same_value_for_all_that_share() {
        let (first, other) = (Shared::default(), Shared::default());
        *first.clone().of::<Mutex<u8>>().lock().unwrap() = 7;
        assert_eq!(*first.of::<Mutex<u8>>().lock().unwrap(), 7);
        assert_eq!(*first.of::<Mutex<u16>>().lock().unwrap(), 0);
        assert_eq!(*other.of::<Mutex<u8>>().lock().unwrap(), 0);
    }
}
