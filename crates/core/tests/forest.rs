//! Forests: what a file says, what is refused of it, and what a flow is told.

use flowsieve_core::forest::{Forest, MAX_BYTES, Samples};
use proptest::prelude::*;

use crate::common::forest_file::{Grower, HEADER, LEAF, Tree, file, seal};

const FEATURES: [(&str, &str); 2] = [("gap_us", "us"), ("port", "")];
/// Where the trees of [`by_hand`] begin: behind 6 + 2, 4 + 0 and 7 bytes of text, each with its length.
const TREES: usize = HEADER + 7 + 3 + 5 + 1 + 8;

/// Two trees over ten flows. The first asks for the gap and, above 100 us, for the port.
fn by_hand() -> [Tree; 2] {
    let late = Tree::split(1, 80.0, Tree::leaf(3, 100, 150, 220), Tree::leaf(2, 5_000, 5_500, 6_000));
    [Tree::split(0, 100.0, Tree::leaf(5, 40, 50, 60), late), Tree::leaf(10, 40, 1_170, 6_000)]
}

fn parse(trees: &[Tree]) -> Forest {
    Forest::parse(&file(&FEATURES, 10, trees)).unwrap()
}

fn bounds(forest: &Forest, features: &[u64]) -> (u64, u64) {
    let bounds = forest.bounds(features);
    (bounds.lower, bounds.upper.get())
}

/// The error of a file after `change`, with a matching checksum.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = file(&FEATURES, 10, &by_hand());
    change(&mut bytes);
    seal(&mut bytes);
    Forest::parse(&bytes).unwrap_err().to_string()
}

fn refused_tree(tree: Tree) -> String {
    Forest::parse(&file(&FEATURES, 10, &[tree])).unwrap_err().to_string()
}

/// Writes a node of the first tree: its threshold's bits, its left child, its feature.
fn write_node(bytes: &mut [u8], number: usize, threshold: u32, left: u32, feature: u32) {
    let at = TREES + 4 + 8 * number;
    bytes[at..at + 4].copy_from_slice(&threshold.to_le_bytes());
    bytes[at + 4..at + 8].copy_from_slice(&(left << 8 | feature).to_le_bytes());
}

#[test]
fn parse__tells_features_and_training() {
    let forest = parse(&by_hand());
    let features: Vec<_> = forest.features().iter().map(|f| (f.name.as_str(), f.unit.as_str())).collect();
    assert_eq!(features, FEATURES);
    let training = forest.training();
    assert_eq!((training.samples, training.seed, training.depth, training.flows), (Samples::All, 7, 64, 10));
    assert_eq!((training.smallest, training.largest), (1, 1_000_000_000));
    assert_eq!(training.libraries, "by hand");
    assert_eq!((forest.trees(), forest.nodes()), (2, 6));
}

#[test]
fn bounds__smallest_and_largest_size_over_the_leaves_reached() {
    let [first, _] = by_hand();
    let forest = parse(&[first]);
    assert_eq!(bounds(&forest, &[100, 80]), (40, 60));
    assert_eq!(bounds(&forest, &[101, 80]), (100, 220));
    assert_eq!(bounds(&forest, &[101, 81]), (5_000, 6_000));
    // The second tree knows no flow from another, and its one leaf is as wide as the trace.
    assert_eq!(bounds(&parse(&by_hand()), &[101, 80]), (40, 6_000));
}

#[test]
fn predicted__mean_of_the_leaves_means_rounded_half_up() {
    let [first, second] = by_hand();
    assert_eq!(parse(&[first.clone(), second.clone()]).predicted(&[0, 0]).get(), 610);
    // (150 + 1,170 + 1,170) / 3 = 830; (50 + 50 + 51) / 3 = 50.33; (50 + 51) / 2 = 50.5.
    assert_eq!(parse(&[first, second.clone(), second]).predicted(&[101, 0]).get(), 830);
    let leaf = |mean| Tree::leaf(10, 1, mean, 60);
    assert_eq!(parse(&[leaf(50), leaf(50), leaf(51)]).predicted(&[0, 0]).get(), 50);
    assert_eq!(parse(&[leaf(50), leaf(51)]).predicted(&[0, 0]).get(), 51);
}

#[test]
fn bounds__features_are_rounded_as_f32_to_even() {
    // From 2^24 on f32 has every second number: 2^24 + 1 lies between and goes to 2^24, 2^24 + 3 to 2^24 + 4.
    let tree = |threshold| parse(&[Tree::split(0, threshold, Tree::leaf(5, 1, 1, 1), Tree::leaf(5, 9, 9, 9))]);
    let step = 1 << 24;
    let forest = tree(step as f32);
    assert_eq!([step, step + 1, step + 2].map(|x| bounds(&forest, &[x, 0]).0), [1, 1, 9]);
    let forest = tree((step + 2) as f32);
    assert_eq!([step + 2, step + 3].map(|x| bounds(&forest, &[x, 0]).0), [1, 9]);
    // The largest feature is 2^64, and no leaf mistakes it for a way on.
    assert_eq!(bounds(&tree(0.0), &[u64::MAX, u64::MAX]).0, 9);
    assert_eq!(bounds(&tree(f32::MAX), &[u64::MAX, u64::MAX]).0, 1);
    assert_eq!(bounds(&tree(f32::from_bits(1)), &[0, 0]).0, 1);
}

#[test]
fn bounds__any_number_of_trees_as_the_definition_has_it() {
    let mut grower = Grower::new(3);
    let trees: Vec<_> = (0..47).map(|_| grower.tree(200, 12, &mut [(0, 1 << 26); 2])).collect();
    for count in [1, 2, 4, 5, 6, 19, 20, 21, 24, 25, 26, 40, 47] {
        let trees = &trees[..count];
        let forest = Forest::parse(&file(&FEATURES, 200, trees)).unwrap();
        for _ in 0..50 {
            let features = [grower.below(1 << 26), grower.below(1 << 26)];
            let leaves: Vec<_> = trees.iter().map(|tree| tree.reach(&features)).collect();
            let least = leaves.iter().map(|leaf| leaf.smallest).min().unwrap();
            let most = leaves.iter().map(|leaf| leaf.largest).max().unwrap();
            assert_eq!(bounds(&forest, &features), (least, most));
            let sum: u64 = leaves.iter().map(|leaf| leaf.mean).sum();
            let mean = (2 * sum + count as u64) / (2 * count as u64);
            assert_eq!(forest.predicted(&features).get(), mean);
        }
    }
}

#[test]
fn bounds__allocate_nothing() {
    let bytes = file(&FEATURES, 10, &by_hand());
    let reading = allocation_counter::measure(|| assert!(apply(&bytes)));
    assert!(reading.count_total > 0, "allocations are counted");
    let forest = parse(&by_hand());
    let count = allocation_counter::measure(|| {
        for gap in 0..1_000 {
            std::hint::black_box((forest.bounds(&[gap, 80]), forest.predicted(&[gap, 80])));
        }
    });
    assert_eq!(count.count_total, 0);
}

#[test]
#[should_panic(expected = "a value for each feature")]
fn bounds__other_features_than_the_forest_has() {
    parse(&by_hand()).bounds(&[1]);
}

/// The rows of `data/forest-rows.csv`: six features, then lower, upper and predicted of both forests.
#[test]
fn bounds__equal_those_of_the_trainer() {
    let rows = include_str!("data/forest-rows.csv");
    let forests = [&include_bytes!("data/forest-all.fsf")[..], &include_bytes!("data/forest-in-bag.fsf")[..]]
        .map(|bytes| Forest::parse(bytes).unwrap());
    assert_eq!(forests.each_ref().map(|f| f.training().samples), [Samples::All, Samples::InBag]);
    let mut lines = rows.lines();
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    let width = forests[0].features().len();
    let mut compared = 0;
    for line in lines {
        let row: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        for (number, forest) in forests.iter().enumerate() {
            assert!(forest.features().iter().zip(&names).all(|(feature, name)| feature.name == *name));
            let (lower, upper) = bounds(forest, &row[..width]);
            let predicted = forest.predicted(&row[..width]).get();
            assert_eq!([lower, upper, predicted], row[width + 3 * number..][..3], "{line}");
            compared += 1;
        }
    }
    assert!(compared >= 200, "{compared} rows");
}

#[test]
fn read__from_a_file_that_goes_on() {
    let bytes = file(&FEATURES, 10, &by_hand());
    assert_eq!(Forest::read(&bytes[..]).unwrap().trees(), 2);
    let endless = std::io::Read::chain(&bytes[..], std::io::repeat(0));
    let error = Forest::read(endless).unwrap_err();
    assert_eq!(error.offset, MAX_BYTES);
    assert!(error.to_string().contains("more than 256000000 bytes"), "{error}");
}

#[test]
fn parse__files_that_are_not_whole() {
    let whole = file(&FEATURES, 10, &by_hand());
    for length in 0..whole.len() {
        let error = Forest::parse(&whole[..length]).unwrap_err();
        let expected = if length == 0 { "byte 0: this is not a forest" } else { "cut short" };
        assert!(error.to_string().contains(expected), "{length}: {error}");
        assert_eq!(error.offset, length as u64);
    }
    let error = Forest::parse(&[&whole[..], b"\n"].concat()).unwrap_err().to_string();
    assert_eq!(error, format!("byte {}: 1 bytes too many; expected the end", whole.len()));
    let error = Forest::parse(b"start_s,src,dst,bytes").unwrap_err().to_string();
    assert!(error.starts_with("byte 0: this is not a forest"), "{error}");
}

#[test]
fn parse__another_version() {
    let error = refused(|bytes| bytes[8] = 2);
    assert_eq!(error, "byte 8: format version 2; expected 1: train the forest again");
}

#[test]
fn parse__any_changed_byte() {
    let whole = file(&FEATURES, 10, &by_hand());
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(Forest::parse(&bytes).is_err(), "byte {at}");
    }
    let mut bytes = whole.clone();
    bytes[TREES + 5] ^= 1;
    let error = Forest::parse(&bytes).unwrap_err();
    assert_eq!(error.offset, whole.len() as u64 - 32);
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn parse__headers_out_of_range() {
    let cases: [(usize, u8, &str); 9] = [
        (12, 2, "byte 12: samples: 2"),
        (13, 65, "byte 13: depth: 65; expected at most 64"),
        (14, 0, "byte 14: features: 0"),
        (24, 0, "byte 24: trees: 0"),
        (24, 1, "bytes too many"),
        (24, 3, "ends before a tree does"),
        (28, 0, "byte 28: beta in millionths: 999936"),
        (40, 0, "byte 40: training flows: 0"),
        (48, 0, "byte 48: smallest training size: 0"),
    ];
    for (at, value, expected) in cases {
        let error = refused(|bytes| bytes[at] = value);
        assert!(error.contains(expected), "{error}");
    }
    let error = refused(|bytes| bytes[56..64].fill(0));
    assert!(error.starts_with("byte 56: largest training size: 0"), "{error}");
    // The first name is `gap_us`, the second `port`.
    let error = refused(|bytes| bytes[HEADER + 1] = 0xff);
    assert_eq!(error, "byte 64: a feature's name is not UTF-8 text");
    let twice = Forest::parse(&file(&[("port", ""), ("port", "")], 10, &by_hand())).unwrap_err().to_string();
    assert!(twice.starts_with("byte 70: feature `port` is repeated"), "{twice}");
}

#[test]
fn parse__counts_that_no_file_has_room_for() {
    // Nothing is set aside for four thousand million trees, or a million nodes.
    let error = refused(|bytes| bytes[24..28].fill(0xff));
    assert!(error.contains("the file ends before a tree does"), "{error}");
    let nodes = |count: u32| refused(|bytes| bytes[TREES..TREES + 4].copy_from_slice(&count.to_le_bytes()));
    assert!(nodes(1 << 20).contains("the file ends before a tree does"));
    assert!(
        nodes((1 << 20) + 1).starts_with(&format!("byte {TREES}: nodes of a tree: 1048577; expected 1 to 1048576"))
    );
    assert!(nodes(0).contains("nodes of a tree: 0"));
}

#[test]
fn parse__trees_that_are_none() {
    // The first tree has 5 nodes: the root, its children 1 and 2, and one of these has 3 and 4.
    let node = |number: usize| TREES + 4 + 8 * number;
    let threshold = 1f32.to_bits();
    let with =
        |number, threshold, left, feature| refused(move |bytes| write_node(bytes, number, threshold, left, feature));
    let cycle = with(2, threshold, 1, 0);
    assert!(cycle.starts_with(&format!("byte {}: the children of node 2 begin at 1", node(2))), "{cycle}");
    assert!(with(2, threshold, 2, 0).contains("cycle"));
    assert!(with(0, threshold, 4, 0).contains("the children begin at node 4; the tree has 5 nodes"));
    assert!(with(0, threshold, 0x00ff_ffff, 0).contains("begin at node 16777215"));
    assert!(with(1, threshold, 3, 0).contains("node 3 has two parents"));
    assert!(with(0, threshold, 3, 0).contains("no node leads to node 1"));
    assert!(with(0, threshold, 1, 2).contains("a split on feature 2; the forest has 2"));
    assert!(with(3, LEAF, 4, 0).contains("a leaf goes on to node 4"));
    assert!(with(3, LEAF, 3, 1).contains("a leaf goes on"));
    for number in [f32::NAN, f32::INFINITY, -1.0, -0.0] {
        let error = with(0, number.to_bits(), 1, 0);
        assert!(error.starts_with(&format!("byte {}: the threshold is {number}", node(0))), "{error}");
    }
}

#[test]
fn parse__a_tree_that_is_too_deep() {
    let chain = |depth: u32| {
        let leaf = |flows| Tree::leaf(flows, 1, 1, 1);
        (1..depth).fold(leaf(101 - depth), |below, _| Tree::split(0, 1.0, below, leaf(1)))
    };
    let read = |depth| Forest::parse(&file(&FEATURES, 100, &[chain(depth)]));
    assert_eq!(read(65).unwrap().nodes(), 129);
    let error = read(66).unwrap_err().to_string();
    assert!(error.contains("is deeper than 64 splits"), "{error}");
    let error = refused(|bytes| bytes[13] = 1).to_string();
    assert!(error.contains("is deeper than 1 splits"), "{error}");
}

#[test]
fn parse__leaves_that_contradict() {
    let leaf = TREES + 4 + 8;
    let empty = refused_tree(Tree::leaf(0, 1, 1, 1));
    assert_eq!(empty, format!("byte {leaf}: a leaf without flows; expected at least one"));
    let few = refused_tree(Tree::leaf(9, 1, 1, 1));
    assert!(few.starts_with(&format!("byte {leaf}: the leaves of the tree have 9 flows together")), "{few}");
    for [smallest, mean, largest] in [[5, 5, 4], [5, 4, 6], [5, 7, 6], [0, 1, 2], [1, 2, 1_000_000_001]] {
        let error = refused_tree(Tree::leaf(10, smallest, mean, largest));
        assert!(error.starts_with(&format!("byte {}: a leaf of sizes from {smallest}", leaf + 4)), "{error}");
    }
}

/// Applies what was read, if it was.
fn apply(bytes: &[u8]) -> bool {
    let Ok(forest) = Forest::parse(bytes) else { return false };
    for value in [0, 1, 1 << 24, u64::MAX] {
        let features = vec![value; forest.features().len()];
        let bounds = forest.bounds(&features);
        let predicted = forest.predicted(&features);
        assert!(bounds.lower >= 1 && bounds.lower <= predicted.get() && predicted <= bounds.upper);
    }
    true
}

proptest! {
    #[test]
    fn parse__any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400), head in 0usize..96) {
        apply(&bytes);
        // The same behind the beginning of a good file, and with a checksum that fits.
        let mut mixed = file(&FEATURES, 10, &by_hand())[..head].to_vec();
        mixed.extend(&bytes);
        apply(&mixed);
        if mixed.len() >= HEADER + 32 {
            seal(&mut mixed);
            apply(&mixed);
        }
    }

    #[test]
    fn parse__one_changed_byte(seed in any::<u64>(), at in any::<prop::sample::Index>(), change in 1u8..) {
        let mut grower = Grower::new(seed);
        let trees: Vec<_> = (0..3).map(|_| grower.tree(20, 5, &mut [(0, 1_000); 2])).collect();
        let mut bytes = file(&FEATURES, 20, &trees);
        prop_assert!(apply(&bytes));
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(Forest::parse(&bytes).is_err());
        seal(&mut bytes);
        apply(&bytes);
    }
}
