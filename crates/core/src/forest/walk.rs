//! How a flow walks down the trees.
//!
//! A step needs the previous step of the same tree: one tree after the other waits for memory and for each comparison. So
//! several trees advance in lockstep, and a processor works on them at once. All take the same number of steps, without a
//! branch that depends on data.

use std::num::NonZeroU64;

use super::{Extent, Forest, LEAF, MAX_FEATURES};
use crate::message::Bounds;

/// Trees in lockstep. For 100 trees 25, 34 and 50 were slower; 10 was slower or as fast, from one measurement to the next.
const TOGETHER: usize = 20;
/// Trees in lockstep among those that are left.
const FEW: usize = 5;

impl Forest {
    /// Returns the smallest and the largest size of the training flows in the leaves that a flow with these features reaches.
    ///
    /// # Panics
    /// If there are not as many features as the forest has.
    pub fn bounds(&self, features: &[u64]) -> Bounds {
        // A place for each tree in lockstep, so that a comparison does not wait for the previous one.
        let (mut lower, mut upper) = ([u64::MAX; TOGETHER], [0; TOGETHER]);
        self.reach(features, |place, leaf| {
            let Extent { smallest, largest } = self.extents[leaf];
            lower[place] = lower[place].min(smallest);
            upper[place] = upper[place].max(largest);
        });
        let lower = lower.into_iter().fold(u64::MAX, u64::min);
        let upper = upper.into_iter().fold(0, u64::max);
        // Sizes are at least 1, which the reader checks.
        Bounds { lower, upper: NonZeroU64::new(upper).unwrap_or(NonZeroU64::MIN) }
    }

    /// Returns the predicted size of a flow with these features, in bytes: the mean over the trees of the mean size in the
    /// leaf reached. Leaves' means are whole bytes, and so is theirs, each rounded to the nearest and halves up.
    ///
    /// # Panics
    /// If there are not as many features as the forest has.
    pub fn predicted(&self, features: &[u64]) -> NonZeroU64 {
        let mut sum = 0;
        self.reach(features, |_, leaf| sum += u128::from(self.means[leaf]));
        let trees = self.trees() as u128;
        // A mean of sizes of at least 1 and at most u64::MAX is in that range, too.
        NonZeroU64::new(((2 * sum + trees) / (2 * trees)) as u64).unwrap_or(NonZeroU64::MIN)
    }

    /// Calls `leaf` for each tree, with its place in the lockstep group and the number of the leaf reached.
    #[inline]
    fn reach(&self, features: &[u64], mut leaf: impl FnMut(usize, usize)) {
        assert_eq!(features.len(), self.features.len(), "a value for each feature of the forest");
        let mut values = [0; MAX_FEATURES];
        for (value, &feature) in values.iter_mut().zip(features) {
            *value = (feature as f32).to_bits();
        }
        let (many, rest) = self.roots.as_chunks::<TOGETHER>();
        let (few, rest) = rest.as_chunks::<FEW>();
        let (single, _) = rest.as_chunks::<1>();
        let mut each = |(place, reached)| leaf(place, reached);
        many.iter().for_each(|&roots| self.descend(roots, &values).into_iter().enumerate().for_each(&mut each));
        few.iter().for_each(|&roots| self.descend(roots, &values).into_iter().enumerate().for_each(&mut each));
        single.iter().for_each(|&roots| self.descend(roots, &values).into_iter().enumerate().for_each(&mut each));
    }

    /// Returns the leaves that `N` trees end in.
    #[inline]
    fn descend<const N: usize>(&self, roots: [u32; N], values: &[u32; MAX_FEATURES]) -> [usize; N] {
        let nodes = self.nodes.as_slice();
        let mut at = roots.map(|root| root as usize);
        for _ in 0..self.steps {
            for at in &mut at {
                let node = nodes[*at];
                *at = node.left() as usize + usize::from(values[node.feature()] > node.threshold);
            }
        }
        at.map(|at| (nodes[at].threshold & !LEAF) as usize)
    }
}
