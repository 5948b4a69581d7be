//! What switches can do at their ports, beyond queueing: the built-in [`OnHop`](crate::hop::OnHop)s.

pub mod marks;
pub mod pfc;
pub mod stamps;
pub mod trim;
