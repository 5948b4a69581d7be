//! How programs come and go, what is recorded, tunnels, and what it costs.

use super::*;

/// Returns how a call failed: in one line, which says what was expected.
fn problem<T: std::fmt::Debug>(result: Result<T, flowsieve_agent::AgentError>) -> String {
    let text = result.expect_err("it is refused").to_string();
    assert!(!text.contains('\n') && text.contains("expected"), "{text}");
    text
}

/// Returns how `tag` fails in a process without capabilities.
fn refused_to_a_child(less: &str) -> String {
    let mut command = Command::new("setpriv");
    command.arg(format!("--bounding-set=-{less}")).arg(std::env::current_exe().expect("a program"));
    command.args(["--exact", "kernel::life::tag__goes_away_whole", "--nocapture"]).env(CHILD, "1");
    let done = command.output().expect("setpriv");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix(REFUSED)).unwrap_or(&text).to_owned()
}

/// What a refused child says first.
const REFUSED: &str = "refused: ";

#[test]
fn tag__goes_away_whole() {
    if std::env::var_os(CHILD).is_some() {
        let device = Device::find(DEVICE).expect("the device");
        let refused = flowsieve_agent::tag(&device, Kind::Tag, &conf(MessageEnd::Turn)).expect_err("it is refused");
        return println!("\n{REFUSED}{refused}");
    }
    if !alone(module_path!(), "tag__goes_away_whole") {
        return;
    }
    let own = conf(MessageEnd::Turn);
    within("s", || {
        let programs = || device().programs().expect("programs").len();
        let pins = || Path::new(flowsieve_agent::FOLDER).read_dir().map_or(0, Iterator::count);
        let attach = |kind| flowsieve_agent::tag(&device(), kind, &own);
        let detach = |kind| flowsieve_agent::detach(&device(), kind);
        assert!(problem(detach(Kind::Tag)).contains("no agent's tag program is there"));
        // Without a capability nothing is attached, and nothing stays.
        for (less, says) in [("perfmon,-sys_admin", "CAP_PERFMON"), ("bpf,-sys_admin", "CAP_BPF")] {
            let text = refused_to_a_child(less);
            assert!(text.contains(says) && text.lines().count() == 1, "{text}");
            assert!(!Path::new(flowsieve_agent::FOLDER).exists(), "{less}");
        }
        // Both kinds at one device, and none after.
        assert_eq!((attach(Kind::Tag), attach(Kind::Copy)), (Ok(Tagging::New), Ok(Tagging::New)));
        assert_eq!((programs(), pins()), (2, 1));
        assert_eq!((detach(Kind::Copy), programs(), pins()), (Ok(true), 1, 1));
        assert_eq!((detach(Kind::Tag), programs(), pins()), (Ok(true), 0, 0));

        // Twice is a replacement. What another has attached is refused, and stays.
        assert_eq!((attach(Kind::Tag), attach(Kind::Tag)), (Ok(Tagging::New), Ok(Tagging::Replaced)));
        assert_eq!(programs(), 1);
        std::fs::rename(flowsieve_agent::FOLDER, "/sys/fs/bpf/another").expect("a name");
        assert!(problem(attach(Kind::Tag)).contains("another agent's program is there already (flowsieve_tag, "));
        assert_eq!((programs(), pins()), (1, 0));
        std::fs::rename("/sys/fs/bpf/another", flowsieve_agent::FOLDER).expect("a name");

        // Maps of another version are refused, and stay as they are.
        let folder =
            Path::new(flowsieve_agent::FOLDER).read_dir().expect("a folder").next().expect("a device").expect("it");
        let map = aya::maps::MapData::from_pin(folder.path().join("tag/conf")).expect("a map");
        let mut map = aya::maps::Array::<_, [u64; 16]>::try_from(aya::maps::Map::Array(map)).expect("an array");
        let head = map.get(&0, 0).expect("its head");
        map.set(0, [99; 16], 0).expect("it takes it");
        assert!(problem(attach(Kind::Tag)).contains("maps of another version"));
        assert!(problem(flowsieve_agent::status(&device(), Kind::Tag)).contains("flowsieve agent detach s0"));
        assert_eq!((map.get(&0, 0).expect("its head"), programs()), ([99; 16], 1));
        map.set(0, head, 0).expect("it takes it");

        // The device goes, and another one comes by its name: the pin is dead, is said to be, and is cleared.
        shell("ip -n s link del s0");
        assert!(problem(Device::find(DEVICE)).contains("s0: "));
        shell("ip link add s0 netns s type veth peer name c0 netns c && ip -n s link set s0 up");
        assert_eq!(flowsieve_agent::pinned(&device(), Kind::Tag), Ok(Pinned::Dead));
        assert_eq!((attach(Kind::Tag), programs(), pins()), (Ok(Tagging::AfterGone), 1, 1));
        assert!(matches!(flowsieve_agent::pinned(&device(), Kind::Tag), Ok(Pinned::Attached(_))));
        shell("ip -n s link del s0 && ip link add s0 netns s type veth peer name c0 netns c && ip -n s link set s0 up");
        assert_eq!((detach(Kind::Tag), programs(), pins()), (Ok(false), 0, 0));

        // Gone for good: its pins are still found by its name, and removed.
        assert_eq!((attach(Kind::Tag), pins()), (Ok(Tagging::New), 1));
        shell("ip -n s link del s0");
        let gone = Device::find_or_pins(DEVICE).expect("its pins");
        assert_eq!(flowsieve_agent::pinned(&gone, Kind::Tag), Ok(Pinned::Dead));
        assert_eq!((flowsieve_agent::detach(&gone, Kind::Tag), pins()), (Ok(false), 0));
        assert!(problem(Device::find_or_pins(DEVICE)).contains("expected a device"));
    });
}

#[test]
fn find__refuses_devices_without_ethernet_and_machines_without_pins() {
    if !alone(module_path!(), "find__refuses_devices_without_ethernet_and_machines_without_pins") {
        return;
    }
    within("s", || {
        assert!(problem(Device::find("no-such")).contains("no-such: "));
        shell("ip -n s tuntap add t0 mode tun");
        assert!(problem(Device::find("t0")).contains("packets without Ethernet's header"));
    });
    shell("umount /sys/fs/bpf");
    assert!(problem(within("s", || Device::find(DEVICE))).contains("mount -t bpf"));
}

/// Eight-octave sizes from 100 B to 800 KB, the same each time.
fn sizes(count: u64) -> Vec<u64> {
    (0..count)
        .map(|at| 100 + (at * 7_919 % 800) * (at * 104_729 % 1_000) * if at % 3 == 0 { 1 } else { 0 } + at % 977)
        .collect()
}

#[test]
fn record__finds_every_message_in_its_bin() {
    if !alone(module_path!(), "record__finds_every_message_in_its_bin") {
        return;
    }
    let classes = [(Class::Port(PORT), "web".to_owned())];
    let answers = within("s", || flowsieve_agent::record(&device(), &classes).expect("it records"));
    let requests =
        within("c", || flowsieve_agent::record(&Device::find("c0").expect("it"), &classes).expect("it records"));
    let twice = within("s", || flowsieve_agent::record(&device(), &[]).map(drop));
    assert!(problem(twice).contains("a record runs there already"));
    let (server, sizes) = (serve(V4), sizes(2_000));
    let mut truth = Bins::default();
    sizes.iter().for_each(|&size| truth.add(size));
    thread::scope(|scope| {
        for own in sizes.chunks(250) {
            scope.spawn(move || {
                let mut stream = connect(server);
                own.iter().for_each(|&size| ask(&mut stream, size));
            });
        }
    });
    let begun = Instant::now();
    let found = loop {
        let found = answers.sizes(1, Side::Own).expect("sizes");
        // The last of a connection ends with it.
        if found[0].total().messages >= 2_000 || begun.elapsed() > Duration::from_secs(5) {
            break found;
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(found[0], truth, "by turn");
    assert_eq!(
        requests.sizes(1, Side::Peer).expect("sizes")[0].total(),
        flowsieve_agent::Bin { messages: 2_000, bytes: 16_000 }
    );
    for (of, class, side) in [(&answers, 1, Side::Peer), (&answers, 0, Side::Own), (&requests, 1, Side::Own)] {
        assert_eq!(of.sizes(class, side).expect("sizes")[0], Bins::default(), "the sides are apart");
    }
    let counts = answers.counts().expect("counts");
    assert_eq!((counts.begun_by[0], counts.older, counts.unknown), (2_000, 0, 0), "{counts:?}");
    let by_rule = found.each_ref().map(|bins| bins.total().messages);
    println!("2000 messages without pauses, by {:?}: {by_rule:?} found", RULES);
    assert!(found.iter().all(|bins| bins.total().bytes == truth.total().bytes), "every rule has all bytes");
}

#[test]
fn record__a_peer_that_ends_its_side_sends_no_request_and_older_messages_are_not_sizes() {
    if !alone(module_path!(), "record__a_peer_that_ends_its_side_sends_no_request_and_older_messages_are_not_sizes") {
        return;
    }
    shell(&slow("100mbit"));
    let server = serve(V4);
    let mut older = connect(server);
    ask(&mut older, 50_000);
    let record = within("s", || flowsieve_agent::record(&device(), &[]).expect("it records"));
    // Its beginning is not seen; the next one's is.
    ask(&mut older, 60_000);
    ask(&mut older, 70_000);
    drop(older);
    // The end of the client's side comes under the answer of 2 MB.
    let mut half = connect(server);
    half.write_all(&2_000_000u64.to_le_bytes()).expect("it asks");
    let mut left = vec![0; 2_000_000];
    half.read_exact(&mut left[..500_000]).expect("the first part");
    half.shutdown(Shutdown::Write).expect("an end");
    half.read_exact(&mut left[500_000..]).expect("the rest");
    drop(half);
    let mut truth = Bins::default();
    [70_000, 2_000_000].into_iter().for_each(|size| truth.add(size));
    let begun = Instant::now();
    while record.sizes(0, Side::Own).expect("sizes")[0].total().messages < 2 && begun.elapsed() < Duration::from_secs(5)
    {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(record.sizes(0, Side::Own).expect("sizes")[0], truth);
    let counts = record.counts().expect("counts");
    assert_eq!((counts.older, counts.unknown, counts.begun_by[0]), (1, 1, 2), "{counts:?}");
    drop(record);
    assert_eq!(within("s", || device().programs()), Ok(Vec::new()), "it goes when it is dropped");
}

/// Says to a process that it is to record until it is killed.
const CHILD: &str = "FLOWSIEVE_AGENT_CHILD";

#[test]
fn record__goes_with_a_process_that_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        let _record = within("s", || flowsieve_agent::record(&device(), &[]).expect("it records"));
        println!("records");
        thread::sleep(Duration::from_secs(60));
        return;
    }
    if !alone(module_path!(), "record__goes_with_a_process_that_is_killed") {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--exact", "kernel::life::record__goes_with_a_process_that_is_killed", "--nocapture"]);
    let mut child = command.env(CHILD, "1").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut text = String::new();
    let mut output = child.stdout.take().expect("its output");
    while !text.contains("records\n") {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("it says so");
        text.push(char::from(byte[0]));
    }
    let programs = || within("s", || device().programs().expect("programs"));
    assert_eq!(programs().len(), 1);
    // SIGKILL.
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let begun = Instant::now();
    while !programs().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", programs());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn copy__writes_the_inner_dscp_into_the_outer_header() {
    if !alone(module_path!(), "copy__writes_the_inner_dscp_into_the_outer_header") {
        return;
    }
    shell(
        "for x in s:1:2 c:2:1; do n=${x%%:*}; i=${x#*:}; own=${i%:*}; peer=${i#*:}
             ip -n $n link add vx0 type vxlan id 7 dev ${n}0 remote 198.18.0.$peer dstport 4789
             ip -n $n addr add 198.19.0.$own/24 dev vx0; ip -n $n link set vx0 up gso_max_segs 1
         done",
    );
    let own = conf(MessageEnd::Turn);
    within("s", || {
        let inside = Device::find("vx0").expect("the tunnel");
        flowsieve_agent::tag(&inside, Kind::Tag, &own).expect("it attaches");
        flowsieve_agent::tag(&device(), Kind::Copy, &own).expect("it attaches");
    });
    let server = serve(IpAddr::from([198, 19, 0, 1]));
    // DSCPs outside and inside of what the server sends.
    let read = |frame: &[u8], _| {
        let is_tunnel = frame[12..14] == [8, 0] && frame[23] == 17 && frame[36..38] == [0x12, 0xb5] && frame[29] == 1;
        (is_tunnel && frame[62..64] == [8, 0] && frame[73] == 6).then(|| (frame[15] >> 2, frame[65] >> 2))
    };
    let seen = captured_as(read, || ask(&mut connect(server), 600_000));
    assert!(seen.len() > 300, "{}", seen.len());
    for dscp in DSCPS {
        assert!(seen.contains(&(dscp, dscp)), "{dscp}");
    }
    // A SYN-ACK has no socket, and no mark.
    assert!(seen.iter().all(|&(outer, inner)| outer == inner), "{seen:?}");
    let counts = within("s", || flowsieve_agent::status(&device(), Kind::Copy).expect("it is there").counts);
    assert!(counts.copied > 300, "{counts:?}");
}

/// What `tag` costs above a program that does nothing, for super-packets: printed, and no bar.
#[test]
#[ignore = "a measurement: run it by its name on a machine at rest"]
fn cost__of_tag_and_record_above_a_program_that_does_nothing() {
    use aya::programs::tc::TcAttachOptions;
    use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
    if !alone(module_path!(), "cost__of_tag_and_record_above_a_program_that_does_nothing") {
        return;
    }
    let _stats = aya::sys::enable_stats(aya::sys::Stats::RunTime).expect("statistics");
    let server = serve(V4);
    let run = |kind: &str| {
        let object = aya::include_bytes_aligned!("../../bpf/agent.bpf.o");
        let mut loaded = None;
        let mut recording = None;
        within("s", || match kind {
            "tag" => _ = flowsieve_agent::tag(&device(), Kind::Tag, &conf(MessageEnd::Turn)).expect("it attaches"),
            "record" => recording = Some(flowsieve_agent::record(&device(), &[]).expect("it records")),
            _ => {
                let mut all = aya::EbpfLoader::new().load(object).expect("the object");
                let program: &mut SchedClassifier =
                    all.program_mut("flowsieve_empty").expect("it").try_into().expect("it");
                program.load().expect("it loads");
                let options = TcAttachOptions::TcxOrder(LinkOrder::default());
                program.attach_with_options(DEVICE, TcAttachType::Egress, options).expect("it attaches");
                loaded = Some(all);
            }
        });
        ask(&mut connect(server), 500_000_000);
        let (_, programs) = within("s", || SchedClassifier::query_tcx(DEVICE, TcAttachType::Egress).expect("programs"));
        let runs = programs[0].run_count();
        let cost = programs[0].run_time().as_nanos() as f64 / runs as f64;
        if kind == "tag" {
            within("s", || flowsieve_agent::detach(&device(), Kind::Tag).expect("it goes"));
        }
        (cost, 500_000_000.0 / runs as f64)
    };
    let mut costs = [const { Vec::new() }; 3];
    for _ in 0..7 {
        for (costs, kind) in costs.iter_mut().zip(["empty", "tag", "record"]) {
            costs.push(run(kind));
        }
    }
    for (costs, kind) in costs.iter_mut().zip(["empty", "tag", "record"]) {
        costs.sort_by(|one, other| one.0.total_cmp(&other.0));
        println!(
            "{kind}: median {:.0} ns a run of {:.0} bytes ({:.0} to {:.0})",
            costs[3].0, costs[3].1, costs[0].0, costs[6].0
        );
    }
}
