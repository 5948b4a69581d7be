//! The calling thread's priority: real time, or none at all (sched(7)).
#![allow(unsafe_code)]

use std::io::Result;

use crate::calls::system::check;

/// Gives the calling thread the policy `SCHED_FIFO` with this priority, 1 to 99: it runs before every thread of lower priority and
/// before all others, until it sleeps.
///
/// # Errors
/// Fails without the capability `CAP_SYS_NICE`, and where the kernel keeps real-time priorities from the process's group.
pub fn real_time(priority: i32) -> Result<()> {
    set(libc::SCHED_FIFO, priority)
}

/// Finds out whether [`real_time`] works here, and leaves the calling thread as it was.
///
/// # Errors
/// Fails as [`real_time`] does.
pub fn may_be_real_time() -> Result<()> {
    real_time(1)?;
    set(libc::SCHED_OTHER, 0)
}

/// Gives the calling thread the policy `SCHED_IDLE`: it runs where nothing else wants the processor.
///
/// # Errors
/// Fails if the kernel does.
pub fn idle() -> Result<()> {
    set(libc::SCHED_IDLE, 0)
}

fn set(policy: libc::c_int, priority: i32) -> Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads one `sched_param`, which lives until the call returns; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const param) }).map(drop)
}
