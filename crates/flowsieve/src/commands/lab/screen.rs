//! The ports of a lab on a terminal, second by second, drawn with the sequences of ECMA-48 that every terminal has.

use flowsieve_engines::linux::named::Named;
use flowsieve_engines::linux::requests::{self, Info, PortView, View};
use flowsieve_experiment::Error;
use flowsieve_settings::files::for_terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::watch::{head, name};

/// How often the lab is asked.
const PAUSE: Duration = Duration::from_secs(1);

/// Why the screen ends.
enum End {
    /// The user has seen enough.
    Asked,
    /// The lab has ended.
    Lab,
    /// The process got this signal.
    Signal(i32),
}

/// Shows the ports until the user leaves, the lab ends, or a signal comes. The terminal is then as it was.
pub(super) fn show(lab: &Named, info: &Info, first: View) -> Result<(), Error> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGHUP, SIGINT, SIGTERM] {
        flag::register_usize(number, Arc::clone(&signal), number as usize).map_err(Error::Output)?;
    }
    let mut screen = Screen::new(&lab.name, info, first);
    let terminal = Terminal::taken().map_err(Error::Output)?;
    let end = go_on(lab, &mut screen, &signal);
    drop(terminal);
    match end.map_err(Error::Output)? {
        End::Asked => Ok(()),
        End::Lab => crate::output::print("the lab has ended\n"),
        End::Signal(number) => low_level::emulate_default_handler(number).map_err(Error::Output),
    }
}

/// The terminal of this process while it shows a screen of its own and hands over each key at once.
struct Terminal(Termios);

impl Terminal {
    fn taken() -> io::Result<Terminal> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        let terminal = Terminal(before);
        put("\x1b[?1049h\x1b[?25l")?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    /// Also when a panic ends the screen; a terminal that is gone needs nothing.
    fn drop(&mut self) {
        let _ = put("\x1b[?25h\x1b[?1049l");
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn go_on(lab: &Named, screen: &mut Screen<'_>, signal: &AtomicUsize) -> io::Result<End> {
    let mut next = Instant::now() + PAUSE;
    loop {
        let size = tcgetwinsize(stdout())?;
        put(&screen.draw(size.ws_col.into(), size.ws_row.into()))?;
        let rest = Timespec::try_from(next.saturating_duration_since(Instant::now())).ok();
        let mut keys = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let heard = match poll(&mut keys, rest.as_ref()) {
            // A signal, such as that of a window with another size.
            Err(Errno::INTR) => 0,
            heard => heard?,
        };
        match signal.load(Ordering::Relaxed) {
            0 => {}
            number => return Ok(End::Signal(number as i32)),
        }
        if heard > 0 {
            let mut bytes = [0; 256];
            let count = rustix::io::read(stdin(), &mut bytes)?;
            // A terminal that has gone can be read to its end.
            if count == 0 || keys_of(&bytes[..count]).into_iter().any(|key| screen.press(key).is_break()) {
                return Ok(End::Asked);
            }
        }
        if Instant::now() >= next {
            let view = if lab.runs() { requests::view(lab.process).ok() } else { None };
            let Some(view) = view else { return Ok(End::Lab) };
            screen.take(view);
            next = Instant::now() + PAUSE;
        }
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Escape,
    /// Any other byte.
    Byte(u8),
}

/// The keys that make these bytes. After an escape, `[` or `O` begins the sequence of one key, which ends as ECMA-48 says;
/// those of other keys mean nothing here.
fn keys_of(mut bytes: &[u8]) -> Vec<Key> {
    const SEQUENCES: [(&[u8], Key); 14] = [
        (b"[A", Key::Up),
        (b"OA", Key::Up),
        (b"[B", Key::Down),
        (b"OB", Key::Down),
        (b"[5~", Key::PageUp),
        (b"[6~", Key::PageDown),
        (b"[H", Key::Home),
        (b"OH", Key::Home),
        (b"[1~", Key::Home),
        (b"[7~", Key::Home),
        (b"[F", Key::End),
        (b"OF", Key::End),
        (b"[4~", Key::End),
        (b"[8~", Key::End),
    ];
    let mut keys = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        let is_sequence = first == 0x1b && matches!(rest.first(), Some(b'[' | b'O'));
        if is_sequence {
            let last = rest[1..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            let (found, after) = rest.split_at(last.map_or(rest.len(), |last| last + 2));
            keys.extend(SEQUENCES.iter().find(|(sequence, _)| *sequence == found).map(|(_, key)| *key));
            bytes = after;
        } else {
            keys.push(if first == 0x1b { Key::Escape } else { Key::Byte(first) });
            bytes = rest;
        }
    }
    keys
}

/// The order of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// As the fabric numbers them.
    Fabric,
    /// The most packets dropped first.
    Drops,
    /// The most bits sent per second first.
    Rate,
}

/// What a port does per second.
struct Rates {
    bits: f64,
    marked: f64,
    dropped: f64,
}

/// What is shown.
struct Screen<'a> {
    lab: &'a str,
    info: &'a Info,
    now: View,
    /// What rates are the difference to: the view before, or the lab's begin.
    before: View,
    order: Order,
    /// Which of the ports, in their order, is chosen, and the first that is visible.
    chosen: usize,
    first: usize,
    /// The ports that fit.
    page: usize,
}

/// How a line looks.
enum Look {
    Plain,
    Bold,
    /// The chosen port's.
    Reversed,
}

/// The widths of the numbers of a port and of a queue, which are to the right.
const OF_PORT: [usize; 7] = [8, 7, 10, 8, 6, 8, 6];
const OF_QUEUE: [usize; 3] = [10, 8, 10];
/// The least width of a name.
const LEAST_NAME: usize = 16;

impl<'a> Screen<'a> {
    fn new(lab: &'a str, info: &'a Info, now: View) -> Screen<'a> {
        Screen { lab, info, now, before: View::default(), order: Order::Fabric, chosen: 0, first: 0, page: 1 }
    }

    /// Takes what the lab does now.
    fn take(&mut self, view: View) {
        self.before = std::mem::replace(&mut self.now, view);
    }

    /// Does what a key asks for; `Break`: leave.
    fn press(&mut self, key: Key) -> ControlFlow<()> {
        let last = self.links().len().saturating_sub(1);
        match key {
            // Control and C is the byte 3.
            Key::Escape | Key::Byte(b'q' | 3) => return ControlFlow::Break(()),
            Key::Up => self.chosen = self.chosen.saturating_sub(1),
            Key::Down => self.chosen += 1,
            Key::PageUp => self.chosen = self.chosen.saturating_sub(self.page),
            Key::PageDown => self.chosen += self.page,
            Key::Home => self.chosen = 0,
            Key::End => self.chosen = last,
            Key::Byte(b'd') => self.sort(Order::Drops),
            Key::Byte(b'r') => self.sort(Order::Rate),
            Key::Byte(b'f') => self.sort(Order::Fabric),
            Key::Byte(_) => {}
        }
        self.chosen = self.chosen.min(last);
        ControlFlow::Continue(())
    }

    fn sort(&mut self, order: Order) {
        (self.order, self.chosen) = (order, 0);
    }

    /// Returns how much a count of a port has grown per second.
    fn per_second(&self, link: usize, count: impl Fn(&PortView) -> u64) -> f64 {
        let seconds = self.now.at_ns.saturating_sub(self.before.at_ns).max(1) as f64 / 1e9;
        let of = |view: &View| view.ports.get(link).map_or(0, &count);
        of(&self.now).saturating_sub(of(&self.before)) as f64 / seconds
    }

    fn rates(&self, link: usize) -> Rates {
        Rates {
            bits: 8.0 * self.per_second(link, |port| port.bytes),
            marked: self.per_second(link, |port| port.marked),
            dropped: self.per_second(link, |port| port.dropped),
        }
    }

    /// Returns the numbers of the links in the order that is asked for; equals as the fabric numbers them.
    fn links(&self) -> Vec<usize> {
        let mut links: Vec<usize> = (0..self.now.ports.len().min(self.info.links.len())).collect();
        match self.order {
            Order::Fabric => {}
            Order::Drops => links.sort_by_key(|&link| std::cmp::Reverse(self.now.ports[link].dropped)),
            Order::Rate => links.sort_by(|&a, &b| self.rates(b).bits.total_cmp(&self.rates(a).bits)),
        }
        links
    }

    /// Draws the lines from the first column of the first line, and empties the rest of each and of the screen.
    fn draw(&mut self, width: usize, height: usize) -> String {
        let mut text = String::from("\x1b[H");
        for (at, (look, line)) in self.lines(width, height).into_iter().enumerate() {
            let code = match look {
                Look::Plain => 0,
                Look::Bold => 1,
                Look::Reversed => 7,
            };
            let line: String = line.chars().take(width).collect();
            let _ = write!(text, "{}\x1b[{code}m{line}\x1b[0m\x1b[K", if at > 0 { "\r\n" } else { "" });
        }
        text + "\x1b[J"
    }

    /// Returns as many lines as the screen has.
    fn lines(&mut self, width: usize, height: usize) -> Vec<(Look, String)> {
        let links = self.links();
        let chosen = links.get(self.chosen).copied();
        let queues = chosen.map_or(0, |link| queues_of(&self.now.ports[link]));
        // The queues take at most half of what the ports could have.
        let below = (queues + 2).min(height.saturating_sub(3) / 2);
        let below = if below < 2 { 0 } else { below };
        self.page = height.saturating_sub(5 + below).max(1);
        self.first = self.first.clamp((self.chosen + 1).saturating_sub(self.page), self.chosen);
        let plain = |line: &str| (Look::Plain, line.to_owned());
        let mut lines: Vec<_> = safe(&head(self.lab, self.info, &self.now)).lines().map(plain).collect();
        lines.push(plain(""));
        let titles = ["Mbit/s", "busy", "waiting B", "marked", "/s", "dropped", "/s"];
        lines.push((Look::Bold, row(width, "port", OF_PORT, titles.map(String::from))));
        for at in self.first..self.first + self.page {
            let look = if at == self.chosen { Look::Reversed } else { Look::Plain };
            lines.push(links.get(at).map_or(plain(""), |&link| (look, self.port(width, link))));
        }
        if let Some(link) = chosen {
            self.queues(width, below, link, &mut lines);
        }
        lines.resize_with(height.saturating_sub(1), || plain(""));
        let order = match self.order {
            Order::Fabric => "fabric",
            Order::Drops => "drops",
            Order::Rate => "rate",
        };
        let keys = format!("q leave  ↑ ↓ PgUp PgDn choose  sort: d drops, r rate, f fabric (now: {order})");
        lines.push((Look::Plain, keys));
        lines
    }

    fn port(&self, width: usize, link: usize) -> String {
        let (of, port, rates) = (&self.info.links[link], &self.now.ports[link], self.rates(link));
        let numbers = [
            format!("{:.1}", rates.bits / 1e6),
            format!("{:.1} %", 100.0 * rates.bits / of.bps.max(1) as f64),
            port.waiting_bytes.to_string(),
            port.marked.to_string(),
            format!("{:.0}", rates.marked),
            port.dropped.to_string(),
            format!("{:.0}", rates.dropped),
        ];
        row(width, &name(of), OF_PORT, numbers)
    }

    /// Adds the queues of a port, as many as fit into this many lines with an empty one and titles; none into no lines.
    fn queues(&self, width: usize, height: usize, link: usize, lines: &mut Vec<(Look, String)>) {
        let Some(fit) = height.checked_sub(2) else { return };
        let port = &self.now.ports[link];
        let queues = queues_of(port);
        let shown = if queues > fit { fit.saturating_sub(1) } else { queues };
        let titles = ["packets", "/s", "waiting B"].map(String::from);
        lines.push((Look::Plain, String::new()));
        lines.push((Look::Bold, row(width, &name(&self.info.links[link]), OF_QUEUE, titles)));
        let sent = |port: &PortView, queue: usize| port.by_queue.get(queue).copied().unwrap_or(0);
        for queue in 0..shown {
            let waiting = port.waiting_by_queue.as_ref().map(|waiting| waiting.get(queue).copied().unwrap_or(0));
            let numbers = [
                sent(port, queue).to_string(),
                format!("{:.0}", self.per_second(link, |port| sent(port, queue))),
                waiting.map_or("-".to_owned(), |bytes| bytes.to_string()),
            ];
            lines.push((Look::Plain, row(width, &format!("queue {queue}"), OF_QUEUE, numbers)));
        }
        if shown < queues {
            lines.push((Look::Plain, format!("{} more", queues - shown)));
        }
    }
}

/// Returns the number of queues of a port that are known: those that sent, and those that it keeps.
fn queues_of(port: &PortView) -> usize {
    port.by_queue.len().max(port.waiting_by_queue.as_ref().map_or(0, Vec::len))
}

/// Makes a text harmless for a terminal: names of hosts may hold anything.
fn safe(text: &str) -> String {
    for_terminal(text, false).into_owned()
}

/// Writes a name and numbers of these widths, a blank apart, to the end of a line; where they do not fit, the last are beyond it.
fn row<const N: usize>(width: usize, name: &str, widths: [usize; N], numbers: [String; N]) -> String {
    let rest = width.saturating_sub(widths.iter().map(|width| width + 1).sum()).max(LEAST_NAME);
    let name: String = safe(name).chars().take(rest).collect();
    let mut text = format!("{name:<rest$}");
    for (number, width) in numbers.iter().zip(widths) {
        let _ = write!(text, " {number:>width$}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_engines::linux::requests::LinkInfo;

    /// Three links of 50 Mbit/s.
    fn info() -> Info {
        let link = |from: &str, to: &str| LinkInfo { from: from.to_owned(), to: to.to_owned(), bps: 50_000_000 };
        let links = vec![link("host0", "switch0"), link("host1", "switch0"), link("switch0", "host0")];
        Info { scheme: "pias".to_owned(), hosts: Vec::new(), links }
    }

    fn port(packets: [u64; 2], marked: u64, dropped: u64, waiting: [u64; 2]) -> PortView {
        let packets_sent = packets.iter().sum();
        PortView {
            waiting_bytes: waiting.iter().sum(),
            packets: packets_sent,
            bytes: 1_500 * packets_sent,
            marked,
            dropped,
            by_queue: packets.to_vec(),
            waiting_by_queue: Some(waiting.to_vec()),
        }
    }

    fn view(seconds: u64, ports: [PortView; 3]) -> View {
        let ports = ports.into();
        View { at_ns: seconds * 1_000_000_000, ports, inside: 7, received: 9_000, sent: 8_990, ..View::default() }
    }

    /// The lines of a screen of 80 columns.
    fn lines(screen: &mut Screen<'_>, height: usize) -> Vec<String> {
        let lines: Vec<String> =
            screen.lines(80, height).into_iter().map(|(_, line)| line.trim_end().to_owned()).collect();
        assert_eq!(lines.len(), height, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        lines
    }

    /// The names of the ports in the order of the screen.
    fn names(screen: &mut Screen<'_>) -> Vec<String> {
        let name = |line: String| line.split("  ").next().unwrap_or_default().to_owned();
        lines(screen, 20).into_iter().skip(4).take(3).map(name).collect()
    }

    #[test]
    fn screen__rates_since_the_view_before_and_queues_of_the_chosen_port() {
        let info = info();
        let before = [port([100, 0], 0, 0, [0, 0]), port([0, 0], 0, 0, [0, 0]), port([50, 60], 5, 1, [0, 0])];
        let now =
            [port([1_100, 0], 0, 0, [0, 0]), port([0, 0], 0, 0, [0, 0]), port([350, 2_060], 25, 41, [40, 30_000])];
        let mut screen = Screen::new("own", &info, view(10, before));
        screen.take(view(12, now));
        for _ in 0..2 {
            assert!(screen.press(Key::Down).is_continue());
        }
        // In two seconds switch0 sent 2,300 packets of 1,500 bytes, marked 20 and dropped 40.
        assert_eq!(
            lines(&mut screen, 13),
            [
                "own: pias, 12 s; 7 packets inside; 0 messages began, 0 ended",
                "frames: 9000 received, 8990 sent, 0 over 1 ms late, 0 lost before reception",
                "",
                "port                   Mbit/s    busy  waiting B   marked     /s  dropped     /s",
                "host0 to switch0          6.0  12.0 %          0        0      0        0      0",
                "host1 to switch0          0.0   0.0 %          0        0      0        0      0",
                "switch0 to host0         13.8  27.6 %      30040       25     10       41     20",
                "",
                "",
                "switch0 to host0                                     packets       /s  waiting B",
                "queue 0                                                  350      150         40",
                "queue 1                                                 2060     1000      30000",
                "q leave  ↑ ↓ PgUp PgDn choose  sort: d drops, r rate, f fabric (now: fabric)",
            ]
        );
    }

    #[test]
    fn screen__by_drops_by_rate_and_as_in_the_fabric() {
        let info = info();
        let now = [port([5, 0], 0, 2, [0, 0]), port([9, 0], 0, 0, [0, 0]), port([7, 0], 0, 4, [0, 0])];
        let mut screen = Screen::new("own", &info, view(1, now));
        let of = |links: [&str; 3]| links.map(str::to_owned).to_vec();
        let (host0, host1, switch0) = ("host0 to switch0", "host1 to switch0", "switch0 to host0");
        assert_eq!(names(&mut screen), of([host0, host1, switch0]));
        for (key, order) in
            [(b'd', [switch0, host0, host1]), (b'r', [host1, switch0, host0]), (b'f', [host0, host1, switch0])]
        {
            assert!(screen.press(Key::Byte(key)).is_continue());
            assert_eq!(names(&mut screen), of(order), "{key}");
        }
    }

    /// Of 40 ports some are visible: those around the chosen one.
    #[test]
    fn screen__pages_move_and_stay_within_the_ports() {
        let link = |number: usize| LinkInfo { from: format!("h{number}"), to: "s".to_owned(), bps: 1_000 };
        let info = Info { links: (0..40).map(link).collect(), ..Info::default() };
        let now = View { ports: vec![PortView::default(); 40], ..View::default() };
        let mut screen = Screen::new("own", &info, now);
        let mut first_and_last = |keys: &[Key]| {
            for &key in keys {
                assert!(screen.press(key).is_continue());
                lines(&mut screen, 16);
            }
            let ports: Vec<String> = lines(&mut screen, 16).into_iter().filter(|line| line.starts_with('h')).collect();
            let number = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
            // The last line that begins so has the queues of the chosen port.
            let [first, .., _, chosen] = &ports[..] else { panic!("{ports:?}") };
            (number(first), number(chosen))
        };
        let of = |first: &str, chosen: &str| (first.to_owned(), chosen.to_owned());
        assert_eq!(first_and_last(&[]), of("h0", "h0"));
        assert_eq!(first_and_last(&[Key::Up]), of("h0", "h0"));
        assert_eq!(first_and_last(&[Key::PageDown, Key::PageDown]), of("h10", "h18"));
        assert_eq!(first_and_last(&[Key::PageUp]), of("h9", "h9"));
        assert_eq!(first_and_last(&[Key::End, Key::Down]), of("h31", "h39"));
        assert_eq!(first_and_last(&[Key::Home]), of("h0", "h0"));
    }

    #[test]
    fn screen__a_port_without_queues_and_more_queues_than_fit() {
        let info = info();
        let unsorted = PortView { by_queue: vec![3], waiting_by_queue: None, ..PortView::default() };
        let many = PortView { by_queue: vec![1; 40], waiting_by_queue: Some(vec![2; 64]), ..PortView::default() };
        let mut screen = Screen::new("own", &info, view(1, [unsorted, many, PortView::default()]));
        let shown = lines(&mut screen, 20).join("\n");
        assert!(shown.contains("queue 0") && shown.contains("        3          -"), "{shown}");
        assert!(screen.press(Key::Down).is_continue());
        let shown = lines(&mut screen, 20).join("\n");
        assert!(shown.contains("queue 4") && !shown.contains("queue 5 ") && shown.contains("59 more"), "{shown}");
    }

    /// Nothing to show, and a terminal of any size.
    #[test]
    fn screen__any_size_and_no_ports() {
        let info = info();
        let mut empty = Screen::new("own", &info, View::default());
        let mut full = Screen::new("own", &info, view(1, [(); 3].map(|()| PortView::default())));
        for height in 1..30 {
            lines(&mut empty, height);
            lines(&mut full, height);
        }
    }

    #[test]
    fn press__q_escape_and_control_c_leave() {
        let info = info();
        let mut screen = Screen::new("own", &info, View::default());
        let mut leaves = |bytes: &[u8]| keys_of(bytes).into_iter().any(|key| screen.press(key).is_break());
        assert_eq!(
            [&b"q"[..], b"\x1b", b"\x03", b"c", b"\x1b[A", b"\x1bOB", b"\x1b[6~"].map(&mut leaves),
            [true, true, true, false, false, false, false]
        );
    }

    #[test]
    fn keys_of__several_at_once_and_any_bytes() {
        assert_eq!(keys_of(b"\x1b[Ad\x1b[5~"), [Key::Up, Key::Byte(b'd'), Key::PageUp]);
        assert_eq!(keys_of(b"\x1b[99\x1b"), []);
        assert_eq!(keys_of(b"\x1b[15~\x1bOPr\x1b"), [Key::Byte(b'r'), Key::Escape]);
    }

    #[test]
    fn draw__lines_are_cut_to_the_width_of_the_terminal() {
        let info = info();
        let mut screen = Screen::new("own", &info, view(1, [(); 3].map(|()| PortView::default())));
        let text = screen.draw(30, 12);
        assert_eq!(text.matches("\x1b[K").count(), 12, "{text:?}");
        assert!(text.contains("\x1b[1mport") && text.contains("\x1b[7m"), "{text:?}");
        assert!(
            text.split("\r\n").all(|line| line.chars().count() <= 30 + "\x1b[H\x1b[0m\x1b[0m\x1b[K\x1b[J".len()),
            "{text:?}"
        );
    }
}
