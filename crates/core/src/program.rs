//! A switch's program: it chooses among equally short paths, may have a timer, and may talk to its neighbours' programs.
//!
//! The switch calls the program at the instant of each event:
//!
//! | when | the switch calls |
//! | --- | --- |
//! | once, before the run | [`SwitchProgram::watches`] |
//! | a packet of a host is to be forwarded, before it joins a port | [`SwitchProgram::choose`] |
//! | a neighbour's packet comes in | [`SwitchProgram::on_program_packet`] |
//! | its timer fires | [`SwitchProgram::on_timer`] |
//! | after each of these, and before the run | [`SwitchProgram::next_timer`] |
//!
//! In each call the program can use its switch's ports ([`SwitchPorts`]). Programs of different switches exchange packets
//! and nothing else. A program that needs randomness makes its own random stream from its site's seed
//! ([`crate::Site::seed`]).

use crate::hop::Trail;
use crate::meta::Meta;
use crate::site::Node;
use crate::units::Time;

/// A packet between the programs of two neighbours. It travels and waits like any other, and hosts do not see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPacket {
    /// The switch's port that it leaves by or came in by.
    pub port: u16,
    /// Bytes with headers.
    pub len: u16,
    /// Its priority, 0 the highest.
    pub priority: u8,
    /// Its content, read only by the neighbour's program.
    pub payload: [u32; 6],
}

/// What a program wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watches {
    /// The packets for which it is called.
    pub packets: Asked,
    /// The ports with [`SwitchPorts::sent_bytes`].
    pub sent_bytes: Counted,
}

/// The packets for which a program is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// Those with more than one path.
    #[default]
    Choices,
    /// The first of these in each flowlet; a flowlet ends after this long without a packet. The switch keeps the path for
    /// the others ([`crate::balancers::flowlet::FlowletTable`]).
    Flowlets(Time),
    /// Every packet that the switch forwards, even with a single path.
    Every,
}

/// The ports of a program's switch that count what they send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// None.
    #[default]
    None,
    /// Those that lead to switches.
    ToSwitches,
    /// All.
    All,
}

impl Counted {
    /// Returns whether a port that leads to this node counts.
    pub fn counts(self, behind: Node) -> bool {
        match self {
            Counted::None => false,
            Counted::ToSwitches => matches!(behind, Node::Switch(_)),
            Counted::All => true,
        }
    }
}

/// The ports of a program's switch, numbered as in its site.
pub trait SwitchPorts {
    /// Returns the bytes that wait at a port at this instant, without the packet on its line.
    fn backlog_bytes(&mut self, port: u16) -> u64;

    /// Returns the bytes that a port has put on its line up to this instant, with preambles and gaps; a packet counts as a
    /// whole from its first bit on. Over any span, 8 · (increase) / (rate · span) is the line's utilisation, except for a
    /// packet at each end.
    ///
    /// # Panics
    /// If the program does not watch the port ([`Watches::sent_bytes`]).
    fn sent_bytes(&mut self, port: u16) -> u64;

    /// Returns the trail of the packet for which [`SwitchProgram::choose`] is called; `None`: in other calls, or where the
    /// scheme's packets have none ([`crate::hop`]).
    fn trail(&mut self) -> Option<&mut Trail> {
        None
    }

    /// Sends a packet. It joins its port at once, which may drop it.
    fn send(&mut self, packet: ProgramPacket);

    /// Ends the flowlets that take path `way` of group `group` of the site ([`crate::Site::groups`]): the program chooses
    /// again for their next packets. It acts only if the program chooses by flowlet ([`Asked::Flowlets`]).
    fn forget(&mut self, group: u16, way: u16);
}

/// A custom switch program. See the module for when each method is called.
pub trait SwitchProgram: Send {
    /// Returns what the program wants to see; always the same.
    fn watches(&self) -> Watches {
        Watches::default()
    }

    /// Chooses a port for a packet that came in by port `from`, among those of group `group` of the site
    /// ([`crate::Site::groups`]). Returns its index, from 0. A larger number stands for the last.
    fn choose(&mut self, packet: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize;

    /// Handles a packet from a neighbour.
    fn on_program_packet(&mut self, _packet: &ProgramPacket, _now: Time, _ports: &mut dyn SwitchPorts) {}

    /// Returns when [`SwitchProgram::on_timer`] wants to be called next; [`Time::NEVER`] for never. An instant in the past
    /// is due now.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Handles the timer.
    fn on_timer(&mut self, _now: Time, _ports: &mut dyn SwitchPorts) {}
}
