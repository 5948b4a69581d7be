use super::super::events::{Event, reconvergence};
use super::*;

/// A fabric of these events, each as it would stand in a file: (at, link, down).
fn with_events(settings: Settings, events: &[(&str, &str, bool)]) -> Settings {
    let mut settings = settings;
    for (index, (at, link, down)) in events.iter().enumerate() {
        let values: [(&str, Raw); 3] = [("at", (*at).into()), ("link", (*link).into()), ("down", (*down).into())];
        for (name, raw) in values {
            let key = settings.find(name).unwrap();
            settings.give(Table::Event(index), key, &raw, Origin::Default).unwrap();
        }
    }
    settings
}

fn leaf_spine() -> Settings {
    shape("leaf-spine", &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 1)])
}

/// The ends of links, in their order.
fn names(fabric: &Fabric, links: &[u32]) -> Vec<String> {
    links.iter().map(|link| fabric.ends_name(*link)).collect()
}

#[test]
fn events__are_of_both_directions_and_in_order() {
    let given = [("9ms", "spine1-leaf0", false), ("5ms", "leaf0-spine1", true)];
    let fabric = Fabric::from_settings(&with_events(leaf_spine(), &given)).unwrap();
    let [down, up]: [Event; 2] = fabric.events.clone().try_into().unwrap();
    assert_eq!((down.at, down.down, up.at, up.down), (Time::from_us(5_000), true, Time::from_us(9_000), false));
    assert_eq!(names(&fabric, &down.links), ["leaf0 to spine1", "spine1 to leaf0"]);
    assert_eq!(down.links, up.links);
    assert!(
        fabric.draw().contains("  5ms: leaf0 - spine1 fails\n  9ms: leaf0 - spine1 is back\n"),
        "{}",
        fabric.draw()
    );
    // Nothing else changes.
    let whole = Fabric::from_settings(&leaf_spine()).unwrap();
    assert_eq!(Fabric { events: Vec::new(), ..fabric }, whole);
}

#[test]
fn reroutes__avoid_what_is_down_and_come_back() {
    let given = [("5ms", "leaf0-spine1", true), ("9ms", "leaf0-spine1", false)];
    let settings = with_events(leaf_spine(), &given).with(None, "reconvergence", "1ms");
    let mut fabric = Fabric::from_settings(&settings).unwrap();
    assert_eq!(fabric.reroutes(), [], "switches that find their own paths are given none");
    fabric.reconvergence = Some(reconvergence(&settings.common()).unwrap());
    let [away, back] = fabric.reroutes().try_into().unwrap();
    assert_eq!((away.at, back.at), (Time::from_us(6_000), Time::from_us(10_000)));
    let lines = |of: &[(u32, u32, Vec<u32>)]| -> Vec<String> {
        let line = |(switch, leaf, ways): &(u32, u32, Vec<u32>)| {
            format!("{} for leaf{leaf}: {}", fabric.switches[*switch as usize].name, names(&fabric, ways).join(", "))
        };
        of.iter().map(line).collect()
    };
    assert_eq!(
        lines(&away.ways),
        [
            "leaf1 for leaf0: leaf1 to spine0",
            "leaf2 for leaf0: leaf2 to spine0",
            // What is at the spine already goes round by the other leaves.
            "spine1 for leaf0: spine1 to leaf1, spine1 to leaf2",
            "leaf0 for leaf1: leaf0 to spine0",
            "leaf0 for leaf2: leaf0 to spine0",
        ]
    );
    assert_eq!(
        lines(&back.ways),
        [
            "leaf1 for leaf0: leaf1 to spine0, leaf1 to spine1",
            "leaf2 for leaf0: leaf2 to spine0, leaf2 to spine1",
            "spine1 for leaf0: spine1 to leaf0",
            "leaf0 for leaf1: leaf0 to spine0, leaf0 to spine1",
            "leaf0 for leaf2: leaf0 to spine0, leaf0 to spine1",
        ]
    );
}

/// Names of nodes may have the sign that joins them.
#[test]
fn events__a_name_that_fits_two_links_is_refused() {
    let text = "host0,leaf,25Gbps,1us\nhost1,leaf-1,25Gbps,1us\nhost2,up,25Gbps,1us\nhost3,1-up,25Gbps,1us\n\
                leaf,1-up,100Gbps,1us\nleaf-1,up,100Gbps,1us\nleaf,leaf-1,100Gbps,1us\n1-up,up,100Gbps,1us\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fabric.csv"), text).unwrap();
    let with = |link: &str| {
        let settings = shape("custom", &[]).with(None, "file", "fabric.csv");
        Fabric::from_settings_in(&with_events(settings, &[("300us", link, true)]), folder.path())
    };
    let refused = with("leaf-1-up").unwrap_err().to_string();
    assert!(refused.contains("fits several links: leaf and 1-up; leaf-1 and up"), "{refused}");
    // Its two halves can be read as two pairs of nodes, but only one pair has a link.
    let fabric = with("leaf-leaf-1").unwrap();
    assert_eq!(names(&fabric, &fabric.events[0].links), ["leaf to leaf-1", "leaf-1 to leaf"]);
}

#[test]
fn events__refused_with_the_reason() {
    let refused = |events: &[(&str, &str, bool)]| refused(&with_events(leaf_spine(), events));
    let cut = refused(&[("5ms", "leaf0-spine1", true), ("7ms", "leaf0-spine0", true)]);
    assert!(cut.contains("from 7ms on, host0 has no path to host1"), "{cut}");
    assert!(refused(&[("5ms", "host2-leaf2", true)]).contains("from 5ms on, host2 has no path to host0"));
    assert!(refused(&[("5ms", "leaf0-leaf1", true)]).contains("there is no link between leaf0 and leaf1"));
    assert!(refused(&[("5ms", "leaf0", true)]).contains("does not name two ends"));
    let twice = refused(&[("5ms", "leaf0-spine1", true), ("6ms", "spine1-leaf0", true)]);
    assert!(twice.contains("the link is down already at 6ms"), "{twice}");
    let at_once = refused(&[("5ms", "leaf0-spine1", true), ("5ms", "leaf0-spine1", false)]);
    assert!(at_once.contains("the link has two events at 5ms"), "{at_once}");
    // One fails at the instant at which the other is back.
    let by_turns = [("5ms", "leaf0-spine1", true), ("7ms", "leaf0-spine1", false), ("7ms", "leaf0-spine0", true)];
    assert!(Fabric::from_settings(&with_events(leaf_spine(), &by_turns)).is_ok());
    let nothing = reconvergence(&leaf_spine().common()).unwrap_err().to_string();
    assert!(nothing.contains("`reconvergence` is missing"), "{nothing}");
}
