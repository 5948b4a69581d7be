//! Removes settings that were read and have nothing to act on from a point's effective configuration.
//!
//! A scheme is built before the fabric is inspected. It reads the ports of every place, including cores of a fabric
//! without cores. The schemes of classes read ports, too, to show that they could use those of the outer scheme.

use std::collections::BTreeSet;

use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::{Place, Settings};

/// Undoes the reads that no port of the fabric and no class of flow has used.
pub(crate) fn take_back(settings: &Settings, fabric: &Fabric) {
    let there: BTreeSet<Place> = fabric.switches.iter().map(|switch| switch.place).chain([Place::Nic]).collect();
    settings.take_back(|name| matches!(of_place(name), Some((_, place)) if !there.contains(&place)));
    // They had to fit, so given values have been read; only the ports of the outer scheme act.
    settings.leave_out(|name| matches!(of_place(name), Some((true, _))));
}

/// Returns the place of a scheme's port that this key belongs to, and whether the scheme is that of a class:
/// "scheme.leaf.buffer", "scheme.class1.leaf.buffer".
fn of_place(name: &str) -> Option<(bool, Place)> {
    let mut parts = name.strip_prefix("scheme.")?.split('.');
    let first = parts.next()?;
    let number = first.strip_prefix("class");
    let is_of_class =
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let place = if is_of_class { parts.next()? } else { first };
    // A key must follow: `scheme.nic` itself is one.
    parts.next()?;
    Place::ALL.into_iter().find(|known| known.name() == place).map(|place| (is_of_class, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_place__keys_of_ports_alone() {
        assert_eq!(of_place("scheme.core.buffer"), Some((false, Place::Core)));
        assert_eq!(of_place("scheme.class1.leaf.queues"), Some((true, Place::Leaf)));
        assert_eq!(of_place("scheme.nic.mtu"), Some((false, Place::Nic)));
        for other in
            ["scheme.nic", "scheme.class1.nic", "scheme.buffer", "scheme.class.leaf.x", "network.core.mtu", "scheme"]
        {
            assert_eq!(of_place(other), None, "{other}");
        }
    }
}
