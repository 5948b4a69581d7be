//! What hosts are called in flow lists and settings.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of a fabric's hosts: `host0`, `host1`, … or those that an edge list gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNames {
    count: u32,
    /// By name, where they have names of their own.
    own: Arc<BTreeMap<String, u32>>,
}

impl HostNames {
    /// `host0` and the following, so many of them.
    pub fn numbered(count: u32) -> HostNames {
        HostNames { count, own: Arc::default() }
    }

    /// These in the order of the hosts' numbers; where there are none, as [`HostNames::numbered`].
    pub fn new(count: u32, own: &[String]) -> HostNames {
        HostNames { count, own: Arc::new(own.iter().cloned().zip(0..count).collect()) }
    }

    /// How many hosts there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of the host of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        if !self.own.is_empty() {
            return self.own.get(name).copied();
        }
        host_number(name).filter(|host| *host < self.count)
    }

    /// All names.
    pub fn all(&self) -> impl Iterator<Item = String> {
        let numbered = if self.own.is_empty() { 0..self.count } else { 0..0 };
        self.own.keys().cloned().chain(numbered.map(|host| format!("host{host}")))
    }

    /// What may be written for one, in words.
    pub fn in_words(&self) -> String {
        match self.own.is_empty() {
            true => format!("host0 to host{}", self.count.saturating_sub(1)),
            false => "the name of a host in the edge list".to_owned(),
        }
    }
}

/// The number in a host's name, which is written as `host12` and in no other way.
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
            [Some(0), Some(11), None, None, None, None]
        );
        let named = HostNames::new(2, &["web".to_owned(), "db".to_owned()]);
        assert_eq!(["web", "db", "host0", "Web"].map(|name| named.find(name)), [Some(0), Some(1), None, None]);
        assert_eq!(named.all().collect::<Vec<_>>(), ["db", "web"]);
        assert_eq!(HostNames::new(2, &[]), HostNames::numbered(2));
    }
}
