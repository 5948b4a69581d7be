//! What tests this crate from outside, as one program: each links all that is under it.

mod effective;
mod settings;
mod stopping;
mod users_schemes;
