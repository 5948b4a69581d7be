//! Proportional rate reduction (RFC 9937, which replaces RFC 6937): how many segments may leave while a cut window falls.
//!
//! The control sets its window to the target at once, RFC 9937's `ssthresh`. During a round trip, each ACK allows a share
//! of what it delivers, so that the window reaches the target when the last segment of the window is acknowledged. If more
//! was lost than the cut takes, the window rises to the target instead, by at most one segment more than was delivered.
//!
//! Linux does the same after marks (`tcp_cwnd_reduction`, `tcp_enter_cwr` in `net/ipv4/tcp_input.c`). It takes the window
//! before the cut for `RecoverFS`; here that is what was in the network, as in the RFC. The two differ for a sender that
//! had not filled its window.

/// A reduction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Falling {
    /// It ends when all below this segment is acknowledged.
    pub(crate) until: u32,
    /// It began with a mark. Then it ends one segment later, as in Linux and as the next cut may come.
    for_mark: bool,
    /// The segments in the network when it began (`RecoverFS`).
    flight: u32,
    /// No ACK has been handled since, so that `flight` lacks what the first one delivers.
    fresh: bool,
    /// Segments delivered and sent since (`prr_delivered`, `prr_out`).
    delivered: u32,
    out: u32,
    /// How many may be in the network, at most `most`.
    window: u32,
    most: u32,
}

/// An ACK during a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) delivered: u32,
    /// The cumulative edge moved, and nothing further was found lost (`SafeACK`).
    pub(crate) is_safe: bool,
    pub(crate) in_flight: u32,
}

impl Falling {
    /// Begins a reduction of a window that is at most `most`. `flight`: outstanding and not selectively acknowledged;
    /// `in_flight`: of those, believed in the network.
    pub(crate) fn new(until: u32, for_mark: bool, (flight, in_flight): (u32, u32), most: u32) -> Falling {
        let window = in_flight.saturating_add(1).min(most);
        Falling { until, for_mark, flight, fresh: true, delivered: 0, out: 0, window, most }
    }

    /// Notes that a timer has begun it, and no ACK.
    pub(crate) fn by_timer(&mut self) {
        self.fresh = false;
    }

    /// Handles an ACK (RFC 9937 §6.2). `target`: the window at the end.
    pub(crate) fn on_ack(&mut self, delivery: Delivery, target: u32) {
        let Delivery { delivered, is_safe, in_flight } = delivery;
        if std::mem::take(&mut self.fresh) {
            self.flight = self.flight.saturating_add(delivered);
        }
        if delivered == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(delivered);
        let mut may_send = if in_flight > target {
            let share = (u64::from(self.delivered) * u64::from(target)).div_ceil(u64::from(self.flight.max(1)));
            u32::try_from(share).unwrap_or(u32::MAX).saturating_sub(self.out)
        } else {
            let conserving = self.delivered.saturating_sub(self.out).max(delivered);
            conserving.saturating_add(u32::from(is_safe)).min(target - in_flight)
        };
        if self.out == 0 {
            may_send = may_send.max(1);
        }
        self.window = in_flight.saturating_add(may_send).clamp(1, self.most);
    }

    /// Notes a segment that leaves.
    pub(crate) fn on_sent(&mut self) {
        self.out = self.out.saturating_add(1);
    }

    /// Goes on for a loss that comes to light while a window falls for a mark.
    pub(crate) fn go_on_until(&mut self, until: u32) {
        self.until = until;
        self.for_mark = false;
    }

    /// Returns whether it is over when everything below `una` is acknowledged.
    pub(crate) fn is_over(&self, una: u32) -> bool {
        if self.for_mark { una > self.until } else { una >= self.until }
    }

    /// Returns how many segments may be in the network.
    pub(crate) fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that sends whatever it may. `acks`: per ACK the segments delivered, lost, and whether it is safe. Returns
    /// how many leave after each.
    fn sends(falling: &mut Falling, in_flight: &mut u32, target: u32, acks: &[(u32, u32, bool)]) -> Vec<u32> {
        acks.iter()
            .map(|&(delivered, lost, is_safe)| {
                *in_flight -= delivered + lost;
                falling.on_ack(Delivery { delivered, is_safe, in_flight: *in_flight }, target);
                let sent = falling.window().saturating_sub(*in_flight);
                (0..sent).for_each(|_| falling.on_sent());
                *in_flight += sent;
                sent
            })
            .collect()
    }

    #[test]
    fn on_ack__halves_by_sending_one_for_every_two() {
        // 20 were in the network. One is lost, and the first ACK delivers one. ⌈n · 10 / 20⌉ leave for n delivered: every other ACK lets one go.
        let (mut falling, mut in_flight) = (Falling::new(20, false, (19, 18), 99), 19);
        let acks = [(1, 0, false); 19];
        let sent = sends(&mut falling, &mut in_flight, 10, &acks);
        // With ten in the network, the target, each lets go what it delivers.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
        assert_eq!((in_flight, falling.is_over(19), falling.is_over(20)), (10, false, true));
    }

    #[test]
    fn on_ack__rises_to_the_target_if_more_was_lost() {
        // 20 in the network, of which 16 are lost: 3 are left below the target of 10. An ACK lets out what it delivers, and
        // one more if it is safe.
        let (mut falling, mut in_flight) = (Falling::new(20, false, (19, 3), 99), 20);
        let acks = [(1, 16, false), (1, 0, false), (1, 0, true), (2, 0, true), (4, 0, true)];
        assert_eq!(sends(&mut falling, &mut in_flight, 10, &acks), [1, 1, 2, 3, 5]);
        assert_eq!(in_flight, 7);
        let acks = [(1, 0, true); 9];
        sends(&mut falling, &mut in_flight, 10, &acks);
        assert_eq!(in_flight, 10, "and no farther");
    }

    #[test]
    fn on_ack__the_first_lets_one_go_whatever_is_in_the_network() {
        let mut falling = Falling::new(30, true, (1_000, 1_000), 1_000);
        falling.on_ack(Delivery { delivered: 1, is_safe: false, in_flight: 999 }, 2);
        assert_eq!(falling.window(), 1_000);
        falling.on_sent();
        falling.on_ack(Delivery { delivered: 1, is_safe: true, in_flight: 999 }, 2);
        assert_eq!(falling.window(), 999);
        falling.on_ack(Delivery { delivered: 0, is_safe: false, in_flight: 998 }, 2);
        assert_eq!(falling.window(), 999, "nothing was delivered");
        assert_eq!([30, 31].map(|una| falling.is_over(una)), [false, true]);
        falling.go_on_until(40);
        assert_eq!([39, 40].map(|una| falling.is_over(una)), [false, true]);
    }
}
