//! Exports of flows: each sample's sizes worked out by hand, and files whose wrong reading looks right.

use flowsieve_workload::convert::{Kind, Notes, Outcome, Source, What};
use flowsieve_workload::exports::{NAMES, Unread, counters, read};
use flowsieve_workload::{MAX_BYTES, Reading, Rounding, SizeDistribution};
use proptest::prelude::*;

fn sample(name: &str) -> String {
    let path = format!("{}/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn of(text: &str, column: Option<&str>, sampled: Option<u32>) -> Result<Outcome, Unread> {
    read("flows", text.as_bytes(), column, sampled)
}

fn sizes(text: &str) -> Vec<u64> {
    match of(text, None, None).unwrap_or_else(|error| panic!("{error}")).what {
        What::Samples(mut sizes) => {
            sizes.sort_unstable();
            sizes
        }
        other => panic!("{other:?}"),
    }
}

fn notes(text: &str) -> String {
    of(text, None, None).unwrap().notes.all().join("\n")
}

/// What a file is refused with: one line.
fn refused(text: &str, sampled: Option<u32>) -> String {
    let error = of(text, None, sampled).map(|outcome| outcome.what).unwrap_err().to_string();
    assert!(!error.contains('\n') && error.contains("; expected "), "{error}");
    error
}

#[test]
fn read__each_sample_is_its_format_and_has_the_sizes_worked_out_by_hand() {
    let files = ["nfdump.csv", "zeek-conn.log", "tshark-conv.txt", "prometheus.txt", "ss.txt", "tcplife.txt"];
    for (file, name) in files.iter().zip(NAMES) {
        assert_eq!(of(&sample(file), None, None).unwrap().format, name);
    }
    assert_eq!(sizes(&sample("nfdump.csv")), [50, 120, 600, 12_000, 5_000_000]);
    assert_eq!(sizes(&sample("zeek-conn.log")), [50, 120, 600, 12_000, 5_000_000]);
    // 864 − 4 × 66, 9,326 − 11 × 66, 200 kB − 140 × 66.
    assert_eq!(sizes(&sample("tshark-conv.txt")), [600, 8_600, 190_760]);
    assert_eq!(sizes(&sample("ss.txt")), [512, 123_456]);
    assert_eq!(sizes(&sample("tcplife.txt")), [512, 11 * 1_024 + 512, 4_882 * 1_024 + 512]);
}

#[test]
fn read__says_what_was_joined_and_left_out() {
    #[rustfmt::skip]
    let said: [(&str, &[&str]); 5] = [
        ("nfdump.csv", &["52 B a packet", "2 records that active timeouts cut", "6 directions, 6 of them with their reverse",
                         "1 directions have ACKs alone", "1 records of other protocols"]),
        ("zeek-conn.log", &["2 directions whose bytes are `-`", "1 connections of other protocols", "1 directions without payload"]),
        ("tshark-conv.txt", &["1 directions have ACKs alone", "1 conversations have bytes in kB", "ACKs show timestamps"]),
        ("ss.txt", &["3 sockets; bytes are counted since a connection began", "1 sockets have no counts"]),
        ("tcplife.txt", &["1 connections of less than 1 KiB count as one size of 512 B", "2 directions of less than 1 KiB"]),
    ];
    for (file, words) in said {
        let notes = notes(&sample(file));
        words.iter().for_each(|words| assert!(notes.contains(words), "{file}: {words}: {notes}"));
    }
}

const HEADING: &str = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n";

/// Rows of a connection of 100 B and 1 KB in these seconds, at this port.
fn both(port: usize, there: u32, back: u32) -> String {
    format!(
        "2026-01-31 12:00:{there:02}.000,0.250,6,10.0.0.1,{port},10.0.0.2,80,4,260,1\n\
         2026-01-31 12:00:{back:02}.250,0.250,6,10.0.0.2,80,10.0.0.1,{port},4,1160,1\n"
    )
}

#[test]
fn nfdump__without_its_heading_is_told_by_its_shape() {
    let text = sample("nfdump.csv");
    let quiet: String = text.lines().skip(1).take(8).map(|line| format!("{line}\n")).collect();
    assert_eq!(sizes(&quiet), sizes(&text));
    assert_eq!(sizes(&both(5_000, 1, 1)), [100, 1_000]);
    let ipfix = "flowStartMilliseconds,flowEndMilliseconds,sourceIPv6Address,destinationIPv6Address,sourceTransportPort,\
                 destinationTransportPort,protocolIdentifier,packetDeltaCount,octetDeltaCount\n\
                 1769860800000,1769860800250,fd00::1,fd00::2,5000,80,6,4,740\n";
    // 740 − 4 × 60.
    assert_eq!(sizes(ipfix), [500]);
}

#[test]
fn nfdump__timeouts_are_joined_unless_a_connection_ended_or_slept() {
    let row = |second: u32, flags: &str| {
        format!(
            "2026-01-31 12:00:{second:02},2026-01-31 12:00:{second:02},0,10.0.0.1,10.0.0.2,5000,80,TCP,{flags},0,0,4,660,0,0\n"
        )
    };
    let heading = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n";
    let read = |rows: [String; 2]| sizes(&format!("{heading}{}", rows.concat()));
    assert_eq!(read([row(0, "...AP.S."), row(15, "...AP...")]), [1_000]);
    assert_eq!(read([row(0, "...AP.S."), row(16, "...AP...")]), [500, 500]);
    assert_eq!(read([row(0, "...AP..F"), row(1, "...AP...")]), [500, 500]);
    assert_eq!(read([row(0, "...AP..."), row(1, "...AP.S.")]), [500, 500]);
    // The same record of a second exporter is no piece.
    assert_eq!(read([row(0, "...AP.SF"), row(0, "...AP.SF")]), [500]);
    let notes = notes(&format!("{heading}{}{}", row(0, "S"), row(0, "S")));
    assert!(
        notes.contains("1 records overlap others") && notes.contains("1 directions, none with its reverse"),
        "{notes}"
    );
}

#[test]
fn nfdump__acks_are_told_from_short_messages() {
    // 64 B in three packets, without a reverse; a lone direction of ACKs; 14 B a packet next to its data.
    let lone = |port: usize, packets: u32, bytes: u32| {
        format!("2026-01-31 12:00:00.000,0.1,6,10.0.0.1,{port},10.0.0.2,80,{packets},{bytes},1\n")
    };
    assert_eq!(sizes(&format!("{HEADING}{}", lone(1, 3, 184))), [64]);
    let acks = refused(&format!("{HEADING}{}", lone(1, 90, 90 * 52 + 8)), None);
    assert!(acks.contains("no records with payload"), "{acks}");
    let data = "2026-01-31 12:00:00.000,0.1,6,10.0.0.2,80,10.0.0.1,1,180,269360,1\n";
    let found = sizes(&format!("{HEADING}{}{data}", lone(1, 90, 90 * 60)));
    assert_eq!(found, [269_360 - 180 * 52]);
}

#[test]
fn clocks__that_differ_are_refused_with_the_numbers() {
    let agree: String = (0..20).map(|port| both(5_000 + port, 1, 1)).collect();
    assert_eq!(sizes(&format!("{HEADING}{agree}")).len(), 40);
    let apart: String = (0..20).map(|port| both(5_000 + port, 1, 41)).collect();
    let error = refused(&format!("{HEADING}{apart}"), None);
    assert!(
        error.contains("40 of 40 flows do not overlap their reverse direction in time, the first by 40000 ms"),
        "{error}"
    );
    let backwards = both(1, 1, 1).replace("0.250", "-3.000");
    let error = refused(&format!("{HEADING}{backwards}"), None);
    assert!(error.starts_with("flows:2: 2 of 2 records end before they start, the first by 3000 ms"), "{error}");
    let zeek = sample("zeek-conn.log").replace("0.02\t600", "-0.02\t600");
    assert!(refused(&zeek, None).contains("ends before it starts: its duration is -0.02 s"));
}

#[test]
fn empty__exports_are_refused_with_what_is_missing() {
    let heading = |name: &str, lines: usize| sample(name).lines().take(lines).map(|line| format!("{line}\n")).collect();
    let cases: [(String, &str); 8] = [
        (heading("nfdump.csv", 1), "no records"),
        (format!("{HEADING}No matching flows\n"), "no records"),
        (heading("zeek-conn.log", 8), "no connections with payload"),
        (
            sample("zeek-conn.log").replace("600\t12000", "-\t-").replace("50\t120", "-\t-").replace("5000000", "-"),
            "no connections with payload; 1 without payload",
        ),
        (heading("tshark-conv.txt", 5), "no conversations"),
        (heading("tcplife.txt", 1), "no connections with payload"),
        (
            sample("ss.txt")
                .replace("bytes_sent:", "x:")
                .replace("acked:123457", "acked:0")
                .replace("acked:512", "acked:0")
                .replace("received:123456", "received:0")
                .replace("received:512", "received:0"),
            "no sockets with payload",
        ),
        (
            sample("prometheus.txt")
                .replace("} 30", "} 0")
                .replace("} 50", "} 0")
                .replace("} 60", "} 0")
                .replace("} 20 ", "} 0 ")
                .replace("} 40", "} 0")
                .replace("4e1", "0"),
            "0 flows under 2 finite bounds",
        ),
    ];
    for (text, what) in cases {
        let error = refused(&text, None);
        assert!(error.contains(what), "{what}: {error}");
    }
}

#[test]
fn prometheus__all_flows_have_the_mean_of_the_sum() {
    let text = sample("prometheus.txt");
    let outcome = of(&text, None, None).unwrap();
    let What::Sizes(law) = &outcome.what else { panic!("{outcome:?}") };
    let share = |bytes: u64| law.points.iter().find(|point| point.bytes == bytes).unwrap().share.to_string();
    assert_eq!((share(1_000), share(10_000)), ("0.5".to_owned(), "0.9".to_owned()));
    // 800,000 B over 100 flows.
    let mean: f64 = law.interpolated_mean().to_string().parse().unwrap();
    assert!((mean / 8_000.0 - 1.0).abs() < 1e-3, "{mean}");
    // Between the bounds sizes are even over the logarithm: half of the flows are below the geometric mean.
    assert!(law.quantile_bytes(0.7).unwrap().abs_diff(3_162) <= 1);
    let notes = outcome.notes.all().join("\n");
    assert!(
        notes.contains("2 sets of labels are summed") && notes.contains("10 flows above the last bound 10000"),
        "{notes}"
    );
    let mut written = Vec::new();
    outcome.write("prometheus.txt", &mut written).unwrap();
    SizeDistribution::parse("f", &String::from_utf8(written).unwrap(), Reading::Interpolated, Rounding::Bytes).unwrap();
}

#[test]
fn prometheus__what_a_histogram_lacks_is_refused() {
    let text = sample("prometheus.txt");
    let without = |what: &str| {
        text.lines().filter(|line| !line.contains(what)).map(|line| format!("{line}\n")).collect::<String>()
    };
    for (text, what) in [
        (without("_sum"), "`answer_size_bytes_sum` is missing"),
        (without("+Inf"), "le=\"+Inf\" is missing"),
        (without("/c\",le=\"1000\""), "differ from those of other labels"),
        (text.replace("} 50", "} 20"), "counts fall from"),
        (text.replace("} 700000", "} 7000"), "less than the bounds allow"),
        (text.replace("answer_size_bytes", "answer_seconds"), "counts time"),
        (format!("{text}other_bytes_bucket{{le=\"1\"}} 3\n"), "there are the histograms"),
        (format!("{text}{text}"), "comes twice"),
    ] {
        let error = refused(&text, None);
        assert!(error.contains(what), "{what}: {error}");
    }
}

/// A list of `count` sizes.
fn list(heading: &str, size: impl Fn(u64) -> u64) -> String {
    std::iter::once(heading.to_owned()).chain((1..=200).map(|nth| format!("{}\n", size(nth)))).collect()
}

#[test]
fn lists__that_look_sampled_are_refused_and_others_are_not() {
    // Scaled samples of 1 in 1000 with packets of one length, and of any length; what collectors name.
    for (text, what) in [
        (list("", |nth| (1 + nth % 14) * 1_488_000), "multiples of 1488000 B"),
        (list("", |nth| (52 + nth * 7) * 1_000), "multiples of 1000 B, and the least is 59000 B"),
        ("sampling_rate,bytes\n1000,5\n1000,7\n".to_owned(), "the sampling rate is 1000"),
        ("bytes,SamplingInterval\n5,512\n".to_owned(), "the sampling rate is 512"),
    ] {
        let error = refused(&text, None);
        assert!(error.contains(what) && error.contains("--sampled"), "{what}: {error}");
    }
    // Objects of 1 MB, of some such sizes, blocks of 4 KiB, packets of 1460 B, whole KB; and what says that nothing was sampled.
    for (text, count) in [
        (list("", |_| 1_000_000), 200),
        (list("", |nth| 64_000_000 << (nth % 5)), 200),
        (list("", |nth| 4_096 * nth), 200),
        (list("", |nth| 1_460 * nth), 200),
        (list("", |nth| 1_000 * nth), 200),
        ("bytes,sampling_rate\n5,1\n7,1\n".to_owned(), 2),
    ] {
        assert_eq!(sizes(&text).len(), count);
    }
    let text = list("", |nth| (1 + nth % 14) * 1_488_000);
    assert!(matches!(of(&text, None, Some(1)).unwrap().what, What::Samples(sizes) if sizes.len() == 200));
    let named = of("sampling_rate,bytes\n1000,5\n", Some("bytes"), Some(100)).unwrap_err().to_string();
    assert!(named.contains("the sampling rate is 1000, and --sampled 100"), "{named}");
}

#[test]
fn records__that_look_sampled_are_refused() {
    let rows = |packets: u64| -> String {
        (0..30)
            .map(|port| {
                format!(
                    "2026-01-31 12:00:00.000,0,6,10.0.0.1,{port},10.0.0.2,80,{0},{1},1\n",
                    packets * (1 + port % 3),
                    packets * (1 + port % 3) * 1_488
                )
            })
            .collect()
    };
    let error = refused(&format!("{HEADING}{}", rows(1)), None);
    assert!(error.contains("10 of 30 directions of TCP carry data in a single packet"), "{error}");
    let error = refused(&format!("{HEADING}{}", rows(512)), None);
    assert!(error.contains("all numbers of packets are multiples of 512"), "{error}");
    let interval = format!("{},samplingInterval\n{},1024\n", HEADING.trim(), rows(4).lines().next().unwrap());
    assert!(refused(&interval, None).contains("the sampling rate is 1024"));
    let counted = of(&format!("{HEADING}{}", rows(1)), None, Some(1)).unwrap();
    assert!(matches!(counted.what, What::Samples(_)));
    let few = refused(&format!("{HEADING}{}", rows(1)), Some(1_000));
    assert!(few.contains("30 flows were seen in the samples; expected at least 100"), "{few}");
}

#[test]
fn cumulative__counts_are_refused_as_sizes() {
    let powers: String = (0..9).map(|nth| format!("{},{}\n", 1_000 << (2 * nth), 5_000 + nth * 900)).collect();
    for heading in ["le_bytes,count\n", "size,count\n", ""] {
        let error = refused(&format!("{heading}{powers}"), None);
        assert!(error.contains("9 rising bounds with rising counts: a cumulative histogram"), "{error}");
    }
    let uneven = "le,n\n100,1\n1000,5\n1500,8\n90000,9\n+Inf,10\n";
    assert!(refused(uneven, None).contains("4 rising bounds"));
    // Flows with another column; sizes that rise evenly; a column that is named.
    assert_eq!(sizes("bytes,start\n100,1\n1000,5\n1500,8\n90000,9\n").len(), 4);
    assert_eq!(sizes("bytes,start\n100,1\n200,5\n300,8\n400,9\n").len(), 4);
    assert!(of(&format!("le_bytes,count\n{powers}"), Some("count"), None).is_ok());
}

#[test]
fn lists__with_units_and_files_that_are_no_lists() {
    assert_eq!(sizes("bytes\n1.2 KB\n340 B\n5 MB\n1 KiB\n0.5kB\n"), [340, 500, 1_024, 1_200, 5_000_000]);
    assert_eq!(sizes("1.2 KB\n7\n"), [7, 1_200]);
    for (text, what) in [
        ("State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n", "`ss -tin`"),
        ("Date first seen          Duration Proto      Src IP Addr:Port\n", "`nfdump -o csv`"),
        ("{\"orig_bytes\": 5}\n", "this is JSON"),
    ] {
        let error = refused(text, None);
        assert!(error.contains(what), "{error}");
    }
    let error = of(&sample("tcplife.txt"), Some("TX_KB"), None).unwrap_err();
    assert!(error.to_string().contains("expected no --column TX_KB"), "{error}");
}

fn load(text: &str, rate_bps: u64) -> Result<(f64, String), String> {
    let mut notes = Notes::default();
    let load = counters::load(&Source { name: "octets.csv", text }, rate_bps, &mut notes);
    load.map(|load| (load, notes.all().join("\n"))).map_err(|error| error.to_string())
}

/// Rows every `step` seconds of a counter that begins at `from`, by the load of a link of 8 Mbit/s in each.
fn counted(from: u64, step: u64, loads: &[u64]) -> String {
    let (mut octets, mut text) = (from, format!("0,{from}\n"));
    for (nth, per_cent) in (1u64..).zip(loads) {
        octets += per_cent * 10_000 * step;
        text += &format!("{},{octets}\n", nth * step);
    }
    text
}

#[test]
fn load__of_the_busiest_minute() {
    let read = |text: &str| load(text, 8_000_000).unwrap();
    // Six samples make a minute: 40, 50, 60, 60, 60, 60.
    let loads = [10, 20, 40, 50, 60, 60, 60, 60, 30, 20];
    assert_eq!(read(&counted(0, 10, &loads)).0, 0.55);
    assert_eq!(read(&format!("time,octets\n{}", counted(1 << 40, 10, &loads))).0, 0.55);
    // A counter of 32 bits wraps; a larger one was reset, and the minutes with the reset do not count.
    let wrapped = |text: String, by: u64| -> String {
        let wrap = |line: &str| {
            let (time, octets) = line.split_once(',').unwrap();
            format!("{time},{}\n", octets.parse::<u64>().unwrap() % by)
        };
        text.lines().map(wrap).collect()
    };
    let (found, notes) = read(&wrapped(counted((1 << 32) - 15_000_000, 10, &loads), 1 << 32));
    assert!(found == 0.55 && notes.contains("1 wraps of a counter of 32 bits"), "{found} {notes}");
    let twice = [[10, 20, 40, 50, 60, 60, 60, 60, 30, 20], [30; 10]].concat();
    let (found, notes) = read(&wrapped(counted((1 << 40) - 12_500_000, 10, &twice), 1 << 40));
    assert!(found < 0.55 && notes.contains("1 resets"), "{found} {notes}");
    // A missing hour is none of the busiest minute.
    let gap = counted(0, 10, &loads) + "3700,3600000000\n3710,3600100000\n";
    let (found, notes) = read(&gap);
    assert!(found == 0.55 && notes.contains("1 intervals with missing samples"), "{found} {notes}");
    let (found, notes) = read(&counted(0, 300, &[10, 35, 20]));
    assert!(found == 0.35 && notes.contains("samples are 300 s apart"), "{found} {notes}");
    assert_eq!(read("time,bytes_per_second\n0,1\n30,500000\n60,300000\n90,100000\n").0, 0.4);
}

#[test]
fn load__what_a_link_cannot_have_carried_is_refused() {
    for (text, rate, what) in [
        (counted(0, 10, &[60, 60, 60, 60, 60, 60, 60]), 4_000_000, "1.20 of the link's rate"),
        ("0,1\n10,2\n5,3\n20,4\n".to_owned(), 8_000_000, "the time goes back from 10 to 5"),
        ("0,1\n10,2\n".to_owned(), 8_000_000, "2 samples"),
        ("0,1\n10,x\n".to_owned(), 8_000_000, "the row is `10,x`"),
        (counted(0, 10, &[50; 3]), 8_000_000, "no minute without"),
        (counted(0, 10, &[0; 9]), 8_000_000, "has a load of 0"),
        ("0,1\n30,4000000000\n60,5\n90,70\n".to_owned(), 25_000_000_000, "may wrap every 1.4 s"),
    ] {
        let error = load(&text, rate).unwrap_err();
        assert!(error.contains(what) && error.contains("; expected "), "{what}: {error}");
    }
}

/// Reads bytes as `--sizes` does, and checks what comes.
fn read_any(bytes: &[u8]) {
    for (column, sampled) in [(None, None), (Some("bytes"), None), (None, Some(1)), (None, Some(10))] {
        let Ok(outcome) = read("any", bytes, column, sampled) else { continue };
        match outcome.what {
            What::Samples(sizes) => {
                assert!(!sizes.is_empty() && sizes.iter().all(|size| (1..=MAX_BYTES).contains(size)))
            }
            What::Sizes(law) => {
                let ends = [0.0, 1.0].map(|p| law.quantile_bytes(p).unwrap());
                assert!(1 <= ends[0] && ends[0] <= ends[1] && ends[1] <= MAX_BYTES, "{ends:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(load) = counters::load(&Source { name: "any", text: &text }, 1_000_000_000, &mut Notes::default()) {
        assert!(load > 0.0 && load < 1.0);
    }
}

#[test]
fn read__never_panics_on_samples_that_are_cut_or_changed() {
    for name in ["nfdump.csv", "zeek-conn.log", "tshark-conv.txt", "prometheus.txt", "ss.txt", "tcplife.txt"] {
        let text = sample(name);
        for at in 0..text.len() {
            read_any(&text.as_bytes()[..at]);
            for sign in ["9", "-", ".", " ", "\n", "999999999999999999999", "\"", "\u{e9}"] {
                if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                    read_any(format!("{}{sign}{}", &text[..at], &text[at + 1..]).as_bytes());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn read__any_bytes_are_sizes_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_any(&bytes);
    }

    #[test]
    fn read__any_words_of_exports_are_sizes_or_an_error(
        words in "((#fields|proto|duration|orig_bytes|resp_bytes|tcp|TX_KB|RX_KB|le_bytes|a_bucket\\{le=\"[0-9]{1,20}\"\\}|a_sum|ESTAB|10\\.0\\.0\\.1:[0-9]{1,5}|bytes_acked:|cwnd:1|TCP Conversations|Filter:|<->|[0-9.e-]{1,20}|sampling_rate)[ \t\n,]){0,60}"
    ) {
        read_any(words.as_bytes());
    }
}

#[test]
fn refused__what_looks_sampled_names_the_option() {
    let Unread::Export(error) = of("sampling_rate,bytes\n1000,5\n", None, None).unwrap_err() else { panic!("a list") };
    assert_eq!(error.kind, Kind::Option("sampled"));
}
