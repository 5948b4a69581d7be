//! Third-party decoders, which trust what they read.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is turned into an error.
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `decode`, or the message of its panic: a panic of a third-party decoder on hostile bytes is an
/// error in the file, and is not printed. `decode` must leave nothing half-done.
///
/// # Errors
/// Fails if it panics.
pub fn fenced<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !FENCED.get() {
                others(panic);
            }
        }));
    });
    let outer = FENCED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(decode));
    FENCED.set(outer);
    done.map_err(|panic| in_words(&*panic))
}

fn in_words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("its decoder failed: {}", said.as_deref().unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced__a_panic_is_an_error() {
        assert_eq!(fenced(|| 3), Ok(3));
        let none: Vec<u8> = Vec::new();
        let said = fenced(|| none[std::hint::black_box(2)]).unwrap_err();
        assert!(said.contains("index out of bounds"), "{said}");
        assert!(!FENCED.get());
    }
}
