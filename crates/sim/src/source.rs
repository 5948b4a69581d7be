//! The event sources of a partition, and their numbers in the event queue.
//!
//! Each source has at most one event. Of events at one instant, the one with the least number runs first, so the
//! numbers are part of the model. The order is: arrivals by link, messages that begin, departures that hosts hear, the
//! timers of hosts, those of switches' programs, pauses.

/// A source other than a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The messages that begin.
    Messages,
    /// The next departure from a host's port, if its endpoints hear departures.
    Departure(u32),
    /// The timer of a host.
    Host(u32),
    /// The timer of a switch's program.
    Program(u32),
    /// The pauses that arrive.
    Pauses,
}

/// The numbers of all sources. A link's number is its index, so that an arrival needs no arithmetic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    /// The number after the links'.
    messages: u32,
    /// The number of the first host's departures.
    departures: u32,
    /// The number of the first host's timer.
    hosts: u32,
    /// The number of the first program's timer.
    programs: u32,
    /// The number of pauses.
    pauses: u32,
    /// How many there are.
    count: u32,
}

impl Sources {
    /// Numbers the sources of this many links, hosts and programs. `hear`: endpoints hear departures.
    pub(crate) fn new(links: u32, hosts: u32, hear: bool, programs: u32, pausing: bool) -> Sources {
        let departures = links + 1;
        let first_host = departures + if hear { hosts } else { 0 };
        let first_program = first_host + hosts;
        let pauses = first_program + programs;
        let count = pauses + u32::from(pausing);
        Sources { messages: links, departures, hosts: first_host, programs: first_program, pauses, count }
    }

    /// Returns how many there are.
    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Returns the number of a source.
    #[inline(always)]
    pub(crate) fn number(self, source: Source) -> u32 {
        match source {
            Source::Messages => self.messages,
            Source::Departure(host) => self.departures + host,
            Source::Host(host) => self.hosts + host,
            Source::Program(switch) => self.programs + switch,
            Source::Pauses => self.pauses,
        }
    }

    /// Returns whether a number is a link's. Nearly every event is an arrival, so the event loop asks for no more.
    #[inline(always)]
    pub(crate) fn is_link(self, number: u32) -> bool {
        number < self.messages
    }

    /// Returns the source whose number this is; it is no link's.
    #[inline]
    pub(crate) fn source(self, number: u32) -> Source {
        if number < self.departures {
            Source::Messages
        } else if number < self.hosts {
            Source::Departure(number - self.departures)
        } else if number < self.programs {
            Source::Host(number - self.hosts)
        } else if number < self.pauses {
            Source::Program(number - self.programs)
        } else {
            Source::Pauses
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the sources other than links in the order of their numbers.
    fn all(sources: Sources) -> Vec<Source> {
        let numbers = (0..sources.count() as u32).filter(|&number| !sources.is_link(number));
        let source = |number| {
            let source = sources.source(number);
            assert_eq!(sources.number(source), number);
            source
        };
        numbers.map(source).collect()
    }

    #[test]
    fn source__numbers_in_the_order_of_one_instant() {
        let departures = [Source::Departure(0), Source::Departure(1)];
        let timers = [Source::Host(0), Source::Host(1), Source::Program(0)];
        assert_eq!(all(Sources::new(2, 2, true, 1, false)), [&[Source::Messages][..], &departures, &timers].concat());
        let sources = Sources::new(2, 2, false, 1, false);
        assert_eq!(all(sources), [&[Source::Messages][..], &timers].concat());
        assert_eq!([0, 1, 2].map(|number| sources.is_link(number)), [true, true, false]);
    }
}
