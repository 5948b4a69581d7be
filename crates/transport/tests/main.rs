//! What tests this crate from outside, as one program: each links all that is under it.

mod by_priority;
mod common;
mod connections;
mod endpoints;
mod every_gap;
mod homa;
mod hosts;
mod linux;
mod messages;
mod nic_order;
mod open_loop;
mod pacing;
mod pipe;
mod rack;
mod receiver;
mod recovery;
mod timers;
mod windows;
