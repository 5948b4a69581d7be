//! `flowsieve agent record`.

use super::{Message, in_words_of, neighbours};
use crate::output::{print, print_json, tell};
use crate::values::Budget;
use clap::{Args, ValueHint};
use flowsieve_agent::maps::RULE_NAMES;
use flowsieve_agent::{Bins, Class, Device, Recording, Side};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_settings::files::{Existing, check_named};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Rules agree if one finds less than this share more messages than the other.
const NEAR: f64 = 0.02;

/// What to record.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The device, such as eth0, in this network namespace
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Classes of messages, by TCP port: the socket that has it answers, the other one asks
    #[arg(long, value_name = "PORT=NAME", value_delimiter = ',')]
    ports: Vec<NamedClass<u16>>,
    /// Classes by cgroup of version 2, by its folder; not those of groups below it
    #[arg(long, value_name = "DIR=NAME", value_delimiter = ',', value_hint = ValueHint::DirPath)]
    cgroups: Vec<NamedClass<PathBuf>>,
    /// How long; until Ctrl-C by default
    #[arg(long = "for", value_name = "TIME")]
    time: Option<Budget>,
    /// The rule whose sizes are written: when a message ends. All three are recorded and compared
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Message::Turn1ms)]
    message: Message,
    /// Where the sizes go, for `flowsieve tune --sizes`; with classes a file for each, such as sizes-web.csv
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "sizes.csv")]
    out: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a class is known by, and its name.
#[derive(Debug, Clone)]
pub(crate) struct NamedClass<T> {
    of: T,
    name: String,
}

impl<T: FromStr> FromStr for NamedClass<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedClass<T>, String> {
        let expected = "expected such as 80=web";
        let (of, name) = text.rsplit_once('=').ok_or(expected)?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if name.is_empty() || name.len() > 40 || name == OTHER || !name.chars().all(is_plain) {
            return Err(format!("the name {name:?}; expected letters, digits, - and _, and not `{OTHER}`"));
        }
        let of = of.parse().map_err(|_| format!("{of:?}; {expected}"))?;
        Ok(NamedClass { of, name: name.to_owned() })
    }
}

/// The name of what is in no class.
const OTHER: &str = "other";

/// The messages of a class.
#[derive(Debug, Serialize)]
struct Recorded {
    /// Its name; `all` without classes.
    class: String,
    /// Messages that have ended, by rule: turn, turn-1ms, idle-50ms.
    messages: [u64; 3],
    /// Their bytes.
    bytes: [u64; 3],
    /// How the rules differ.
    rules: String,
    /// The file with the sizes by the rule that was asked for.
    file: Option<PathBuf>,
    #[serde(skip)]
    bins: Bins,
}

pub(super) fn record(args: &Record) -> Result<(), Error> {
    let existing = Existing::replaced(args.replace);
    let ports = args.ports.iter().map(|class| (Class::Port(class.of), class.name.clone()));
    let cgroups = args.cgroups.iter().map(|class| (Class::Cgroup(class.of.clone()), class.name.clone()));
    let classes: Vec<(Class, String)> = ports.chain(cgroups).collect();
    let names = classes.iter().map(|(_, name)| name.as_str()).chain([OTHER]);
    let names = names.flat_map(|name| [name.to_owned(), format!("{name}-requests")]);
    let files = names.map(|name| file_of(&args.out, &name)).chain([args.out.clone()]);
    for file in files {
        check_named(&file, existing).map_err(failed(&file))?;
    }
    let device = Device::find(&args.device).map_err(in_words_of)?;
    let ended = until()?;
    let begun = Instant::now();
    let recording = flowsieve_agent::record(&device, &classes).map_err(in_words_of)?;
    tell(format!(
        "recording what leaves by {}; no packet is changed{}",
        device.name,
        match args.time {
            Some(_) => "; Ctrl-C ends it early",
            None => ", until Ctrl-C",
        }
    ));
    let time = args.time.map_or(Duration::MAX, |Budget(time)| time);
    // Either comes first; the sizes are written after both.
    let _ = ended.recv_timeout(time);
    let seconds = begun.elapsed().as_secs();

    let mut found = recorded(&recording, args.message)?;
    if found.is_empty() {
        let problem = format!("{}: no message has ended in {seconds} s", device.name);
        return Err(Error::Input(format!("{problem}; expected TCP connections of this host that leave by it")));
    }
    for of in &mut found {
        let file = if classes.is_empty() { args.out.clone() } else { file_of(&args.out, &of.class) };
        // It had messages by another rule only.
        if of.bins.total().messages > 0 {
            write_text(&file, existing, &of.bins.csv())?;
            of.file = Some(file);
        }
    }
    if args.json {
        return print_json(&found);
    }
    print(&(in_words(&device.name, seconds, &found, &recording)? + &neighbours(&device)?))
}

/// Returns where Ctrl-C, or what else ends the command, arrives.
pub(super) fn until() -> Result<Receiver<i32>, Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Error::Input(format!("cannot listen for Ctrl-C: {error}")))?;
    let (sender, ended) = channel();
    thread::spawn(move || signals.forever().next().map(|signal| sender.send(signal)));
    Ok(ended)
}

/// Returns the classes of which messages have ended.
fn recorded(recording: &Recording, message: Message) -> Result<Vec<Recorded>, Error> {
    let mut all = Vec::new();
    for (class, name) in recording.names().iter().enumerate() {
        for (side, more) in [(Side::Own, ""), (Side::Peer, "-requests")] {
            let bins = recording.sizes(class, side).map_err(in_words_of)?;
            let messages = bins.each_ref().map(|bins| bins.total().messages);
            if messages == [0; 3] {
                continue;
            }
            let class = match (name.as_str(), recording.names().len()) {
                ("", 1) => "all".to_owned(),
                ("", _) => OTHER.to_owned(),
                (name, _) => format!("{name}{more}"),
            };
            let bytes = bins.each_ref().map(|bins| bins.total().bytes);
            let [turn, turn_1ms, idle] = bins;
            let bins = [turn, turn_1ms, idle].into_iter().nth(message.place()).unwrap_or_default();
            all.push(Recorded { class, messages, bytes, rules: compared(messages), file: None, bins });
        }
    }
    Ok(all)
}

/// Says how far the rules agree, and what their difference means.
fn compared([turn, turn_1ms, idle]: [u64; 3]) -> String {
    let more = |many: u64, few: u64| many as f64 > (1.0 + NEAR) * few as f64;
    let times = |many: u64, few: u64| format!("{:.1} times", many as f64 / few.max(1) as f64);
    let mut says = Vec::new();
    if more(turn, turn_1ms) {
        says.push(format!(
            "turn finds {} as many messages as turn-1ms: either requests come within 1 ms, then turn is right, or the peer \
             sends more than requests, such as the window updates of HTTP/2, then turn-1ms is",
            times(turn, turn_1ms)
        ));
    }
    if more(turn_1ms, idle) {
        says.push(format!(
            "turn-1ms finds {} as many as a pause of 50 ms: connections are in steady use, and a pause does not tell \
             messages apart",
            times(turn_1ms, idle)
        ));
    }
    if more(idle, turn_1ms) {
        says.push(format!(
            "a pause of 50 ms finds {} as many as turn-1ms: messages pause while they are sent, or no peer answers",
            times(idle, turn_1ms)
        ));
    }
    if says.is_empty() {
        return "the rules agree".to_owned();
    }
    says.join("; ")
}

fn in_words(device: &str, seconds: u64, found: &[Recorded], recording: &Recording) -> Result<String, Error> {
    let counts = recording.counts().map_err(in_words_of)?;
    let mut text = format!("{device}: messages that ended within {seconds} s, by the rule that ends them\n");
    let width = found.iter().map(|of| of.class.len()).max().unwrap_or(0).max("class".len());
    let _ = writeln!(text, "{:<width$}  {:<9}  {:>12}  {:>10}", "class", "rule", "messages", "mean size");
    for of in found {
        for (rule, name) in RULE_NAMES.iter().enumerate() {
            let (messages, bytes) = (of.messages[rule], of.bytes[rule]);
            let mean = flowsieve_report::size(bytes.checked_div(messages).unwrap_or(0));
            let _ = writeln!(text, "{:<width$}  {name:<9}  {messages:>12}  {mean:>10}", of.class);
        }
        let rules = format!("{}: {}.", of.class, of.rules);
        let _ = writeln!(text, "{}", flowsieve_report::paragraph(&rules, "  "));
    }
    for (rule, (name, begun)) in RULE_NAMES.iter().zip(counts.begun_by).enumerate() {
        let ended: u64 = found.iter().map(|of| of.messages[rule]).sum();
        let _ = writeln!(text, "{name}: {begun} begun, {ended} ended; the last of an open connection is not in it");
    }
    let left = [
        (counts.older, "connections that stood before"),
        (counts.unknown, "messages whose beginning was not seen, and which are in no file"),
        (
            counts.no_socket,
            "packets without a full socket: of pods and tunnels, and of connections that open or are gone",
        ),
        (counts.no_storage, "packets for whose connection the kernel had no memory"),
        (counts.other, "packets that are not TCP: no rule knows their messages"),
    ];
    for (count, what) in left.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{count} {what}");
    }
    for file in found.iter().filter_map(|of| of.file.as_ref()) {
        let _ = writeln!(text, "Sizes: {}", file.display());
    }
    Ok(text)
}

/// Returns the file of a class: its name before the extension.
fn file_of(out: &Path, class: &str) -> PathBuf {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    let extension = out.extension().map_or(String::new(), |extension| format!(".{}", extension.to_string_lossy()));
    out.with_file_name(format!("{stem}-{class}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compared__says_what_a_difference_means() {
        assert_eq!(compared([1_000, 990, 985]), "the rules agree");
        let http2 = compared([2_887, 312, 300]);
        assert!(http2.starts_with("turn finds 9.3 times") && http2.contains("HTTP/2"), "{http2}");
        let pooled = compared([10_000, 9_928, 6_110]);
        assert!(pooled.starts_with("turn-1ms finds 1.6 times as many as a pause of 50 ms"), "{pooled}");
        assert!(compared([300, 300, 402]).contains("pause while they are sent"));
        assert!(compared([0, 0, 5]).contains("no peer answers"));
    }

    #[test]
    fn file_of__has_the_class_before_its_extension() {
        assert_eq!(file_of(Path::new("a.b/sizes.csv"), "web"), Path::new("a.b/sizes-web.csv"));
        assert_eq!(file_of(Path::new("sizes"), "web-requests"), Path::new("sizes-web-requests"));
    }

    #[test]
    fn named_class__refuses_what_is_no_name() {
        let of = |text: &str| text.parse::<NamedClass<u16>>().map(|class| (class.of, class.name));
        assert_eq!(of("80=web"), Ok((80, "web".to_owned())));
        for text in ["80", "80=", "=web", "65536=web", "80=../x", "80=other", "x=web"] {
            assert!(of(text).unwrap_err().contains("expected"), "{text}");
        }
    }
}
