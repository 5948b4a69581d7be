//! The constants of a transport that have to fit its fabric. They are compared with base round trips, with the time of a
//! packet and with buffers when a run is planned: a timer of 5 ms loses messages where a round trip takes 150 ms.

use flowsieve_core::Time;

/// What a transport chooses without knowing its fabric. Each field has to be stated, and none has a default: a plan knows
/// a transport by these alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Its timers that send or ask again if nothing comes.
    pub waits: Vec<Wait>,
    /// The most of a flow that is under way and not answered.
    pub window: Option<Named>,
    /// What each sender sends of a flow before it hears of its receiver.
    pub unasked: Option<Named>,
    /// How long the first answer to a flow may be held back for more packets to come
    /// ([`crate::TransportFacts::packets_per_answer`]).
    pub first_answer_held: Time,
    /// Whether senders slow down for ECN marks.
    pub reacts_to_marks: bool,
}

impl Constants {
    /// Nothing waits, nothing is limited and nothing is asked for: messages are sent as they begin.
    pub const NONE: Constants = Constants {
        waits: Vec::new(),
        window: None,
        unasked: None,
        first_answer_held: Time::ZERO,
        reacts_to_marks: false,
    };
}

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The setting that gives the time.
    pub key: &'static str,
    /// The time.
    pub time: Time,
    /// What it waits for.
    pub awaits: Awaits,
    /// How long an answer may be held back.
    pub held: Time,
    /// How often it fires in vain before the message is given up; `None`: it never is.
    pub attempts: Option<u32>,
    /// What happens where it is too short, in words: "packets are sent again without a loss".
    pub effect: &'static str,
}

/// What a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// The answer to a packet: a base round trip.
    Answer,
    /// The next packet of those that were asked for: of a round trip what the window does not cover.
    Next,
    /// As long as measured round trips at least. Only an answer that is held back takes longer.
    Measured,
    /// The same, and the time is added to the measured ones.
    Added,
}

/// A number with the setting that gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The setting, or what the number is called otherwise.
    pub key: &'static str,
    /// Its value.
    pub amount: Amount,
}

/// A part of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Full packets.
    Packets(u32),
    /// Full packets, for a setting of a size: `239pkt`.
    SizeInPackets(u32),
    /// Payload in bytes.
    Payload(u64),
    /// What the path of each pair of hosts carries in its base round trip.
    RoundTrip,
}
