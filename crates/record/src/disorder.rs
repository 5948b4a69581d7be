//! Losses of a group of flows, and the data that waited for them.

use serde::{Deserialize, Serialize};

use crate::FlowRow;
use crate::measures::measures;

/// Declares [`Disorder`] with the sum of each class count of [`measures`](crate::measures).
macro_rules! disorder {
    ($fields:tt $columns:tt [$(#[$first_doc:meta])* $first:ident] $counts:tt [$($(#[$doc:meta])* $count:ident;)*]) => {
        /// Sums over flows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Disorder {
            $(#[$first_doc])* pub $first: u64,
            /// Flows that had a retransmission timeout.
            pub timed_out: u64,
            $($(#[$doc])* pub $count: u64,)*
            /// The most that a receiver held of one flow because an earlier part was missing, in bytes.
            pub held_most_bytes: u64,
            /// That over time, of the flows that finished: in bytes times nanoseconds.
            held_byte_ns: f64,
            /// The FCTs of these.
            fct_ns: f64,
        }

        impl Disorder {
            /// The names of its counts.
            pub const COUNTS: &[&str] = &[stringify!($first), $(stringify!($count)),*];

            /// Its counts, in the order of [`Disorder::COUNTS`].
            pub fn counts(&self) -> impl Iterator<Item = u64> {
                [self.$first, $(self.$count),*].into_iter()
            }

            /// The sums for one flow.
            pub fn of(row: &FlowRow) -> Disorder {
                let finished = row.fct_ps.is_some();
                Disorder {
                    $first: row.$first.into(),
                    timed_out: u64::from(row.timeouts > 0),
                    $($count: row.$count.into(),)*
                    held_most_bytes: row.held_most_bytes,
                    held_byte_ns: if finished { row.held_byte_ns as f64 } else { 0.0 },
                    fct_ns: row.fct_ps.map_or(0.0, |fct_ps| fct_ps as f64 / 1e3),
                }
            }

            /// Adds the sums of other flows.
            pub fn add(&mut self, other: &Disorder) {
                self.$first += other.$first;
                self.timed_out += other.timed_out;
                $(self.$count += other.$count;)*
                self.held_most_bytes = self.held_most_bytes.max(other.held_most_bytes);
                self.held_byte_ns += other.held_byte_ns;
                self.fct_ns += other.fct_ns;
            }
        }
    };
}

#[cfg(test)]
pub(crate) use disorder;

measures!(disorder);

impl Disorder {
    /// The bytes that the receiver of a flow held at an instant of its FCT, on average: QCLIMB's buffer for packets out of
    /// order (Table 3). `None` if no flow finished.
    pub fn held_mean_bytes(&self) -> Option<f64> {
        (self.fct_ns > 0.0).then(|| self.held_byte_ns / self.fct_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add__mean_over_the_time_of_finished_flows() {
        // 10,000 ns with 3,000 bytes for a third of it, 30,000 ns with nothing, and one that did not finish.
        let row = |fct_ps, held_byte_ns, timeouts| FlowRow {
            fct_ps,
            held_byte_ns,
            held_most_bytes: held_byte_ns.min(3_000),
            timeouts,
            found_lost: 2,
            unneeded: 1,
            duplicate_acks: 7,
            ..FlowRow::default()
        };
        let mut all = Disorder::default();
        for row in [row(Some(10_000_000), 10_000_000, 0), row(Some(30_000_000), 0, 4), row(None, 77, 1)] {
            all.add(&Disorder::of(&row));
        }
        assert_eq!(all.timed_out, 2, "however many each had");
        assert_eq!((all.timeouts, all.found_lost, all.unneeded, all.duplicate_acks), (5, 6, 3, 21));
        assert_eq!((all.held_most_bytes, all.held_mean_bytes()), (3_000, Some(250.0)));
        assert_eq!(Disorder::default().held_mean_bytes(), None);
    }
}
