//! The ports of a lab on a terminal, second by second.

use super::watch::{head, name};
use flowsieve_engines::linux::named::Named;
use flowsieve_engines::linux::requests::{self, Info, PortView, View};
use flowsieve_experiment::Error;
use flowsieve_files::for_terminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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
    let mut terminal = ratatui::try_init().map_err(Error::Output)?;
    let end = go_on(&mut terminal, lab, &mut screen, &signal);
    let restored = ratatui::try_restore();
    let end = end.map_err(Error::Output)?;
    restored.map_err(Error::Output)?;
    match end {
        End::Asked => Ok(()),
        End::Lab => crate::output::print("the lab has ended\n"),
        End::Signal(number) => low_level::emulate_default_handler(number).map_err(Error::Output),
    }
}

fn go_on(
    terminal: &mut DefaultTerminal,
    lab: &Named,
    screen: &mut Screen<'_>,
    signal: &AtomicUsize,
) -> io::Result<End> {
    let mut next = Instant::now() + PAUSE;
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        let heard = event::poll(next.saturating_duration_since(Instant::now()))?;
        match signal.load(Ordering::Relaxed) {
            0 => {}
            number => return Ok(End::Signal(number as i32)),
        }
        if heard
            && let Event::Key(key) = event::read()?
            && screen.press(key).is_break()
        {
            return Ok(End::Asked);
        }
        if Instant::now() >= next {
            let view = if lab.runs() { requests::view(lab.process).ok() } else { None };
            let Some(view) = view else { return Ok(End::Lab) };
            screen.take(view);
            next = Instant::now() + PAUSE;
        }
    }
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
    chosen: TableState,
    /// The ports that fit.
    page: u16,
}

impl<'a> Screen<'a> {
    fn new(lab: &'a str, info: &'a Info, now: View) -> Screen<'a> {
        let chosen = TableState::new().with_selected(0);
        Screen { lab, info, now, before: View::default(), order: Order::Fabric, chosen, page: 1 }
    }

    /// Takes what the lab does now.
    fn take(&mut self, view: View) {
        self.before = std::mem::replace(&mut self.now, view);
    }

    /// Does what a key asks for; `Break`: leave.
    fn press(&mut self, key: KeyEvent) -> ControlFlow<()> {
        let ends = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if ends || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
            return ControlFlow::Break(());
        }
        match key.code {
            KeyCode::Up => self.chosen.select_previous(),
            KeyCode::Down => self.chosen.select_next(),
            KeyCode::PageUp => self.chosen.scroll_up_by(self.page),
            KeyCode::PageDown => self.chosen.scroll_down_by(self.page),
            KeyCode::Home => self.chosen.select_first(),
            KeyCode::End => self.chosen.select_last(),
            KeyCode::Char('d') => self.sort(Order::Drops),
            KeyCode::Char('r') => self.sort(Order::Rate),
            KeyCode::Char('f') => self.sort(Order::Fabric),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn sort(&mut self, order: Order) {
        self.order = order;
        self.chosen.select_first();
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

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let links = self.links();
        let last = links.len().saturating_sub(1);
        let chosen = links.get(self.chosen.selected().unwrap_or(0).min(last)).copied();
        let queues = chosen.map_or(0, |link| queues_of(&self.now.ports[link]));
        // The queues take at most half of what the ports could have.
        let most = frame.area().height.saturating_sub(3) / 2;
        let below = u16::try_from(queues + 2).unwrap_or(u16::MAX).min(most);
        let parts = [Constraint::Length(3), Constraint::Min(0), Constraint::Length(below), Constraint::Length(1)];
        let [above, ports, under, keys] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(Paragraph::new(safe(&head(self.lab, self.info, &self.now))), above);
        self.page = ports.height.saturating_sub(1).max(1);
        self.draw_ports(frame, ports, &links);
        if let Some(link) = chosen {
            self.draw_queues(frame, under, link);
        }
        let order = match self.order {
            Order::Fabric => "fabric",
            Order::Drops => "drops",
            Order::Rate => "rate",
        };
        let text = format!("q leave  ↑ ↓ PgUp PgDn choose  sort: d drops, r rate, f fabric (now: {order})");
        frame.render_widget(Paragraph::new(text), keys);
    }

    fn draw_ports(&mut self, frame: &mut Frame<'_>, area: Rect, links: &[usize]) {
        let row = |&link: &usize| {
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
            cells(safe(&name(of)), numbers)
        };
        let rows: Vec<Row<'_>> = links.iter().map(row).collect();
        let header = cells("port".to_owned(), ["Mbit/s", "busy", "waiting B", "marked", "/s", "dropped", "/s"]);
        let table = Table::new(rows, widths([8, 7, 10, 8, 6, 8, 6]))
            .header(header.style(Modifier::BOLD))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(table, area, &mut self.chosen);
    }

    /// Draws the queues of a port, as many as fit.
    fn draw_queues(&self, frame: &mut Frame<'_>, area: Rect, link: usize) {
        let port = &self.now.ports[link];
        let queues = queues_of(port);
        let fit = usize::from(area.height.saturating_sub(2));
        let shown = if queues > fit { fit.saturating_sub(1) } else { queues };
        let sent = |port: &PortView, queue: usize| port.by_queue.get(queue).copied().unwrap_or(0);
        let row = |queue: usize| {
            let waiting = port.waiting_by_queue.as_ref().map(|waiting| waiting.get(queue).copied().unwrap_or(0));
            let numbers = [
                sent(port, queue).to_string(),
                format!("{:.0}", self.per_second(link, |port| sent(port, queue))),
                waiting.map_or("-".to_owned(), |bytes| bytes.to_string()),
            ];
            cells(format!("queue {queue}"), numbers)
        };
        let mut rows: Vec<Row<'_>> = (0..shown).map(row).collect();
        if shown < queues {
            rows.push(cells(format!("{} more", queues - shown), ["", "", ""]));
        }
        let of = safe(&name(&self.info.links[link]));
        let header = cells(of, ["packets", "/s", "waiting B"]).style(Modifier::BOLD).top_margin(1);
        frame.render_widget(Table::new(rows, widths([10, 8, 10])).header(header), area);
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

/// Makes a row of a name and numbers.
fn cells<T: Into<String>, const N: usize>(name: String, numbers: [T; N]) -> Row<'static> {
    let numbers = numbers.map(|number| Cell::from(Line::from(number.into()).right_aligned()));
    Row::new(std::iter::once(Cell::from(name)).chain(numbers))
}

/// Returns the widths of a name and of numbers.
fn widths<const N: usize>(numbers: [u16; N]) -> impl Iterator<Item = Constraint> {
    std::iter::once(Constraint::Fill(1)).chain(numbers.map(Constraint::Length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_engines::linux::requests::LinkInfo;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

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

    fn press(screen: &mut Screen<'_>, code: KeyCode) -> ControlFlow<()> {
        screen.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    /// The lines of a screen of 80 columns.
    fn lines(screen: &mut Screen<'_>, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(80, height)).expect("a terminal");
        terminal.draw(|frame| screen.draw(frame)).expect("a drawing");
        let text = terminal.backend().to_string();
        text.lines().map(|line| line.trim_matches('"').trim_end().to_owned()).collect()
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
            assert!(press(&mut screen, KeyCode::Down).is_continue());
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
            [('d', [switch0, host0, host1]), ('r', [host1, switch0, host0]), ('f', [host0, host1, switch0])]
        {
            assert!(press(&mut screen, KeyCode::Char(key)).is_continue());
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
        let mut first_and_last = |keys: &[KeyCode]| {
            for &key in keys {
                assert!(press(&mut screen, key).is_continue());
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
        assert_eq!(first_and_last(&[KeyCode::Up]), of("h0", "h0"));
        assert_eq!(first_and_last(&[KeyCode::PageDown, KeyCode::PageDown]), of("h10", "h18"));
        assert_eq!(first_and_last(&[KeyCode::PageUp]), of("h9", "h9"));
        assert_eq!(first_and_last(&[KeyCode::End, KeyCode::Down]), of("h31", "h39"));
        assert_eq!(first_and_last(&[KeyCode::Home]), of("h0", "h0"));
    }

    #[test]
    fn screen__a_port_without_queues_and_more_queues_than_fit() {
        let info = info();
        let unsorted = PortView { by_queue: vec![3], waiting_by_queue: None, ..PortView::default() };
        let many = PortView { by_queue: vec![1; 40], waiting_by_queue: Some(vec![2; 64]), ..PortView::default() };
        let mut screen = Screen::new("own", &info, view(1, [unsorted, many, PortView::default()]));
        let shown = lines(&mut screen, 20).join("\n");
        assert!(shown.contains("queue 0") && shown.contains("        3          -"), "{shown}");
        assert!(press(&mut screen, KeyCode::Down).is_continue());
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
        let keys = [KeyCode::Char('q'), KeyCode::Esc, KeyCode::Char('c')];
        assert_eq!(keys.map(|key| press(&mut screen, key).is_break()), [true, true, false]);
        assert!(screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)).is_break());
    }
}
