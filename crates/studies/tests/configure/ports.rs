//! Ports of lists and of what systems say of themselves.

use flowsieve_studies::configure::{Listed, System};
use proptest::prelude::*;

const G25: u64 = 25_000_000_000;

fn listed(names: &[&str]) -> Result<Listed, String> {
    Listed::of(names.iter().map(|name| ((*name).to_owned(), G25)).collect())
}

fn ports(of: &Listed) -> Vec<(&str, u64)> {
    of.ports.iter().map(|(name, bps)| (name.as_str(), *bps / 1_000_000_000)).collect()
}

#[test]
fn of__a_list_has_the_systems_that_all_names_fit() {
    use System::{Eos, NxOs, Sonic, Tc};
    for (names, systems) in [
        (&["Ethernet0", "Ethernet4"][..], &[Sonic][..]),
        (&["Ethernet1"], &[Sonic, Eos]),
        (&["Ethernet1", "Ethernet2-48", "Port-Channel7"], &[Eos]),
        (&["Ethernet1/1", "Ethernet1/2-48"], &[Eos, NxOs]),
        (&["Ethernet1/1/1/1"], &[Eos]),
        (&["port-channel1"], &[NxOs]),
        (&["Port-Channel1"], &[Eos]),
        (&["eth0", "swp1", "enp4s0f1np1", "eth1.100"], &[Tc]),
    ] {
        assert_eq!(listed(names).unwrap().systems, systems, "{names:?}");
    }
    for (names, says) in [
        (
            &["Ethernet0-47"][..],
            "port Ethernet0-47: expected SONiC's Ethernet0 (each port by name, also of a channel, or its",
        ),
        (&["PortChannel1"], "expected SONiC's Ethernet0 (each port by name, also of a channel"),
        (&["Ethernet48-1"], "in full"),
        (&["Ethernet01"], "in full"),
        (&["Eth1"], "in full"),
        (&["Et1"], "in full"),
        (&["Po1"], "in full"),
        (&["a-name-of-16-by1"], "in full"),
        (&["eth 0"], "port \"eth 0\": expected letters, digits and any of -_./"),
        (&["eth0\nqdisc"], "port \"eth0\\nqdisc\": expected letters"),
        (&["Ethernet0", "eth0"], "expected --ports once for each system"),
        (&["eth0", "eth1", "eth0"], "port eth0: given twice"),
    ] {
        let said = listed(names).unwrap_err();
        assert!(said.contains(says) && said.lines().count() == 1, "{names:?}: {said}");
    }
}

#[test]
fn join__one_list_for_each_system() {
    use System::{Eos, NxOs, Sonic};
    let of = |names: &[&str]| listed(names).unwrap();
    let file = |text: &str| Listed::read(text, None).unwrap();
    let sonic = || file(r#"{"PORT": {"Ethernet0": {"speed": "25000"}}}"#);
    let systems = |lists: Vec<Listed>| -> Vec<Vec<System>> {
        Listed::join(lists).unwrap().into_iter().map(|list| list.systems).collect()
    };
    // Given one by one they are one list, so EOS gets none of its own.
    let joined = Listed::join(vec![of(&["Ethernet0"]), of(&["Ethernet4"])]).unwrap();
    assert_eq!((joined.len(), &joined[0].systems[..], joined[0].ports.len()), (1, &[Sonic][..], 2));
    assert_eq!(systems(vec![of(&["Ethernet1-4"]), sonic()]), [[Sonic], [Eos]]);
    assert_eq!(systems(vec![of(&["Ethernet0"]), of(&["Ethernet1/1"])]), [vec![Sonic], vec![Eos, NxOs]]);
    // What fits a file's system and another one is not moved to either without a word.
    let said = Listed::join(vec![sonic(), of(&["Ethernet4"])]).unwrap_err();
    assert!(said.starts_with("Ethernet4 could be ports of several systems: expected"), "{said}");
    for order in [["Ethernet4", "Ethernet1/1", "Ethernet0"], ["Ethernet4", "Ethernet0", "Ethernet1/1"]] {
        let said = Listed::join(order.map(|name| of(&[name])).into()).unwrap_err();
        assert!(said.starts_with("Ethernet4 could be"), "{said}");
    }
    // What only that system has adds to its file, such as a channel.
    let joined = Listed::join(vec![of(&["Ethernet0"]), sonic()]).unwrap_err();
    assert_eq!(joined, "port Ethernet0: given twice");
    let eos = || file("Port Name Status Vlan Duplex Speed Type\nEt1   a connected 1 full 25G 25GBASE-CR\n");
    let joined = Listed::join(vec![of(&["Port-Channel1"]), eos()]).unwrap();
    assert_eq!((joined.len(), &joined[0].systems[..], joined[0].ports.len()), (1, &[Eos][..], 2));
    assert_eq!(Listed::join(vec![sonic(), sonic()]).unwrap_err(), "two files for sonic.json: expected one");
    assert_eq!(Listed::join(vec![of(&["eth0"]), of(&["eth0"])]).unwrap_err(), "port eth0: given twice");
}

#[test]
fn read__what_each_system_says() {
    let read = |text: &str| Listed::read(text, None).unwrap();
    // A port that is shut is taken, and so is its speed as configured.
    let sonic = read(
        r#"{"PORT": {"Ethernet0": {"speed": "25000", "lanes": "1"}, "Ethernet4": {"speed": "100000", "admin_status": "down"},
            "Ethernet-Rec0": {"speed": "400000"}, "Ethernet8": {}}, "QUEUE": {"Ethernet0|3": {"scheduler": "s"}},
            "LOOPBACK": {"Loopback0": {}}}"#,
    );
    assert_eq!(
        (ports(&sonic), &sonic.systems[..]),
        (vec![("Ethernet0", 25), ("Ethernet4", 100)], &[System::Sonic][..])
    );
    assert_eq!(sonic.left_out, ["Ethernet-Rec0", "Ethernet8"]);
    // Only what is written to is kept.
    assert_eq!(sonic.database.unwrap().as_object().unwrap().keys().collect::<Vec<_>>(), ["QUEUE"]);

    let eos = read(
        "leaf1#show interfaces status\n\
         Port       Name           Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n\
         Et1        to full 10G    connected    routed   full   25G    25GBASE-CR\n\
         Et2                       notconnect   1        full   10G    Not Present\n\
         Et3                       disabled     in Po7   full   25G    25GBASE-SR\n\
         Et49/1     spine          connected    routed   a-full a-100G 100GBASE-SR4\n\
         Ma1                       connected    routed   a-full a-1G   10/100/1000\n\
         Po7                       connected    trunk    full   50G    N/A\n\
         leaf1#\n",
    );
    assert_eq!(ports(&eos), [("Ethernet1", 25), ("Ethernet2", 10), ("Ethernet49/1", 100)]);
    assert_eq!(
        (&eos.systems[..], &eos.left_out[..]),
        (&[System::Eos][..], &["Ethernet3", "Ma1", "Po7"].map(String::from)[..])
    );

    let nxos = read(
        "--------------------------------------------------------------------------------\n\
         Port          Name               Status    Vlan      Duplex  Speed   Type\n\
         --------------------------------------------------------------------------------\n\
         mgmt0         --                 connected routed    full    1000    --\n\
         Eth1/1        server             connected trunk     full    25G     10Gbase-SR\n\
         Eth1/2        --                 xcvrAbsen 1         auto    auto    --\n\
         Eth1/49/1     --                 connected routed    full    100G    QSFP-100G-CR4\n",
    );
    assert_eq!(ports(&nxos), [("Ethernet1/1", 25), ("Ethernet1/49/1", 100)]);
    assert_eq!((&nxos.systems[..], nxos.left_out.len()), (&[System::NxOs][..], 2));

    let links = r#"[{"ifname": "lo", "qdisc": "noqueue", "link_type": "loopback"},
                    {"ifname": "eth0", "qdisc": "mq", "link_type": "ether"},
                    {"ifname": "docker0", "qdisc": "noqueue", "link_type": "ether"},
                    {"ifname": "x\nqdisc", "qdisc": "fq", "link_type": "ether"}]"#;
    let linux = Listed::read(links, Some(G25)).unwrap();
    assert_eq!((ports(&linux), &linux.systems[..]), (vec![("eth0", 25)], &[System::Tc][..]));
    assert_eq!((linux.left_out.len(), &*linux.qdiscs["eth0"]), (3, "mq"));
    assert!(linux.left_out.iter().all(|name| !name.contains('\n')), "{:?}", linux.left_out);
}

/// tc needs the members of a bond, and nftables what is above them.
#[test]
fn read__packets_leave_by_the_bond_of_its_ports_and_by_vlans() {
    let links = r#"[{"ifname": "eth0", "qdisc": "mq", "link_type": "ether", "master": "bond0"},
                    {"ifname": "eth1", "qdisc": "mq", "link_type": "ether", "master": "bond0"},
                    {"ifname": "eth2", "qdisc": "mq", "link_type": "ether"},
                    {"ifname": "bond0", "qdisc": "noqueue", "link_type": "ether"},
                    {"ifname": "bond0.100", "link": "bond0", "qdisc": "noqueue", "link_type": "ether"}]"#;
    let linux = Listed::read(links, Some(G25)).unwrap();
    assert_eq!(ports(&linux), [("eth0", 25), ("eth1", 25), ("eth2", 25)]);
    let leaving = |of: &Listed| of.leaving(of.ports.iter().map(|(name, _)| name));
    assert_eq!(leaving(&linux), ["bond0", "eth2", "bond0.100"]);
    // A list that is made up has an end, too.
    let loops = r#"[{"ifname": "a", "qdisc": "mq", "master": "b"}, {"ifname": "b", "qdisc": "mq", "master": "a", "link": "a"}]"#;
    assert!(!leaving(&Listed::read(loops, Some(G25)).unwrap()).is_empty());
}

#[test]
fn read__refuses_in_one_line() {
    let head = "Port Name Status Vlan Duplex Speed Type\n";
    for (text, rate, says) in [
        ("", None, "it is empty"),
        (" \n", None, "it is empty"),
        ("{\"PORT\": ", None, "EOF while parsing"),
        ("{}", None, "expected a table PORT, as config_db.json has"),
        ("{\"PORT\": []}", None, "expected a table PORT"),
        ("{\"PORT\": {}}", None, "no port with a speed"),
        ("{\"PORT\": {\"Ethernet0\": {\"speed\": \"fast\"}}}", None, "no port with a speed"),
        ("{\"PORT\": {\"Ethernet0\": {\"speed\": \"25000\"}}, \"QUEUE\": 5}", None, "expected a table QUEUE"),
        ("{\"PORT\": {}, \"QUEUE\": {\"Ethernet0|3\": 5}}", None, "QUEUE Ethernet0|3: expected fields"),
        ("{\"PORT\": {}}", Some(1), "expected no rate"),
        ("[{\"ifname\": \"eth0\"}]", None, "expected FILE=RATE"),
        ("[{}]", Some(1), "expected an ifname in each entry"),
        ("[5]", Some(1), "expected an ifname in each entry"),
        ("[]", Some(1), "no port with a speed"),
        (
            "[{\"ifname\": \"eth0\", \"qdisc\": \"mq\"}, {\"ifname\": \"eth0\", \"qdisc\": \"mq\"}]",
            Some(1),
            "port eth0: given twice",
        ),
        ("hello", None, "expected SONiC's config_db.json, `show interfaces status` or `ip -j link`"),
        (head, None, "expected SONiC's config_db.json"),
        (
            &format!("{head}Et1 connected 1 full 10G x\nEth1/1 connected 1 full 10G x\n"),
            None,
            "expected ports of one system",
        ),
        (
            &format!("{head}Et1 connected 1 full 10G x\nEt1 connected 1 full 10G x\n"),
            None,
            "port Ethernet1: given twice",
        ),
    ] {
        let said = Listed::read(text, rate).unwrap_err();
        assert!(said.contains(says) && said.lines().count() == 1, "{text:?}: {said}");
    }
    let many: Vec<String> = (0..4_097).map(|at| format!("\"Ethernet{at}\": {{\"speed\": \"25000\"}}")).collect();
    let said = Listed::read(&format!("{{\"PORT\": {{{}}}}}", many.join(",")), None).unwrap_err();
    assert_eq!(said, "4097 ports: expected at most 4096");
}

proptest! {
    /// Whatever is read, names can stand in every language, once.
    #[test]
    fn read__any_text_is_ports_or_an_error(
        text in "(Port Name Status\n|\\{\"PORT\": |\\[)?[\\PC\n]{0,200}|(Port Name Status\n)((Et|Eth|Po)[0-9/-]{1,4}( (full|in|Po1|25G|a-1G|auto|é)){4,8}\n){0,5}",
        rate in prop::option::of(1u64..1 << 40),
    ) {
        if let Ok(listed) = Listed::read(&text, rate) {
            prop_assert!(listed.systems.len() == 1 && !listed.ports.is_empty());
            let again = Listed::of(listed.ports.clone()).unwrap();
            prop_assert!(again.systems.contains(&listed.systems[0]));
            prop_assert!(listed.ports.iter().all(|(_, bps)| *bps > 0));
        }
    }
}
