//! Admission by drop-tail: per queue, per port, or out of a memory that the switch's ports share.

/// The limit that an arriving packet must keep, in addition to every port's 4 GiB, beyond which queues cannot count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// No other limit.
    Unlimited,
    /// The port's queues together hold at most this many bytes.
    PerPort {
        /// Bytes.
        limit: u64,
    },
    /// Each queue holds at most this many bytes.
    PerQueue {
        /// Bytes.
        limit: u64,
    },
    /// Dynamic thresholds (Choudhury and Hahne, 1998): a queue may grow while it is shorter than alpha times the free
    /// memory of the switch's [`Pool`].
    Shared {
        /// Alpha in 1/256.
        alpha_256: u32,
    },
}

/// The most bytes that a port may hold, pFabric's pool included.
pub(crate) const MOST_BYTES: u64 = u32::MAX as u64;

/// An [`Admission`] as a port checks it. Every limit is a number, so the common ones cost no branch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the port.
    pub(crate) port: u64,
    /// Bytes of each queue.
    pub(crate) queue: u64,
    /// Dynamic thresholds: alpha in 1/256.
    shared: Option<u32>,
}

impl Limits {
    pub(crate) fn new(admission: Admission) -> Limits {
        let none = Limits { port: MOST_BYTES, queue: MOST_BYTES, shared: None };
        match admission {
            Admission::Unlimited => none,
            Admission::PerPort { limit } => Limits { port: limit.min(MOST_BYTES), ..none },
            Admission::PerQueue { limit } => Limits { queue: limit, ..none },
            Admission::Shared { alpha_256 } => Limits { shared: Some(alpha_256), ..none },
        }
    }

    /// Returns the longest packet that an empty port accepts, if its shared memory has room ([`Limits::has_memory`]).
    pub(crate) fn of_empty_port(&self) -> u64 {
        self.port.min(self.queue)
    }

    /// Returns whether the memory that the port shares, if it does, has room for a packet of `len` bytes in a queue of
    /// `queue` bytes. With more free memory or in a shorter queue it has room, too.
    #[inline(always)]
    pub fn has_memory(&self, len: u16, queue: u64, pool: &Pool) -> bool {
        self.shared.is_none_or(|alpha_256| {
            let free = pool.free();
            u64::from(len) <= free && queue << 8 < u64::from(alpha_256).saturating_mul(free)
        })
    }

    /// Returns whether a packet of `len` bytes may join a queue of `queue` bytes at a port of `port` bytes.
    #[inline(always)]
    pub(crate) fn admit(&self, len: u16, queue: u32, port: u64, pool: &Pool) -> bool {
        let (bytes, queue) = (u64::from(len), u64::from(queue));
        port + bytes <= self.port && queue + bytes <= self.queue && self.has_memory(len, queue, pool)
    }
}

/// A switch's packet memory. The owner of the ports keeps it: for a port that shares it, the owner takes a packet's bytes
/// after the port has accepted the packet, and gives those of victims and departures back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    capacity: u64,
    used: u64,
}

impl Pool {
    /// Builds a memory of `capacity` bytes; zero if nothing is shared.
    pub fn new(capacity: u64) -> Pool {
        Pool { capacity, used: 0 }
    }

    /// Returns the bytes that no port holds.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    /// Returns the bytes that ports hold.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Counts a packet of `len` bytes that was queued.
    #[inline]
    pub fn take(&mut self, len: u16) {
        self.used += u64::from(len);
    }

    /// Frees the `len` bytes of a packet that left its queue.
    #[inline]
    pub fn give(&mut self, len: u16) {
        self.used -= u64::from(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits__limit_is_inclusive() {
        let pool = Pool::default();
        let port = Limits::new(Admission::PerPort { limit: 3000 });
        assert!(port.admit(1500, 0, 1500, &pool));
        assert!(!port.admit(1500, 0, 1501, &pool));
        let queue = Limits::new(Admission::PerQueue { limit: 3000 });
        assert!(queue.admit(1500, 1500, 9_000_000, &pool));
        assert!(!queue.admit(1501, 1500, 0, &pool));
    }

    #[test]
    fn admits__no_port_holds_more_than_its_queues_can_count() {
        let pool = Pool::new(u64::MAX);
        for admission in [
            Admission::Unlimited,
            Admission::PerPort { limit: u64::MAX },
            Admission::PerQueue { limit: u64::MAX },
            Admission::Shared { alpha_256: u32::MAX },
        ] {
            let limits = Limits::new(admission);
            assert!(limits.admit(1500, 0, u64::from(u32::MAX) - 1500, &pool), "{admission:?}");
            assert!(!limits.admit(1500, 0, u64::from(u32::MAX) - 1499, &pool), "{admission:?}");
        }
    }

    #[test]
    fn admits__dynamic_threshold_shrinks_as_the_memory_fills() {
        let dt = Limits::new(Admission::Shared { alpha_256: 256 });
        let mut pool = Pool::new(10_000);
        assert!(dt.admit(1000, 6_000, 0, &pool));
        for _ in 0..5 {
            pool.take(1000);
        }
        assert!(!dt.admit(1000, 6_000, 0, &pool), "5,000 bytes free, alpha 1");
        assert!(dt.admit(1000, 4_999, 0, &pool));
        pool.give(1000);
        assert!(dt.admit(1000, 5_999, 0, &pool));
    }

    #[test]
    fn has_memory__depends_on_nothing_but_what_is_shared() {
        let dt = Limits { port: 2_000, ..Limits::new(Admission::Shared { alpha_256: 256 }) };
        let mut pool = Pool::new(10_000);
        assert!(dt.has_memory(1500, 9_999, &pool) && !dt.has_memory(1500, 10_000, &pool));
        pool.take(9_000);
        assert!(dt.has_memory(1000, 999, &pool) && !dt.has_memory(1001, 0, &pool), "1,000 bytes are free");
        assert!(Limits::new(Admission::PerPort { limit: 0 }).has_memory(1500, 1, &pool), "it shares none");
    }
}
