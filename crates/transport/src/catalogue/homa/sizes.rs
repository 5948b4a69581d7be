//! How much of a message is left, by its true or predicted size.

use std::num::NonZeroU64;

use flowsieve_core::tagger::{FlowFacts, TagPackets};
use flowsieve_core::taggers::predicted::Outlived;

/// By which sizes messages are ranked. Grants end with the true size in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// The true ones.
    True,
    /// Predicted ones. The paper does not have this: a message that outlives its prediction is ranked as by pFabric.
    Predicted(Outlived),
}

impl Sizes {
    /// Returns the bytes that a message of `size` bytes has left after the first `done` of them, for ranks and levels.
    pub(super) fn left(self, size: u64, predicted: Option<NonZeroU64>, done: u64) -> u64 {
        let remaining = size.saturating_sub(done);
        match self {
            Sizes::True => remaining,
            Sizes::Predicted(outlived) => {
                let offset = size - remaining;
                outlived.urgency(&FlowFacts { size, remaining, offset, predicted, ..FlowFacts::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left__of_the_size_that_is_known() {
        let predicted = NonZeroU64::new(3_000);
        assert_eq!(Sizes::True.left(10_000, predicted, 4_000), 6_000);
        let by = |outlived, done| Sizes::Predicted(outlived).left(10_000, predicted, done);
        assert_eq!(by(Outlived::Double, 1_000), 2_000);
        // 3,000, then 6,002.
        assert_eq!(by(Outlived::Double, 4_000), 2_002);
        assert_eq!([Outlived::Top, Outlived::Bottom].map(|outlived| by(outlived, 4_000)), [0, u64::MAX]);
    }
}
