//! What single schemes are, built from their files.

mod es8;
mod nos2;
mod sieve;
