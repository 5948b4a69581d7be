//! The commands: a file each, with its options, its call and its words.

pub(crate) mod tune;
