//! The flow level.

mod by_hand;
mod naive;
