//! The names of hosts in flow lists and settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The names of a fabric's hosts: `host0`, `host1`, … or those that an edge list gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNames {
    count: u32,
    /// By name, if they have names of their own.
    own: Arc<BTreeMap<String, u32>>,
    /// Names of switches, which are not hosts.
    switches: Arc<BTreeSet<String>>,
    /// Whether a host's own name is a number: numbers are then names, not places.
    numeric: bool,
}

impl HostNames {
    /// `count` hosts named `host0` and so on.
    pub fn numbered(count: u32) -> HostNames {
        HostNames { count, own: Arc::default(), switches: Arc::default(), numeric: false }
    }

    /// These in the order of the hosts' numbers; without any, like [`HostNames::numbered`].
    pub fn new(count: u32, own: &[String]) -> HostNames {
        let numeric = own.iter().any(|name| is_number(name));
        let own = Arc::new(own.iter().cloned().zip(0..count).collect());
        HostNames { count, own, switches: Arc::default(), numeric }
    }

    /// With the names of switches, so that an error can say that a name is a switch's.
    pub fn with_switches(self, names: impl IntoIterator<Item = String>) -> HostNames {
        HostNames { switches: Arc::new(names.into_iter().collect()), ..self }
    }

    /// Whether numbers are the names of hosts, not their places from 0.
    pub fn are_numbers(&self) -> bool {
        self.numeric
    }

    /// The names in the order of the hosts, if a list needs them because numbers are names; else none.
    pub fn needed_in_lists(&self) -> Vec<String> {
        let mut names: Vec<(u32, &String)> = self.own.iter().map(|(name, host)| (*host, name)).collect();
        names.sort_unstable();
        if self.numeric { names.into_iter().map(|(_, name)| name.clone()).collect() } else { Vec::new() }
    }

    /// Number of hosts.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of the host of this name. If hosts are numbered, `host07` is `host7`; if names are numbers, `7.0` is `7`.
    pub fn find(&self, name: &str) -> Option<u32> {
        if !self.own.is_empty() {
            let whole = || name.strip_suffix(".0").filter(|name| self.numeric && is_number(name));
            return self.own.get(name).or_else(|| self.own.get(whole()?)).copied();
        }
        let digits = name.strip_prefix("host").filter(|digits| is_number(digits))?;
        digits.parse().ok().filter(|host| *host < self.count)
    }

    /// All names.
    pub fn all(&self) -> impl Iterator<Item = String> {
        let numbered = if self.own.is_empty() { 0..self.count } else { 0..0 };
        self.own.keys().cloned().chain(numbered.map(|host| format!("host{host}")))
    }

    /// The accepted forms of a host, in words.
    pub fn in_words(&self) -> String {
        match self.own.is_empty() {
            true => format!("host0 to host{}", self.count.saturating_sub(1)),
            false => "the name of a host in the edge list".to_owned(),
        }
    }

    /// The accepted forms in place of `name`, which is not a host's; for a switch it says so.
    pub fn in_words_for(&self, name: &str) -> String {
        match self.switches.contains(name) {
            true => format!("a host, but `{name}` is a switch, since it has several links"),
            false if self.numeric => format!("{}, where numbers are names", self.in_words()),
            false => format!("a number from 0 to {}, or {}", self.count.saturating_sub(1), self.in_words()),
        }
    }
}

/// Whether a name consists only of digits.
fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|digit| digit.is_ascii_digit())
}

/// The number in a host's name, which is written only as `host12`.
pub fn host_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("host")?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find__hosts_have_numbers_or_names_of_their_own() {
        let numbered = HostNames::numbered(12);
        assert_eq!(
            ["host0", "host11", "host12", "host+1", "host01", "web"].map(|name| numbered.find(name)),
            [Some(0), Some(11), None, None, Some(1), None]
        );
        let named = HostNames::new(2, &["web".to_owned(), "db".to_owned()]);
        assert_eq!(["web", "db", "host0", "Web"].map(|name| named.find(name)), [Some(0), Some(1), None, None]);
        assert_eq!(named.all().collect::<Vec<_>>(), ["db", "web"]);
        assert_eq!(HostNames::new(2, &[]), HostNames::numbered(2));
    }

    #[test]
    fn find__numbers_are_names_where_a_host_is_called_so() {
        let names = HostNames::new(3, &["2".to_owned(), "007".to_owned(), "web".to_owned()]);
        assert_eq!(
            ["2", "2.0", "007", "7", "0", "web"].map(|name| names.find(name)),
            [Some(0), Some(0), Some(1), None, None, Some(2)]
        );
        assert!(names.are_numbers());
        assert_eq!(names.needed_in_lists(), ["2", "007", "web"]);
        assert_eq!(HostNames::new(1, &["web".to_owned()]).needed_in_lists(), [""; 0]);
    }
}
