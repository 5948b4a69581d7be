//! Files and texts from outside: one way to open a file for reading, one way to write a file that the user names, one
//! way to show texts on a terminal, a guard around third-party decoders, and the built-in experiments.

mod archive;
pub mod builtin;
mod fence;
mod input;
mod kind;
mod output;
mod text;

pub use archive::regular_entries;
pub use fence::fenced;
pub use input::{Bounded, LINE_BYTES, MOST_BYTES, ShortLines, digest_of, open, open_text, read, read_text};
pub use output::{
    Existing, PARTIAL, check_named, check_new, folder_of, is_read_only, partial, partial_folder, write_whole,
};
pub use text::{for_terminal, leads, printable, safe_cell};
