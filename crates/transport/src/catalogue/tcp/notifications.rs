//! Which marks a host's network card passes on as congestion notifications of DCQCN. Some cards send at most one in a while to
//! each address, or from each of their ports, so that most of the flows that share a queue do not hear of it (Liu et al.,
//! Lumina, SIGCOMM 2023, §6.3).
//!
//! Classes of traffic of a host coalesce apart from each other. Packets need trails ([`flowsieve_core::hops::trails`]).

use flowsieve_core::Time;

/// How marks coalesce at the host that receives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// The least time between two that are passed on.
    pub every: Time,
    /// Whether each sending host has its own; otherwise all that arrive at the port share one.
    pub by_host: bool,
}

/// The marks that a host has passed on.
#[derive(Clone, Debug)]
pub(super) struct Notifications {
    rule: Coalescing,
    /// When the next one is passed on: by sending host, or of all.
    next: Vec<Time>,
}

impl Notifications {
    pub(super) fn new(rule: Coalescing) -> Notifications {
        Notifications { rule, next: Vec::new() }
    }

    /// Returns whether a mark in a packet from this host is passed on.
    #[cold]
    pub(super) fn passes(&mut self, now: Time, host: u16) -> bool {
        let at = if self.rule.by_host { usize::from(host) } else { 0 };
        if at >= self.next.len() {
            self.next.resize(at + 1, Time::ZERO);
        }
        let passes = now >= self.next[at];
        if passes {
            self.next[at] = now + self.rule.every;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (us, sending host, passed on by host, passed on of all)
    #[test]
    fn passes__once_in_50_us() {
        let new = |by_host| Notifications::new(Coalescing { every: Time::from_us(50), by_host });
        let (mut hosts, mut port) = (new(true), new(false));
        let trace = [
            (0, 3, true, true),
            (10, 3, false, false),
            (20, 4, true, false),
            (50, 3, true, true),
            (69, 4, false, false),
            (100, 4, true, true),
        ];
        for (us, host, by_host, by_port) in trace {
            let now = Time::from_us(us);
            assert_eq!((hosts.passes(now, host), port.passes(now, host)), (by_host, by_port), "{us} us, host {host}");
        }
    }
}
