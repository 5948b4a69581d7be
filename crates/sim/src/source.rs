//! The event sources of a partition, and their numbers in the event queue.
//!
//! Each source has at most one event. Of events at one instant, the one with the least number runs first, so the numbers
//! are part of the model: arrivals by link, then messages that begin, then departures that hosts hear, then the timers of
//! hosts, then those of switches' programs.

/// Something that may have an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The next arrival at the end of a link. Its number is the link's index.
    Link(u32),
    /// The messages that begin.
    Messages,
    /// The next departure from a host's port, if its endpoints hear departures.
    Departure(u32),
    /// The timer of a host.
    Host(u32),
    /// The timer of a switch's program.
    Program(u32),
}

/// The numbers of all sources.
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
    /// How many there are.
    count: u32,
}

impl Sources {
    /// Numbers the sources of this many links, hosts and programs. `hear`: endpoints hear departures.
    pub(crate) fn new(links: u32, hosts: u32, hear: bool, programs: u32) -> Sources {
        let departures = links + 1;
        let first_host = departures + if hear { hosts } else { 0 };
        let first_program = first_host + hosts;
        let count = first_program + programs;
        Sources { messages: links, departures, hosts: first_host, programs: first_program, count }
    }

    /// Returns how many there are.
    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Returns the number of a source.
    #[inline(always)]
    pub(crate) fn number(self, source: Source) -> u32 {
        match source {
            Source::Link(link) => link,
            Source::Messages => self.messages,
            Source::Departure(host) => self.departures + host,
            Source::Host(host) => self.hosts + host,
            Source::Program(switch) => self.programs + switch,
        }
    }

    /// Returns the source with a number.
    #[inline(always)]
    pub(crate) fn source(self, number: u32) -> Source {
        if number < self.messages {
            Source::Link(number)
        } else if number < self.departures {
            Source::Messages
        } else if number < self.hosts {
            Source::Departure(number - self.departures)
        } else if number < self.programs {
            Source::Host(number - self.hosts)
        } else {
            Source::Program(number - self.programs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists all sources in the order of their numbers.
    fn all(sources: Sources) -> Vec<Source> {
        let all: Vec<_> = (0..sources.count() as u32).map(|number| sources.source(number)).collect();
        assert!(all.iter().zip(0..).all(|(&source, number)| sources.number(source) == number));
        all
    }

    #[test]
    fn source__numbers_in_the_order_of_one_instant() {
        let first = [Source::Link(0), Source::Link(1), Source::Messages];
        let departures = [Source::Departure(0), Source::Departure(1)];
        let timers = [Source::Host(0), Source::Host(1), Source::Program(0)];
        assert_eq!(all(Sources::new(2, 2, true, 1)), [&first[..], &departures, &timers].concat());
        assert_eq!(all(Sources::new(2, 2, false, 1)), [&first[..], &timers].concat());
    }
}
