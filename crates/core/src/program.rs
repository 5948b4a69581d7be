//! A switch's program: it chooses among equally short ways, may have a timer, and may talk to its neighbours' programs.
//!
//! The switch calls it with what happened, at the instant at which it happens:
//!
//! | when | the switch calls |
//! | --- | --- |
//! | once, before the run | [`SwitchProgram::watches`] |
//! | a packet of a host is to be forwarded, before it joins a port | [`SwitchProgram::choose`] |
//! | a neighbour's packet comes in | [`SwitchProgram::on_program_packet`] |
//! | its timer fires | [`SwitchProgram::on_timer`] |
//! | after each of these, and before the run | [`SwitchProgram::next_timer`] |
//!
//! In each call it has its switch's ports at hand ([`SwitchPorts`]). Between switches there are packets and nothing else.
//! A program that draws makes a random stream of its own with its site's seed ([`crate::Site::seed`]).

use crate::meta::Meta;
use crate::site::Node;
use crate::units::Time;

/// A packet between the programs of two neighbours. It travels and waits like any other, and hosts do not hear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPacket {
    /// The switch's own port that it leaves by or came in by.
    pub port: u16,
    /// Bytes with headers.
    pub len: u16,
    /// Its priority, 0 the highest.
    pub priority: u8,
    /// What it says, to the neighbour's program alone.
    pub payload: [u32; 6],
}

/// What a program is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watches {
    /// For which packets it is asked.
    pub packets: Asked,
    /// Ports with [`SwitchPorts::sent_bytes`].
    pub sent_bytes: Counted,
}

/// The packets for which a program is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// Those that have a choice.
    #[default]
    Choices,
    /// Of these the first of each flowlet, which ends after so long without a packet. The switch keeps the way for the others
    /// ([`crate::balancers::flowlet::FlowletTable`]).
    Flowlets(Time),
    /// Every packet that the switch forwards, those with a single way too.
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
    /// Whether a port counts that leads to this node.
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
    /// Bytes that wait at a port at this instant, without the packet on its line.
    fn backlog_bytes(&mut self, port: u16) -> u64;

    /// Bytes that a port has put on its line up to this instant, with preambles and gaps; a packet counts as a whole from
    /// its first bit on. Over any span, 8 · what is added / (rate · span) is the line's utilisation, but for a packet at
    /// each end.
    ///
    /// # Panics
    /// Where the program does not watch the port ([`Watches::sent_bytes`]).
    fn sent_bytes(&mut self, port: u16) -> u64;

    /// Sends a packet: it joins its port at once, which may drop it.
    fn send(&mut self, packet: ProgramPacket);
}

/// A switch program of the user's own. The module says when it is called.
pub trait SwitchProgram: Send {
    /// What it is shown; always the same.
    fn watches(&self) -> Watches {
        Watches::default()
    }

    /// A packet that came in by port `from` is to leave by one of the ports of group `group` of the site
    /// ([`crate::Site::groups`]): which, counted from 0. A larger number stands for the last.
    fn choose(&mut self, packet: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize;

    /// A neighbour's packet came in.
    fn on_program_packet(&mut self, _packet: &ProgramPacket, _now: Time, _ports: &mut dyn SwitchPorts) {}

    /// When [`SwitchProgram::on_timer`] wants to be called next; [`Time::NEVER`] for never. What is over is due now.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// The timer fired.
    fn on_timer(&mut self, _now: Time, _ports: &mut dyn SwitchPorts) {}
}
