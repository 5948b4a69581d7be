use proptest::prelude::*;

use super::super::custom::parse;
use super::*;

/// Writes `text` to `fabric.csv` in a folder, and returns settings that read it.
fn written(text: &str) -> (tempfile::TempDir, Settings) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fabric.csv"), text).unwrap();
    (folder, shape("custom", &[]).with(None, "file", "fabric.csv"))
}

fn read(text: &str) -> Result<Fabric, SettingsError> {
    let (folder, settings) = written(text);
    Fabric::from_settings_in(&settings, folder.path())
}

fn refused(text: &str) -> String {
    parse("f.csv", text).unwrap_err().to_string()
}

/// Two racks with two paths between them.
const TWO_RACKS: &str = "# racks\r\nfrom,to,rate,delay,loss\r\nhost0,tor0,10Gbps,200ns\r\n\r\ntor1,host1,10Gbps,200ns\r
tor0,agg0,40Gbps,1us,0.25\r\nagg0, tor1, 40Gbps, 1us\r\ntor0,agg1,100Gbps,3us\r\nagg1,tor1,100Gbps,3us\r
agg0,top,1Gbps,1ms";

#[test]
fn read__takes_rows_in_any_order() {
    let fabric = read(TWO_RACKS).unwrap();
    assert_eq!((fabric.kind, fabric.hosts, fabric.links.len()), ("custom", 2, 14));
    let places: Vec<_> = fabric.switches.iter().map(|switch| (switch.name.as_str(), switch.place)).collect();
    let (leaf, spine) = (Place::Leaf, Place::Spine);
    assert_eq!(places, [("tor0", leaf), ("tor1", leaf), ("agg0", spine), ("agg1", spine), ("top", Place::Core)]);
    let lossy = link(&fabric, "agg0", "tor0").unwrap();
    assert_eq!((lossy.rate.bps(), lossy.delay, lossy.loss), (40_000_000_000, Time(1_000_000), 0.25));
    assert_eq!(link(&fabric, "host1", "tor1").unwrap().delay, Time(200_000));
    assert_eq!(fabric.routes[0].towards(1).len(), 2);
    // The faster of the two paths: 2 (0.2 + 1 + 1 + 0.2) us.
    assert_eq!(fabric.base_rtt(), Time(4_800_000));
}

#[test]
fn read__takes_delays_as_whole() {
    let (folder, settings) = written("host0,tor0,10Gbps,2us\nhost1,tor0,10Gbps,3.2us");
    let of = |settings: &Settings| Fabric::from_settings_in(settings, folder.path()).unwrap();
    // 10.40 us there and back, not 50.40: hosts add a given delay, and none by default.
    assert_eq!((of(&settings).base_rtt(), of(&settings).host_delay), (Time(10_400_000), Time::ZERO));
    assert_eq!(settings.effective()["topology.host_delay"], "0ps");
    let given = of(&settings.with(None, "host_delay", "10us"));
    assert_eq!((given.base_rtt(), given.host_delay), (Time(50_400_000), Time(10_000_000)));
}

#[test]
fn reaches__have_the_longest_of_the_equal_ways() {
    let fabric = read(TWO_RACKS).unwrap();
    let [reach] = fabric.reaches() else { panic!("{:?}", fabric.reaches()) };
    assert_eq!(reach.links, 4);
    let exchange = crate::round_trip::Exchange { packet: 1_500, answer: 40 };
    let found = fabric.round_trip(0, 1, exchange);
    // By agg1: 2 (0.2 + 3 + 3 + 0.2) us, 1,540 bytes over 10 Gbit/s twice and over 100 Gbit/s twice.
    assert_eq!(found.time, Time(12_800_000 + 2 * 1_232_000 + 2 * 123_200));
    assert_eq!(found.rate.bps(), 10_000_000_000);
    assert_eq!(fabric.round_trip(1, 0, exchange).time, found.time);
}

#[test]
fn reaches__name_the_hosts_of_a_long_link() {
    let text = "host0,tor0,10Gbps,1us\nhost1,tor0,10Gbps,1us\nhost2,tor1,10Gbps,20ms\nhost3,tor1,10Gbps,1us\ntor0,tor1,40Gbps,1us";
    let fabric = read(text).unwrap();
    let found: Vec<_> = fabric.reaches().iter().map(|reach| (reach.links, reach.from.max(reach.to))).collect();
    assert_eq!(found, [(2, 3), (3, 2)]);
    let [_, far] = fabric.reaches() else { panic!() };
    assert!([far.from, far.to].contains(&2));
}

#[test]
fn read__fits_the_hosts_to_the_rtt() {
    let (folder, settings) = written(TWO_RACKS);
    let at = |rtt: &str| Fabric::from_settings_in(&settings.clone().with(None, "rtt", rtt), folder.path());
    let fabric = at("6.8us").unwrap();
    assert_eq!((fabric.base_rtt(), fabric.host_delay), (Time(6_800_000), Time(500_000)));
    assert!(at("4us").unwrap_err().to_string().contains("at least 4.8us"));
    let both = settings.clone().with(None, "rtt", "10us").with(None, "host_delay", "1us");
    let wrong = Fabric::from_settings_in(&both, folder.path()).unwrap_err().to_string();
    assert!(wrong.contains("disagrees with the delays of the edge list and `host_delay`"), "{wrong}");
}

#[test]
fn read__names_the_file_in_the_configuration() {
    let (folder, settings) = written(TWO_RACKS);
    Fabric::from_settings_in(&settings, folder.path()).unwrap();
    let digest = settings.effective()["topology.file.digest"].clone();
    assert_eq!(digest.len(), 64);
    std::fs::write(folder.path().join("fabric.csv"), TWO_RACKS.replace("0.25", "0.5")).unwrap();
    Fabric::from_settings_in(&settings, folder.path()).unwrap();
    assert_ne!(settings.effective()["topology.file.digest"], digest);
}

#[test]
fn read__takes_changes_too() {
    let (folder, settings) = written(TWO_RACKS);
    let settings = with_link(settings, ["agg1", "tor0"], &[("failed", true.into())]);
    let fabric = Fabric::from_settings_in(&settings, folder.path()).unwrap();
    assert_eq!(fabric.routes[0].towards(1).len(), 1);
}

#[test]
fn read__takes_a_link_between_two_hosts() {
    let fabric = read("host1,host0,1Gbps,5us").unwrap();
    assert_eq!((fabric.hosts, fabric.partitions, fabric.path_links(0, 1).len()), (2, 2, 1));
}

#[test]
fn read__without_numbered_hosts_nodes_with_one_link_are_hosts() {
    let text = "web-1,tor0,10Gbps,200ns\ntor0,hostess,10Gbps,200ns\ntor0,tor1,40Gbps,1us\ntor1,db,10Gbps,200ns\ntor1,top,1Gbps,1us\n\
                top,tor0,1Gbps,1us";
    let fabric = read(text).unwrap();
    assert_eq!(fabric.host_names, ["web-1", "hostess", "db"]);
    let switches: Vec<&str> = fabric.switches.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(switches, ["tor0", "tor1", "top"]);
    let numbered = text.replace("web-1", "host0").replace("hostess", "host1").replace("db", "host2");
    let numbered = read(&numbered).unwrap();
    assert_eq!((&fabric.links, fabric.base_rtt()), (&numbered.links, numbered.base_rtt()));
    assert_eq!((fabric.link_name(0), fabric.name(Node::Host(2))), ("web-1 to tor0".to_owned(), "db".to_owned()));
    assert_eq!(read("left,right,1Gbps,5us").unwrap().path_links(0, 1).len(), 1);
}

#[test]
fn read__changes_name_links_of_named_hosts() {
    let (folder, settings) = written("web,tor,10Gbps,200ns\ntor,db,10Gbps,200ns");
    let slow = with_link(settings.clone(), ["db", "tor"], &[("rate", "1Gbps".into())]);
    let fabric = Fabric::from_settings_in(&slow, folder.path()).unwrap();
    assert_eq!(link(&fabric, "db", "tor").unwrap().rate.bps(), 1_000_000_000);
    let wrong = with_link(settings.clone(), ["bd", "tor"], &[("rate", "1Gbps".into())]);
    let wrong = Fabric::from_settings_in(&wrong, folder.path()).unwrap_err();
    assert!(wrong.wrong_name.is_some_and(|name| name.valid.contains(&"db".to_owned())));
    let cut = with_link(settings, ["db", "tor"], &[("failed", true.into())]);
    let cut = Fabric::from_settings_in(&cut, folder.path()).unwrap_err().to_string();
    assert!(cut.contains("db has no path to web"), "{cut}");
}

/// Returns four hosts, two racks, and `rows` between them.
fn racks(rows: &str) -> String {
    format!(
        "from,to,rate,delay,bundle\nhost0,a,10Gbps,1us,\nhost1,a,10Gbps,1us,\nhost2,b,10Gbps,1us,\nhost3,b,10Gbps,1us,\n{rows}"
    )
}

#[test]
fn bundle__is_as_many_links_under_ecmp() {
    let fabric = read(&racks("a,b,10Gbps,1us,3")).unwrap();
    let between: Vec<u32> = (0..fabric.links.len() as u32).filter(|link| fabric.ends_name(*link) == "a to b").collect();
    assert_eq!((fabric.links.len(), between.len()), (8 + 6, 3));
    assert_eq!(fabric.routes[0].towards(2), between);
    let names: Vec<String> = between.iter().map(|link| fabric.link_name(*link)).collect();
    assert_eq!(names, ["a to b #1", "a to b #2", "a to b #3"]);
    // Each of three links carries a third of the traffic that crosses.
    let class = fabric.links[between[0] as usize].class;
    let shares = fabric.class_shares()[usize::from(class)];
    assert_eq!((shares.links, shares.rate_total_bps), (6, 60_000_000_000));
    let one = read(&racks("a,b,10Gbps,1us,1")).unwrap();
    assert_eq!(one, read(&racks("a,b,10Gbps,1us,")).unwrap());
    assert_eq!((one.link_name(between[0]), one.base_rtt()), ("a to b".to_owned(), fabric.base_rtt()));
}

#[test]
fn bundle__changes_as_a_whole() {
    let (folder, settings) = written(&racks("a,b,10Gbps,1us,2\na,c,10Gbps,1us,\nc,b,10Gbps,1us,"));
    let slow = with_link(settings.clone(), ["a", "b"], &[("rate", "1Gbps".into())]);
    let fabric = Fabric::from_settings_in(&slow, folder.path()).unwrap();
    assert!(fabric.changes[0].starts_with("a - b (each of 2 links): "), "{:?}", fabric.changes);
    let slow = fabric.links.iter().filter(|link| link.rate.bps() == 1_000_000_000);
    assert_eq!(slow.count(), 4);
    let failed = with_link(settings, ["b", "a"], &[("failed", true.into())]);
    let fabric = Fabric::from_settings_in(&failed, folder.path()).unwrap();
    assert_eq!(fabric.path_links(0, 3).len(), 4);
}

#[test]
fn read__takes_columns_in_any_order_and_names_those_that_it_does_not_read() {
    let text = ",rate,to,delay,from,note\n0,10Gbps,tor,200ns,host1,left\n1,10Gbps,tor,200ns,host0,right\n";
    let fabric = read(text).unwrap();
    assert_eq!(fabric.unread, ["(without a name)", "note"]);
    let plain = read("host1,tor,10Gbps,200ns\nhost0,tor,10Gbps,200ns").unwrap();
    assert_eq!(Fabric { unread: Vec::new(), ..fabric }, plain);
    let wrong = refused("note,rate,to,delay,from\nx,10Gbps,tor,200ns,host1\ny,fast,tor,200ns,host0\n");
    assert!(wrong.starts_with("f.csv:3:3: the rate `fast`"), "{wrong}");
}

#[test]
fn read__hosts_may_have_leading_zeros() {
    let rows: String = (1..=10).map(|host| format!("host{host:02},tor,10Gbps,1us\n")).collect();
    let fabric = read(&rows).unwrap();
    assert_eq!((fabric.hosts, fabric.host_names[0].as_str(), fabric.host_names[9].as_str()), (10, "host01", "host10"));
}

#[test]
fn read__hosts_whose_names_are_numbers_are_in_their_order() {
    let fabric = read("10,s,10Gbps,1us\n2,s,10Gbps,1us\n0,t,10Gbps,1us\ns,t,10Gbps,1us\n").unwrap();
    assert_eq!(fabric.host_names, ["0", "2", "10"]);
    let switches: Vec<&str> = fabric.switches.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(switches, ["s", "t"]);
    let all = read("4,1,10Gbps,1us\n4,0,10Gbps,1us\n5,2,10Gbps,1us\n5,3,10Gbps,1us\n5,4,10Gbps,1us\n").unwrap();
    assert_eq!(all.host_names, ["0", "1", "2", "3"]);
}

#[test]
fn read__refuses_hosts_without_a_way() {
    let apart = "host0,a,1Gbps,0s\nhost1,b,1Gbps,0s";
    assert!(read(apart).unwrap_err().to_string().contains("host0 has no path to host1"));
    let pair = "host0,a,1Gbps,0s\nhost1,host2,1Gbps,0s";
    assert!(read(pair).unwrap_err().to_string().contains("host1 has no path to host0"));
}

#[test]
fn read__says_that_there_is_no_file() {
    let settings = shape("custom", &[]).with(None, "file", "no/such.csv");
    let wrong = Fabric::from_settings(&settings).unwrap_err().to_string();
    assert!(wrong.starts_with("default: no/such.csv cannot be read: "), "{wrong}");
}

#[test]
fn parse__points_at_line_and_column() {
    assert_eq!(
        refused("host0,tor0,10Gbps,200ns\nhost1,tor0,10Gbs,200ns"),
        "f.csv:2:12: the rate `10Gbs` has a unit that is not one of these; expected a rate such as 10Gbps, 1Mbps to \
         800Gbps"
    );
    let wrong = parse("f.csv", "# é\r\n host0, tor0,10Gbps,  2 parsecs\r\n").unwrap_err();
    let Origin::File { line, column, span, .. } = &wrong.origin else { panic!() };
    assert_eq!((*line, *column), (2, 22));
    assert_eq!(&"# é\r\n host0, tor0,10Gbps,  2 parsecs\r\n"[span.clone()], "2 parsecs");
}

#[test]
fn parse__refuses_what_makes_no_fabric() {
    let cases = [
        ("", (1, 1), "from"),
        ("host0,a,1Gbps,0s", (1, 1), "from"),
        ("a,b,1Gbps,0s\nb,c,1Gbps,0s\nc,a,1Gbps,0s", (3, 1), "from"),
        ("host0,a,1Gbps", (1, 1), "from"),
        ("hostess,host0,1Gbps,0s", (1, 1), "from"),
        ("host0,a,1Gbps,0s\nhost1x,a,1Gbps,0s", (2, 1), "from"),
        ("a,\"b\",1Gbps,0s", (1, 3), "to"),
        ("a,,1Gbps,0s", (1, 3), "to"),
        ("a,a,1Gbps,0s", (1, 3), "to"),
        ("a,b,1Gbps,0s\nb,a,1Gbps,0s", (2, 1), "from"),
        ("a,host0,1Gbps,0s\n#\nb,host0,1Gbps,0s", (3, 3), "to"),
        ("host65535,a,1Gbps,0s", (1, 1), "from"),
        ("host0,a,1Gbps,0s\nhost2,a,1Gbps,0s\nhost3,a,1Gbps,0s", (3, 1), "from"),
        ("a,b,1Tbps,0s", (1, 5), "rate"),
        ("a,b,900Gbps,0s", (1, 5), "rate"),
        ("a,b,1Gbps,2s", (1, 11), "delay"),
        ("a,b,1Gbps,-1s", (1, 11), "delay"),
        ("a,b,1Gbps,1s,1", (1, 14), "loss"),
        ("a,b,1Gbps,1s,NaN", (1, 14), "loss"),
        ("a,host0,1Gbps,0s,0,2", (1, 20), "bundle"),
        ("a,b,1Gbps,0s,0,0", (1, 16), "bundle"),
        ("to,from,rate,delay,to\na,b,1Gbps,0s", (1, 20), "to"),
        ("from,rate,delay\na,1Gbps,0s", (1, 1), "to"),
    ];
    for (text, place, column) in cases {
        let error = parse("f.csv", text).unwrap_err();
        let Origin::File { line, column: at, .. } = &error.origin else { panic!("{error}") };
        assert_eq!(((*line, *at), error.key()), (place, Some(column)), "{text}");
        assert!(error.expected.is_some(), "{error}");
    }
}

proptest! {
    #[test]
    fn parse__never_panics(text in "\\PC*|((host[0-9]|t[0-2]|#)?(,(host[0-9]|t[0-2]|1Gbps|2us|0.5|é)){0,5}[ \t]*\r?\n){0,8}") {
        if let Ok(plan) = parse("f.csv", &text) {
            let _ = Fabric::assemble("custom", &plan, Time(7), true);
        }
    }
}

#[test]
fn hosts__of_an_edge_list_as_many_as_are_said_and_not_one_more() {
    let rows = |hosts: u64, name: &str| -> String {
        (0..hosts).map(|host| format!("{name}{host},tor,10Gbps,1us\n")).collect()
    };
    // With the names of hosts, and with custom names.
    for (name, expected) in [("host", "hosts up to host65534"), ("node", "at most 65535")] {
        assert_eq!(u64::from(read(&rows(MAX_HOSTS, name)).unwrap().hosts), MAX_HOSTS, "{name}");
        let error = parse("f.csv", &rows(MAX_HOSTS + 1, name)).unwrap_err();
        assert_eq!(error.expected.as_deref(), Some(expected));
    }
}
