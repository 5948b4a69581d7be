//! Quantile forests: they bound and predict a flow's size, from what is known when the flow begins.
//!
//! QCLIMB (§2.3.2, Appendix B) drops a flow down every tree of a random forest and looks at the sizes of the training flows
//! in the leaves that it reaches. With β = 1, which is the paper's default and the only β of a file, the lower bound is the
//! smallest of these sizes and the upper bound the largest. (The paper's formula for the lower one, inf{y : F(y) ≥ 0}, is
//! −∞ as printed.) The predicted size is the mean, over the trees, of the mean size in the leaf.
//!
//! [`Forest::parse`] reads and checks a file; [`Forest::bounds`] and [`Forest::predicted`] apply it. Both are integer and
//! allocate nothing. The Python package in `python/` trains forests; `docs/reference/forest-format.md` describes the file byte by
//! byte. In short, all of it little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 64 | magic, version, samples, depth, features, length of the file, trees, β, seed, training flows and their sizes |
//! | | the features' names and units, the versions of the libraries: texts of a byte of length and UTF-8 |
//! | 4 + 8 n + 28 l | each tree: its number of nodes n, the nodes, its l leaves in the order of their nodes |
//! | 32 | BLAKE3 of everything before |
//!
//! **Features** are unsigned integers in the order of [`Forest::features`]. scikit-learn compares `f32` with `f64`
//! thresholds. So a feature is rounded to `f32` once, to the nearest and to even, and the file's thresholds are rounded
//! *down* to `f32`: every comparison has the same result. Numbers that are not negative have the order of their bits, and
//! the walk compares the bits.
//!
//! Left out: forests with missing values, categories, several outputs or quantiles between the smallest and the largest.

mod read;
mod walk;

pub use read::{ForestError, Problem};

use std::mem::size_of;

/// The version of the file format that is read.
pub const VERSION: u32 = 1;
/// Most features of a forest.
pub const MAX_FEATURES: usize = 1 << FEATURE_BITS;
/// Most splits on the path to a leaf.
pub const MAX_DEPTH: u8 = 64;
/// Most nodes of a tree.
pub const MAX_NODES: u32 = 1 << 20;
/// Most bytes of a file. In memory a forest is smaller than its file.
pub const MAX_BYTES: u64 = 256_000_000;

/// A fact that is known of a flow when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, without the `feature:` prefix of a flow list's column.
    pub name: String,
    /// Its unit; empty for a bare number.
    pub unit: String,
}

/// Which training flows each leaf contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// All that reach it, as in the paper's Appendix B.
    All,
    /// Those that its tree was grown from, each as often as the bootstrap drew it.
    InBag,
}

/// How a forest was trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Training {
    /// Which training flows each leaf contains.
    pub samples: Samples,
    /// The seed of the bootstraps.
    pub seed: u64,
    /// The depth limit of the trees.
    pub depth: u8,
    /// Number of training flows.
    pub flows: u64,
    /// The smallest of their sizes, in bytes.
    pub smallest: u64,
    /// The largest, in bytes.
    pub largest: u64,
    /// The libraries and their versions.
    pub libraries: String,
}

/// A forest that was read and checked.
#[derive(Clone, Debug)]
pub struct Forest {
    training: Training,
    features: Vec<Feature>,
    /// The nodes of all trees. The two children of a node are adjacent.
    nodes: Vec<Node>,
    /// The first node of each tree.
    roots: Vec<u32>,
    /// By leaf: the smallest and the largest size in it. Bounds read only these, so means are stored apart.
    extents: Vec<Extent>,
    /// By leaf: the mean size in bytes, rounded to the nearest and halves up.
    means: Vec<u64>,
    /// The splits on the longest path to a leaf. All trees take this many steps.
    steps: u32,
}

/// A node of 8 bytes, so that 8 fit in a cache line. Children follow their parent, in the order of the file. The trainer
/// puts the tree of the child with more flows right behind the two, so that likely paths are short in memory.
///
/// A split sends a flow to `left` if its feature is at most the threshold, else to the node behind `left`. A leaf's `left`
/// is the leaf itself and its threshold is above every feature, so a flow that has arrived stays, without a branch.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// A split's threshold as the bits of an `f32`, or a leaf's number with [`LEAF`] set, which is above all thresholds.
    threshold: u32,
    /// `left`, counted over all trees, above the [`FEATURE_BITS`] of the feature's number.
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 8);

/// The sign bit of an `f32`, which no feature has.
const LEAF: u32 = 1 << 31;
/// Bits of a feature's number in a node. The other 24 count more nodes than a file has room for.
const FEATURE_BITS: u32 = 8;

impl Node {
    fn feature(self) -> usize {
        self.next as usize % MAX_FEATURES
    }

    fn left(self) -> u32 {
        self.next >> FEATURE_BITS
    }
}

/// The smallest and the largest size of a leaf's flows, in bytes.
#[derive(Clone, Copy, Debug)]
struct Extent {
    smallest: u64,
    largest: u64,
}

impl Forest {
    /// Returns the features that a forest needs to know of a flow, in this order.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Returns how the forest was trained.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// Returns the number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Returns the number of nodes of all trees, leaves included.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }
}
