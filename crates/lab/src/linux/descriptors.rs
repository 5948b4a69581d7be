//! Open files of the process: each connection has two.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::LabError;

/// Files that a run opens beside its connections and listeners, with some to spare.
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as the process may, and returns it.
pub fn most_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // At worst it stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Makes room for this many connections from each host to each other one.
///
/// # Errors
/// Fails if the process may not open as many files.
pub fn room_for_connections(each: u64, hosts: u64) -> Result<(), LabError> {
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    fits(each, hosts, most_descriptors().saturating_sub(open + OTHERS))
}

fn fits(each: u64, hosts: u64, free: u64) -> Result<(), LabError> {
    let of_one = 2 * hosts * hosts.saturating_sub(1);
    let (needed, most) = (each * of_one + hosts, free.saturating_sub(hosts) / of_one.max(1));
    if needed <= free {
        return Ok(());
    }
    let less = match most {
        0 => "fewer hosts".to_owned(),
        most => format!("connections_per_pair of at most {most} in [lab], fewer hosts"),
    };
    Err(LabError::NotPermitted {
        what: format!(
            "{needed} more open files, two for each of {each} connections from each of {hosts} hosts to each other one"
        ),
        problem: format!("{free} are left"),
        expected: format!("{less}, or a limit that is higher by {} (`ulimit -n`)", needed - free),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight hosts have 56 pairs: 48 connections of two files each are 5,376, and each host listens.
    #[test]
    fn fits__what_two_files_a_connection_leave() {
        assert_eq!(fits(48, 8, 5_384), Ok(()));
        let said = fits(48, 8, 5_383).unwrap_err().to_string();
        let expected =
            "connections_per_pair of at most 47 in [lab], fewer hosts, or a limit that is higher by 1 (`ulimit -n`)";
        assert!(said.contains("5384 more open files") && said.ends_with(expected), "{said}");
        assert!(fits(1, 64, 8_000).unwrap_err().to_string().contains("expected fewer hosts, or a limit"));
        assert_eq!(fits(0, 4, 100), Ok(()));
    }
}
