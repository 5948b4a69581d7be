//! How soon the allocator gives memory back that is free.

#![allow(unsafe_code)]

use libmimalloc_sys::{mi_option_get, mi_option_set_default, mi_option_t};

/// `mi_option_purge_delay` of mimalloc's header: milliseconds after which free memory goes back to the system. The library has
/// the function, and not this name.
const PURGE_DELAY: mi_option_t = 15;

/// Lets free memory go back to the system after 50 ms. The allocator's own second is longer than it takes to make a run's
/// result, in which what hosts knew of a million flows is freed while their rows come to be. A delay that the environment
/// states (`MIMALLOC_PURGE_DELAY`) holds. To be called before the program has threads.
pub fn free_memory_soon() {
    // SAFETY: both take a number of an option, and do nothing if there is no such option. They read and write a static table
    // without locks, which other threads may only read meanwhile; a delay that is read before or after is right.
    unsafe {
        // Reads the environment, so that it wins.
        mi_option_get(PURGE_DELAY);
        mi_option_set_default(PURGE_DELAY, 50);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_soon__the_option_is_the_delay() {
        let delay = || {
            // SAFETY: it reads a number of a static table, which only this test writes.
            unsafe { mi_option_get(PURGE_DELAY) }
        };
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
            return eprintln!("skipped: MIMALLOC_PURGE_DELAY is set");
        }
        // No other option of the allocator has this value.
        assert_eq!(delay(), 1_000);
        free_memory_soon();
        assert_eq!(delay(), 50);
    }
}
