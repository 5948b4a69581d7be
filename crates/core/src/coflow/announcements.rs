//! The flows of coflows, if they are known before they begin.

/// A flow of a coflow, before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The coflow.
    pub coflow: u32,
    /// The message's number.
    pub message: u32,
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Payload in bytes.
    pub bytes: u64,
}

/// All flows of all coflows of a run, by coflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcements {
    flows: Vec<Announced>,
}

impl Announcements {
    /// Builds the list from flows in any order.
    pub fn new(mut flows: Vec<Announced>) -> Announcements {
        flows.sort_by_key(|flow| (flow.coflow, flow.message));
        Announcements { flows }
    }

    /// Returns the flows of a coflow, by number.
    pub fn of(&self, coflow: u32) -> &[Announced] {
        let from = self.flows.partition_point(|flow| flow.coflow < coflow);
        let to = from + self.flows[from..].partition_point(|flow| flow.coflow == coflow);
        &self.flows[from..to]
    }
}
