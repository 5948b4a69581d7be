//! Real packets through the simulator's fabric.
//!
//! [`InMemory`](flowsieve_sim::in_memory::InMemory) has the ports, lines and switches. [`control`] drives the controllers of a
//! scheme at its side. [`hosts`] knows the messages that packets belong to, and tags packets; [`wire`] reads
//! frames of Ethernet, and marks them; [`carrier`] joins these with a clock and devices ([`io`]). [`linux`] is the lab: network
//! namespaces, the kernel's TCP, and real packets. [`calls`] has what they need of the system.

/// Lets counts of these names be taken since an earlier moment.
macro_rules! since {
    ($Counts:ident: $($count:ident),*) => {
        impl $Counts {
            /// Returns what was counted since an earlier moment.
            #[must_use]
            pub fn since(mut self, earlier: &$Counts) -> $Counts {
                $(self.$count -= earlier.$count;)*
                self
            }
        }
    };
}

#[allow(unsafe_code)]
pub mod calls;
pub mod carrier;
pub mod control;
mod error;
pub mod hosts;
pub mod io;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod wire;

pub use error::LabError;
