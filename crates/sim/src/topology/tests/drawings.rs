use super::*;

/// Takes the snapshot of a drawing, within its columns.
macro_rules! assert_drawing {
    ($name:expr, $drawing:expr) => {
        let drawing = $drawing;
        for line in drawing.lines() {
            assert!(line.chars().count() <= super::super::draw::WIDTH, "{line}");
        }
        insta::assert_snapshot!($name, drawing);
    };
}

#[test]
fn draw__every_kind() {
    for kind in kinds() {
        assert_drawing!(kind.name(), kind.example().unwrap());
    }
}

#[test]
fn draw__changed_links() {
    let settings = shape("leaf-spine", &[("leaves", 3), ("spines", 2)]).with(None, "forwarding", "cut-through");
    let settings = with_link(settings, ["leaf0", "spine1"], &[("failed", true.into())]);
    let settings = with_link(settings, ["leaf1", "spine0"], &[("rate", "10Gbps".into()), ("loss", 0.001.into())]);
    let settings = with_link(settings, ["leaf2", "spine0"], &[("rate", "25Gbps".into()), ("delay", "5us".into())]);
    let settings = with_link(settings, ["leaf2", "spine1"], &[("rate", "100Gbps".into())]);
    assert_drawing!("changed", Fabric::from_settings(&settings).unwrap().draw());
}

#[test]
fn draw__oversubscribed() {
    let settings = shape("leaf-spine", &[("leaves", 12), ("hosts_per_leaf", 12)]).with(None, "fabric_link", "10Gbps");
    assert_drawing!("oversubscribed", Fabric::from_settings(&settings).unwrap().draw());
}

#[test]
fn draw__links_within_a_tier_and_long_names() {
    let ring = "host0,a-switch-with-a-rather-long-name,10Gbps,1us\nhost1,b,10Gbps,1us\nhost2,c,10Gbps,2us
a-switch-with-a-rather-long-name,b,1Gbps,1us\nb,c,2Gbps,1us\nc,a-switch-with-a-rather-long-name,3Gbps,1us\n";
    let plan = super::super::custom::parse("ring.csv", ring).unwrap();
    assert_drawing!("ring", Fabric::assemble("custom", &plan, Time::ZERO, false).unwrap().draw());
}

#[test]
fn draw__many_changes_are_counted() {
    let settings = (0..14).fold(shape("leaf-spine", &[]), |settings, host| {
        with_link(settings, [&format!("host{host}"), "leaf0"], &[("loss", 0.5.into())])
    });
    let drawing = Fabric::from_settings(&settings).unwrap().draw();
    assert!(drawing.ends_with("  and 4 more\n"), "{drawing}");
    assert!(drawing.contains("14 links lose packets at random, with probability up to 0.5."), "{drawing}");
}
