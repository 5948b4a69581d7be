//! Admission by drop-tail: per queue, per port, or out of a memory that the switch's ports share.

/// Which limit an arriving packet must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing is dropped.
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
    /// Dynamic thresholds (Choudhury and Hahne, 1998): a queue may grow while it is shorter than alpha times what is
    /// free in the switch's [`Pool`].
    Shared {
        /// Alpha in 1/256.
        alpha_256: u32,
    },
}

impl Admission {
    /// Whether a packet of `len` bytes may join a queue of `queue` bytes at a port of `port` bytes.
    #[inline]
    pub fn admits(self, len: u32, queue: u32, port: u64, pool: &Pool) -> bool {
        let len = u64::from(len);
        match self {
            Admission::Unlimited => true,
            Admission::PerPort { limit } => port + len <= limit,
            Admission::PerQueue { limit } => u64::from(queue) + len <= limit,
            Admission::Shared { alpha_256 } => {
                let free = pool.free();
                len <= free && (u64::from(queue) << 8) < u64::from(alpha_256) * free
            }
        }
    }
}

/// A switch's packet memory. Ports that do not share it keep it up all the same, so that its use can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    capacity: u64,
    used: u64,
}

impl Pool {
    /// A memory of so many bytes; zero where nothing is shared.
    pub fn new(capacity: u64) -> Pool {
        Pool { capacity, used: 0 }
    }

    /// Bytes that no port holds.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    /// Bytes that ports hold.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// A packet of `len` bytes is queued.
    #[inline]
    pub fn take(&mut self, len: u16) {
        self.used += u64::from(len);
    }

    /// A packet of `len` bytes left its queue.
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
        let port = Admission::PerPort { limit: 3000 };
        assert!(port.admits(1500, 0, 1500, &pool));
        assert!(!port.admits(1500, 0, 1501, &pool));
        let queue = Admission::PerQueue { limit: 3000 };
        assert!(queue.admits(1500, 1500, 9_000_000, &pool));
        assert!(!queue.admits(1501, 1500, 0, &pool));
    }

    #[test]
    fn admits__dynamic_threshold_shrinks_as_the_memory_fills() {
        let dt = Admission::Shared { alpha_256: 256 };
        let mut pool = Pool::new(10_000);
        assert!(dt.admits(1000, 6_000, 0, &pool));
        for _ in 0..5 {
            pool.take(1000);
        }
        assert!(!dt.admits(1000, 6_000, 0, &pool), "5,000 bytes free, alpha 1");
        assert!(dt.admits(1000, 4_999, 0, &pool));
        pool.give(1000);
        assert!(dt.admits(1000, 5_999, 0, &pool));
    }
}
