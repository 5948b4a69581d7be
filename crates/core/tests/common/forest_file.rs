//! Forest files, written for tests and benchmarks, and trees without a trace behind them.
#![allow(dead_code, reason = "a benchmark takes less of it")]

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes before the first text.
pub(crate) const HEADER: usize = 64;
/// The threshold by which a file marks a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// The training flows of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) flows: u32,
    pub(crate) smallest: u64,
    pub(crate) largest: u64,
    pub(crate) mean: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// Up to the threshold the first, above it the second.
    Split(u8, f32, Box<[Tree; 2]>),
    Leaf(Leaf),
}

impl Tree {
    pub(crate) fn split(feature: u8, threshold: f32, below: Tree, above: Tree) -> Tree {
        Tree::Split(feature, threshold, Box::new([below, above]))
    }

    pub(crate) fn leaf(flows: u32, smallest: u64, mean: u64, largest: u64) -> Tree {
        Tree::Leaf(Leaf { flows, smallest, largest, mean })
    }

    /// The leaf that features lead to, by the definition.
    pub(crate) fn reach(&self, features: &[u64]) -> Leaf {
        match self {
            Tree::Split(feature, threshold, children) => {
                let above = features[usize::from(*feature)] as f32 > *threshold;
                children[usize::from(above)].reach(features)
            }
            Tree::Leaf(leaf) => *leaf,
        }
    }

    fn flows(&self) -> u32 {
        match self {
            Tree::Split(_, _, children) => children.iter().map(Tree::flows).sum(),
            Tree::Leaf(leaf) => leaf.flows,
        }
    }

    /// Its part of a file: behind each pair of siblings first the tree of the one with more flows.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut nodes = vec![(LEAF, 0, None)];
        self.place(0, &mut nodes);
        let mut bytes = (nodes.len() as u32).to_le_bytes().to_vec();
        for (threshold, next, _) in &nodes {
            bytes.extend(threshold.to_le_bytes());
            bytes.extend(next.to_le_bytes());
        }
        for leaf in nodes.iter().filter_map(|(_, _, leaf)| *leaf) {
            bytes.extend(leaf.flows.to_le_bytes());
            bytes.extend([leaf.smallest, leaf.largest, leaf.mean].into_iter().flat_map(u64::to_le_bytes));
        }
        bytes
    }

    fn place(&self, at: usize, nodes: &mut Vec<(u32, u32, Option<Leaf>)>) {
        match self {
            Tree::Split(feature, threshold, children) => {
                let left = nodes.len();
                nodes[at] = (threshold.to_bits(), (left as u32) << 8 | u32::from(*feature), None);
                nodes.extend([(LEAF, 0, None); 2]);
                let first = usize::from(children[1].flows() > children[0].flows());
                for child in [first, 1 - first] {
                    children[child].place(left + child, nodes);
                }
            }
            Tree::Leaf(leaf) => nodes[at] = (LEAF, (at as u32) << 8, Some(*leaf)),
        }
    }
}

/// A file of trees that were all trained on `flows` flows of 1 to 10^9 bytes.
pub(crate) fn file(features: &[(&str, &str)], flows: u64, trees: &[Tree]) -> Vec<u8> {
    let mut bytes = b"FSFOREST".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0, 64]);
    bytes.extend((features.len() as u16).to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend((trees.len() as u32).to_le_bytes());
    bytes.extend(1_000_000u32.to_le_bytes());
    bytes.extend([7, flows, 1, 1_000_000_000].into_iter().flat_map(u64::to_le_bytes));
    let texts = features.iter().flat_map(|&(name, unit)| [name, unit]).chain(["by hand"]);
    for text in texts {
        bytes.push(text.len() as u8);
        bytes.extend(text.bytes());
    }
    trees.iter().for_each(|tree| bytes.extend(tree.bytes()));
    bytes.extend([0; 32]);
    seal(&mut bytes);
    bytes
}

/// Writes the length and the checksum of a file into it.
pub(crate) fn seal(bytes: &mut [u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    bytes[16..24].copy_from_slice(&length);
    let (body, checksum) = bytes.split_at_mut(bytes.len() - 32);
    checksum.copy_from_slice(blake3::hash(body).as_bytes());
}

/// Trees over features that are uniform from 0 to `range`, grown at random.
pub(crate) struct Grower {
    random: Xoshiro256PlusPlus,
}

impl Grower {
    pub(crate) fn new(seed: u64) -> Grower {
        Grower { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A tree of `flows` flows whose features are within `ranges`.
    pub(crate) fn tree(&mut self, flows: u32, depth: u8, ranges: &mut [(u64, u64)]) -> Tree {
        let feature = self.below(ranges.len() as u64) as usize;
        let (least, most) = ranges[feature];
        if depth == 0 || flows < 2 || most - least < 4 {
            let smallest = 1 + self.below(1_000_000);
            let mean = smallest + self.below(1_000_000);
            return Tree::leaf(flows, smallest, mean, mean + self.below(1_000_000));
        }
        let threshold = least + (most - least) / 4 + self.below((most - least) / 2 + 1);
        let share = (threshold - least) as f64 / (most - least) as f64;
        let below = ((f64::from(flows) * share) as u32).clamp(1, flows - 1);
        ranges[feature] = (least, threshold);
        let left = self.tree(below, depth - 1, ranges);
        ranges[feature] = (threshold, most);
        let right = self.tree(flows - below, depth - 1, ranges);
        ranges[feature] = (least, most);
        Tree::split(feature as u8, threshold as f32, left, right)
    }
}
