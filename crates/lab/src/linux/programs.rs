//! Programs in a lab's namespaces.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{process, thread};

use crate::calls::{End, end_process};

use super::NAMESPACES;

/// How long programs may take to end in their own way, and then at once.
const PATIENCE: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// Ends all programs in these network namespaces, and returns how many there were. They have no network any more.
pub(super) fn end_in(namespaces: &[String]) -> usize {
    let inside: Vec<u64> = namespaces
        .iter()
        .filter_map(|name| fs::metadata(Path::new(NAMESPACES).join(name)).ok())
        .map(|of| of.ino())
        .collect();
    let first = programs(&inside);
    for (how, patience) in [End::Ask, End::Force].into_iter().zip(PATIENCE) {
        let begun = Instant::now();
        // One that is gone already needs no end.
        programs(&inside).into_iter().for_each(|program| drop(end_process(program, how)));
        while !programs(&inside).is_empty() && begun.elapsed() < patience {
            thread::sleep(Duration::from_millis(20));
        }
    }
    first.len()
}

/// Returns the processes whose network namespace is one of these, except for this one.
fn programs(inside: &[u64]) -> Vec<u32> {
    if inside.is_empty() {
        return Vec::new();
    }
    let numbers = fs::read_dir("/proc").into_iter().flatten();
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_inside = |number: &u32| {
        let namespace = fs::metadata(format!("/proc/{number}/ns/net"));
        *number != process::id() && namespace.is_ok_and(|of| inside.contains(&of.ino()))
    };
    numbers.filter(is_inside).collect()
}
