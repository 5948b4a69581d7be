//! Reads a forest file, and checks it from its first byte to its last before any of it is used.
//!
//! The length in the header is compared with the file's bytes first, then the checksum is checked, then the rest. Numbers
//! in the file reserve no memory: each tree's bytes have to be present first.

use std::io::{self, Read};

use thiserror::Error;

use super::{
    Extent, FEATURE_BITS, Feature, Forest, LEAF, MAX_BYTES, MAX_DEPTH, MAX_FEATURES, MAX_NODES, Node, Samples,
    Training, VERSION,
};

const MAGIC: &[u8; 8] = b"FSFOREST";
/// Bytes before the first text.
const HEADER: usize = 64;
const CHECKSUM: usize = blake3::OUT_LEN;
/// A β of 1 in millionths.
const WHOLE: u32 = 1_000_000;
/// The threshold by which a file marks a leaf.
const LEAF_IN_FILE: u32 = u32::MAX;
const NODE_BYTES: usize = 8;
const LEAF_BYTES: usize = 28;

/// A forest that cannot be used, and where its file is at fault.
#[derive(Debug, Error)]
#[error("byte {offset}: {problem}")]
pub struct ForestError {
    /// Bytes of the file before the fault.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a forest file; the message says what was expected.
#[derive(Debug, Error)]
pub enum Problem {
    /// The system could not read the file.
    #[error("the file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file is of another kind.
    #[error("this is not a forest; expected a file that begins with `FSFOREST`")]
    Magic,
    /// The file has another version of the format.
    #[error("format version {found}; expected {VERSION}: train the forest again")]
    Version {
        /// The version.
        found: u32,
    },
    /// The file ends too early.
    #[error("the file is cut short: {found} bytes; expected {expected}")]
    CutShort {
        /// Bytes of the file.
        found: u64,
        /// Bytes that it should have.
        expected: u64,
    },
    /// The file has bytes after its end.
    #[error("{0} bytes too many; expected the end")]
    TooLong(u64),
    /// The file is larger than the limit.
    #[error("more than {MAX_BYTES} bytes; expected a smaller forest: fewer trees or less depth")]
    TooLarge,
    /// The bytes differ from those that were written.
    #[error("the checksum does not match, so the file has changed; expected the file that was written")]
    Checksum,
    /// A number is out of its range.
    #[error("{what}: {found}; expected {expected}")]
    Number {
        /// What it counts.
        what: &'static str,
        /// The number.
        found: u64,
        /// Its range.
        expected: &'static str,
    },
    /// A name, unit or version is not text.
    #[error("{0} is not UTF-8 text")]
    Text(&'static str),
    /// A feature has no name, or that of another.
    #[error("feature `{0}` is repeated or has no name; expected a different name for each")]
    Name(String),
    /// The trees need more bytes than the file has.
    #[error("the file ends before {0} does; expected its bytes")]
    Missing(&'static str),
    /// A threshold cannot be compared.
    #[error("the threshold is {0}; expected a finite number, 0 or more")]
    Threshold(f32),
    /// A split is on a feature that does not exist.
    #[error("a split on feature {found}; the forest has {features}")]
    Feature {
        /// Its number, from 0.
        found: usize,
        /// How many there are.
        features: usize,
    },
    /// A leaf has a successor or a feature.
    #[error("a leaf goes on to node {0} or has a feature; expected it to lead to itself")]
    Leaf(u32),
    /// Children do not follow their parent.
    #[error("the children of node {node} begin at {child}, so there is a cycle; expected children behind their parent")]
    Cycle {
        /// The node, within its tree.
        node: u32,
        /// Its left child.
        child: u32,
    },
    /// Children are outside the tree.
    #[error("the children begin at node {child}; the tree has {nodes} nodes")]
    Outside {
        /// The left child, within its tree.
        child: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// Two nodes lead to one node.
    #[error("node {0} has two parents; expected one")]
    TwoParents(u32),
    /// No node leads to a node.
    #[error("no node leads to node {0}; expected a parent")]
    NoParent(u32),
    /// A leaf is too deep.
    #[error("node {node} is deeper than {most} splits")]
    Depth {
        /// The node, within its tree.
        node: u32,
        /// The file's depth, or the largest allowed one.
        most: u8,
    },
    /// A leaf has no flows.
    #[error("a leaf without flows; expected at least one")]
    Empty,
    /// The sizes of a leaf contradict each other.
    #[error(
        "a leaf of sizes from {smallest} to {largest} with a mean of {mean}; expected {least} <= smallest <= mean <= \
         largest <= {most}"
    )]
    Sizes {
        /// The leaf's smallest.
        smallest: u64,
        /// The leaf's largest.
        largest: u64,
        /// Their mean.
        mean: u64,
        /// The smallest that the forest was trained on.
        least: u64,
        /// The largest that the forest was trained on.
        most: u64,
    },
    /// A tree's leaves lack flows, or repeat some.
    #[error("the leaves of the tree have {found} flows together; expected the {expected} that it was trained on")]
    Flows {
        /// Flows in its leaves.
        found: u64,
        /// Flows that the forest was trained on.
        expected: u64,
    },
}

impl Problem {
    fn at(self, offset: usize) -> ForestError {
        ForestError { offset: offset as u64, problem: self }
    }
}

impl Forest {
    /// Reads a file. It stops at [`MAX_BYTES`], even if the file goes on.
    pub fn read(file: impl Read) -> Result<Forest, ForestError> {
        let mut bytes = Vec::new();
        let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| Problem::Read(error).at(bytes.len()))?;
        Forest::parse(&bytes)
    }

    /// Reads the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Forest, ForestError> {
        let body = checked(bytes)?;
        let mut reader = Reader { bytes: body, at: 0 };
        let header: [u8; HEADER] = reader.take("the header")?;
        let (mut forest, trees) = Forest::of_header(&header)?;
        for _ in 0..u16::from_le_bytes(part(&header, 14)) {
            forest.feature(&mut reader)?;
        }
        forest.training.libraries = reader.text("the libraries' versions")?;
        let mut depths = Vec::new();
        for _ in 0..trees {
            forest.tree(&mut reader, &mut depths)?;
        }
        match body.len() - reader.at {
            0 => Ok(forest),
            more => Err(Problem::TooLong(more as u64).at(reader.at)),
        }
    }

    /// Returns a forest with only its header read, and the number of trees that follow.
    fn of_header(header: &[u8; HEADER]) -> Result<(Forest, u32), ForestError> {
        let wrong = |offset, what, found, expected| Err(Problem::Number { what, found, expected }.at(offset));
        let samples = match header[12] {
            0 => Samples::All,
            1 => Samples::InBag,
            other => return wrong(12, "samples", u64::from(other), "0 (all) or 1 (in-bag)"),
        };
        let depth = header[13];
        if depth > MAX_DEPTH {
            return wrong(13, "depth", u64::from(depth), "at most 64");
        }
        let features = u16::from_le_bytes(part(header, 14));
        if !(1..=MAX_FEATURES).contains(&usize::from(features)) {
            return wrong(14, "features", u64::from(features), "1 to 256");
        }
        let trees = u32::from_le_bytes(part(header, 24));
        if trees == 0 {
            return wrong(24, "trees", 0, "at least 1");
        }
        let beta = u32::from_le_bytes(part(header, 28));
        if beta != WHOLE {
            return wrong(28, "beta in millionths", u64::from(beta), "1000000: other bounds are written into a list");
        }
        let [seed, flows, smallest, largest] = [32, 40, 48, 56].map(|at| u64::from_le_bytes(part(header, at)));
        if flows == 0 {
            return wrong(40, "training flows", 0, "at least 1");
        }
        if smallest == 0 {
            return wrong(48, "smallest training size", 0, "at least 1");
        }
        if largest < smallest {
            return wrong(56, "largest training size", largest, "no less than the smallest");
        }
        let training = Training { samples, seed, depth, flows, smallest, largest, libraries: String::new() };
        let forest = Forest {
            training,
            features: Vec::new(),
            nodes: Vec::new(),
            roots: Vec::new(),
            extents: Vec::new(),
            means: Vec::new(),
            steps: 0,
        };
        Ok((forest, trees))
    }

    fn feature(&mut self, reader: &mut Reader<'_>) -> Result<(), ForestError> {
        let at = reader.at;
        let name = reader.text("a feature's name")?;
        let unit = reader.text("a feature's unit")?;
        if name.is_empty() || self.features.iter().any(|other| other.name == name) {
            return Err(Problem::Name(name).at(at));
        }
        self.features.push(Feature { name, unit });
        Ok(())
    }

    /// Reads a tree; `depths` is a scratch buffer.
    fn tree(&mut self, reader: &mut Reader<'_>, depths: &mut Vec<u8>) -> Result<(), ForestError> {
        let at = reader.at;
        let count = u32::from_le_bytes(reader.take("a tree")?);
        if !(1..=MAX_NODES).contains(&count) {
            let problem = Problem::Number { what: "nodes of a tree", found: count.into(), expected: "1 to 1048576" };
            return Err(problem.at(at));
        }
        let first = reader.at;
        let nodes = reader.slice(count as usize * NODE_BYTES, "a tree")?;
        let root = self.nodes.len() as u32;
        let leaves = self.extents.len();
        let mut new_leaves = 0;
        depths.clear();
        depths.resize(count as usize, UNREACHED);
        depths[0] = 0;
        for (number, bytes) in (0..).zip(nodes.chunks_exact(NODE_BYTES)) {
            let [threshold, next] = [0, 4].map(|at| u32::from_le_bytes(part(bytes, at)));
            let mut node = Node { threshold, next };
            let checked = if threshold == LEAF_IN_FILE {
                node.threshold = LEAF | (leaves + new_leaves) as u32;
                new_leaves += 1;
                leaf(node, number, depths)
            } else {
                self.split(node, number, depths)
            };
            checked.map_err(|problem| problem.at(first + number as usize * NODE_BYTES))?;
            // Both are below 2^24: a file has no room for more nodes.
            node.next += root << FEATURE_BITS;
            self.nodes.push(node);
        }
        let deepest = depths.iter().max().copied().unwrap_or_default();
        self.steps = self.steps.max(deepest.into());
        self.roots.push(root);
        self.leaves(reader, new_leaves)
    }

    /// Checks a split and sets the depth of its children.
    fn split(&self, node: Node, number: u32, depths: &mut [u8]) -> Result<(), Problem> {
        if depths[number as usize] == UNREACHED {
            return Err(Problem::NoParent(number));
        }
        if node.threshold >= f32::INFINITY.to_bits() {
            return Err(Problem::Threshold(f32::from_bits(node.threshold)));
        }
        if node.feature() >= self.features.len() {
            return Err(Problem::Feature { found: node.feature(), features: self.features.len() });
        }
        let child = node.left();
        if child <= number {
            return Err(Problem::Cycle { node: number, child });
        }
        if child as usize + 1 >= depths.len() {
            return Err(Problem::Outside { child, nodes: depths.len() as u32 });
        }
        let depth = depths[number as usize] + 1;
        if depth > self.training.depth {
            return Err(Problem::Depth { node: child, most: self.training.depth });
        }
        for child in [child, child + 1] {
            let known = &mut depths[child as usize];
            if *known != UNREACHED {
                return Err(Problem::TwoParents(child));
            }
            *known = depth;
        }
        Ok(())
    }

    /// Reads the leaves of a tree.
    fn leaves(&mut self, reader: &mut Reader<'_>, count: usize) -> Result<(), ForestError> {
        let first = reader.at;
        let leaves = reader.slice(count * LEAF_BYTES, "the leaves of a tree")?;
        let Training { smallest: least, largest: most, flows: expected, .. } = self.training;
        let mut found = 0;
        for (number, bytes) in leaves.chunks_exact(LEAF_BYTES).enumerate() {
            let at = first + number * LEAF_BYTES;
            let flows = u32::from_le_bytes(part(bytes, 0));
            let [smallest, largest, mean] = [4, 12, 20].map(|at| u64::from_le_bytes(part(bytes, at)));
            if flows == 0 {
                return Err(Problem::Empty.at(at));
            }
            if ![least, smallest, mean, largest, most].is_sorted() {
                return Err(Problem::Sizes { smallest, largest, mean, least, most }.at(at + 4));
            }
            // At most 2^20 numbers of 32 bits.
            found += u64::from(flows);
            self.extents.push(Extent { smallest, largest });
            self.means.push(mean);
        }
        if found == expected { Ok(()) } else { Err(Problem::Flows { found, expected }.at(first)) }
    }
}

/// The depth of a node that no node has led to.
const UNREACHED: u8 = u8::MAX;

fn leaf(node: Node, number: u32, depths: &[u8]) -> Result<(), Problem> {
    if depths[number as usize] == UNREACHED {
        return Err(Problem::NoParent(number));
    }
    if node.next != number << FEATURE_BITS { Err(Problem::Leaf(node.left())) } else { Ok(()) }
}

/// Returns everything before the checksum, if the checksum is right and the file is whole.
fn checked(bytes: &[u8]) -> Result<&[u8], ForestError> {
    let found = bytes.len() as u64;
    let cut_short = |expected| Err(Problem::CutShort { found, expected }.at(bytes.len()));
    if found > MAX_BYTES {
        return Err(Problem::TooLarge.at(MAX_BYTES as usize));
    }
    let begun = bytes.len().min(MAGIC.len());
    if begun == 0 || bytes[..begun] != MAGIC[..begun] {
        return Err(Problem::Magic.at(0));
    }
    let least = HEADER + CHECKSUM;
    if bytes.len() >= 12 {
        let version = u32::from_le_bytes(part(bytes, 8));
        if version != VERSION {
            return Err(Problem::Version { found: version }.at(8));
        }
    }
    if bytes.len() < least {
        return cut_short(least as u64);
    }
    let length = u64::from_le_bytes(part(bytes, 16));
    if length > found {
        return cut_short(length);
    }
    if length < found {
        return Err(Problem::TooLong(found - length).at(length as usize));
    }
    let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    if blake3::hash(body).as_bytes() == checksum { Ok(body) } else { Err(Problem::Checksum.at(body.len())) }
}

/// Returns the `N` bytes of `bytes` from `at` on, which exist.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// The rest of a file that is still to be read.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn slice(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], ForestError> {
        let rest = &self.bytes[self.at..];
        let slice = rest.get(..length).ok_or_else(|| Problem::Missing(what).at(self.at))?;
        self.at += length;
        Ok(slice)
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ForestError> {
        Ok(part(self.slice(N, what)?, 0))
    }

    fn text(&mut self, what: &'static str) -> Result<String, ForestError> {
        let at = self.at;
        let [length] = self.take(what)?;
        let text = self.slice(length.into(), what)?;
        str::from_utf8(text).map(str::to_owned).map_err(|_| Problem::Text(what).at(at))
    }
}
