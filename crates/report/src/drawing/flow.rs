//! A flow as time against place: its packets' ways through their hops, one panel for each run.
//!
//! Time runs to the right, the same for all panels, and a packet goes down, from its host to the receiver. A node is a band: a
//! packet enters it from above when it arrives, and leaves it below when the line begins to send it. So it moves to the right
//! within the band for as long as it waits there, and packets that wait together are lines next to each other.

#[cfg(test)]
mod tests;

use super::{Across, Down, Font, GAP, INK, LINE, Legend, RULE, Sample, TEXT, TWO_COLUMNS, WHITE};
use super::{fitting, ink_of, points, stroke, width_of};
use crate::export::ExportError;
use crate::sheet::{Drawing, Ink, Point, Sheet};
use crate::{format, svg, ticks};
use flowsieve_results::timeline::{Cause, Crossing, Ended, Kind, Part, Sent, Timeline};

/// Packets that are drawn of a flow: what a reader and a browser can bear.
const PACKETS: usize = 400;
/// Runs that are drawn.
const PANELS: usize = super::MOST_PLOTS;

const LEFT: i32 = points(100);
const RIGHT: i32 = points(12);
const BAR: i32 = points(11);
const HOST: i32 = points(14);
const SWITCH: i32 = points(26);
const RECEIVER: i32 = points(6);
/// A line between two nodes.
const HOP: i32 = points(15);
/// A wait that is less wide is drawn as a part of the way.
const LEAST_WAIT: i32 = points(1) / 2;
const BAND: Ink = (0xf2, 0xf2, 0xf2);
const GRID: Ink = (0xe2, 0xe2, 0xe2);
const LOSS: Ink = (0x22, 0x22, 0x22);
pub(super) const LINE_OF_WAY: (Ink, u32) = (RULE, 10);

/// Flows, each followed through a run, as a drawing for a file.
///
/// # Errors
/// Fails if the drawing would be too large.
pub fn flow_svg(timelines: &[Timeline]) -> Result<String, ExportError> {
    Ok(svg::svg(&drawn(timelines, TWO_COLUMNS.units).map_err(of_drawing)?, TWO_COLUMNS.in_words))
}

/// The same for a page.
pub(crate) fn flow_inline(timelines: &[Timeline]) -> Result<String, ExportError> {
    Ok(svg::inline(&drawn(timelines, points(760)).map_err(of_drawing)?))
}

fn of_drawing(error: Box<dyn std::error::Error>) -> ExportError {
    ExportError::Drawing(error.to_string())
}

/// The ink of a wait, and its width: causes differ without colour, too.
pub(super) fn look(cause: Cause) -> (Ink, u32) {
    match cause {
        Cause::Others => stroke(ink_of(2), 17),
        Cause::Own => stroke(ink_of(0), 11),
        Cause::Control => stroke(ink_of(1), 14),
        Cause::Unknown => stroke(ink_of(4), 8),
    }
}

/// Draws a part of a packet's way, with dashes if the packet was sent before.
pub(super) fn way(sheet: &Sheet, again: bool, draw: impl FnOnce()) {
    const AGAIN: [i32; 2] = [points(3), points(2)];
    if again {
        sheet.begin_dashes(&AGAIN);
    }
    draw();
    if again {
        sheet.end();
    }
}

pub(super) fn cross(sheet: &Sheet, (x, y): Point) {
    const R: i32 = points(5) / 2;
    sheet.line([(x - R, y - R), (x + R, y + R)], stroke(LOSS, 12));
    sheet.line([(x - R, y + R), (x + R, y - R)], stroke(LOSS, 12));
}

/// A line with ends.
pub(super) fn silence(sheet: &Sheet, [from, to]: [Point; 2]) {
    sheet.line([from, to], stroke(INK, 12));
    for (x, y) in [from, to] {
        sheet.line([(x, y - GAP), (x, y + GAP)], stroke(INK, 12));
    }
}

fn drawn(timelines: &[Timeline], width: i32) -> Result<Drawing, Box<dyn std::error::Error>> {
    let font = Font::new()?;
    let shown = &timelines[..timelines.len().min(PANELS)];
    let scale = Scale { span_ps: shown.iter().map(end).max().unwrap_or(0).max(1), width: width - LEFT - RIGHT };
    let panels: Vec<Panel> = shown.iter().map(|timeline| Panel::new(timeline, scale)).collect();
    let legend = Legend::of(legend_of(&panels), &font, width);
    let left_out = match timelines.len() - shown.len() {
        0 => String::new(),
        more => format!("{more} more runs are not drawn."),
    };
    let down = legend.height() + panels.iter().map(Panel::height).sum::<i32>() + LINE * i32::from(!left_out.is_empty());
    let title: Vec<String> = shown.iter().map(|timeline| timeline.heading()[0].clone()).collect();
    let sheet = Sheet::new(&title.join("; "), (u32::try_from(width)?, u32::try_from(down)?), font);
    sheet.rectangle([(0, 0), (width, down)], WHITE);
    legend.draw(&sheet);
    let mut top = legend.height();
    for panel in &panels {
        panel.draw(&sheet, top);
        top += panel.height();
    }
    sheet.text(&left_out, (TEXT, INK), (Across::Left, Down::Top), 0, (GAP, top));
    Ok(sheet.into_drawing())
}

/// When the last that is known of a flow happened, in ps from its start.
fn end(timeline: &Timeline) -> u64 {
    let of = |sent: &Sent| match sent.ended {
        Ended::Arrived(at) | Ended::Lost(_, at) => at,
        Ended::UnderWay => sent.crossings.last().map_or(0, |last| last.crossed_ps),
    };
    timeline.packets.iter().map(of).max().max(timeline.fct_ps).unwrap_or(0)
}

fn legend_of(panels: &[Panel<'_>]) -> Vec<(Sample, String)> {
    let sent = || panels.iter().flat_map(|panel| panel.packets.iter().copied());
    let waited = |cause| {
        let is_drawn =
            |each: &Crossing| each.cause == cause && panels[0].scale.wait(each).is_some_and(|(_, drawn)| drawn);
        sent().flat_map(|sent| &sent.crossings).any(is_drawn)
    };
    let mut items = vec![(Sample::Way { again: false }, "on the way".to_owned())];
    if sent().any(|sent| sent.again) {
        items.push((Sample::Way { again: true }, "sent again".to_owned()));
    }
    for (cause, words) in [
        (Cause::Others, "waited behind other flows"),
        (Cause::Own, "waited behind its own packets"),
        (Cause::Control, "waited behind ACKs and control"),
        (Cause::Unknown, "waited, behind whom is not known"),
    ] {
        if waited(cause) {
            items.push((Sample::Wait(cause), words.to_owned()));
        }
    }
    if sent().any(|sent| matches!(sent.ended, Ended::Lost(..))) {
        items.push((Sample::Lost, "lost".to_owned()));
    }
    if panels.iter().any(|panel| !silences(panel.timeline).is_empty()) {
        items.push((Sample::Timer, "until a timer fired".to_owned()));
    }
    items
}

/// From times to places.
#[derive(Clone, Copy)]
struct Scale {
    span_ps: u64,
    width: i32,
}

impl Scale {
    fn x(self, ps: u64) -> i32 {
        LEFT + (f64::from(self.width) * (ps as f64 / self.span_ps as f64)).round() as i32
    }

    /// Where a packet came to a switch, and whether its wait there is wide enough to be seen.
    fn wait(self, crossing: &Crossing) -> Option<(i32, bool)> {
        let came = self.x(crossing.sent_ps.saturating_sub(crossing.waited_ps?));
        Some((came, self.x(crossing.sent_ps) - came >= LEAST_WAIT))
    }
}

struct Panel<'a> {
    timeline: &'a Timeline,
    packets: Vec<&'a Sent>,
    scale: Scale,
    /// Lines of text above the picture.
    head: Vec<String>,
    /// The names of the nodes, by how many links are before them.
    levels: Vec<Vec<&'a str>>,
}

impl<'a> Panel<'a> {
    fn new(timeline: &'a Timeline, scale: Scale) -> Panel<'a> {
        let packets = timeline.notable(PACKETS);
        let mut head = timeline.heading().to_vec();
        if packets.len() < timeline.packets.len() {
            let all = format::count(timeline.packets.len() as u64);
            head.push(format!(
                "The {PACKETS} packets that were lost, sent again or waited longest are drawn, of {all}."
            ));
        }
        head.extend(timeline.known_until());
        let receiver = timeline.ends.1.as_str();
        let hops = |sent: &&Sent| {
            let arrives = sent.crossings.last().is_some_and(|last| last.to == receiver);
            sent.crossings.len() + usize::from(!arrives)
        };
        let last = packets.iter().map(hops).max().unwrap_or(1);
        let mut levels = vec![Vec::new(); last + 1];
        (levels[0], levels[last]) = (vec![timeline.ends.0.as_str()], vec![receiver]);
        for sent in &packets {
            for (level, crossing) in (1..).zip(&sent.crossings).filter(|(_, crossing)| crossing.to != receiver) {
                if !levels[level].contains(&crossing.to.as_str()) {
                    levels[level].push(&crossing.to);
                }
            }
        }
        Panel { timeline, packets, scale, head, levels }
    }

    /// The top of a level below that of the first, and its height.
    fn band(&self, level: usize) -> (i32, i32) {
        let below = |level: i32| HOST + HOP + (level - 1) * (SWITCH + HOP);
        match level {
            0 => (0, HOST),
            level if level + 1 == self.levels.len() => (below(level as i32), RECEIVER),
            level => (below(level as i32), SWITCH),
        }
    }

    fn ways_height(&self) -> i32 {
        let (top, height) = self.band(self.levels.len() - 1);
        top + height
    }

    fn ways_top(&self) -> i32 {
        LINE * self.head.len() as i32 + 2 * GAP + BAR + 2 * GAP
    }

    fn height(&self) -> i32 {
        self.ways_top() + self.ways_height() + 3 * LINE + GAP
    }

    fn draw(&self, sheet: &Sheet, top: i32) {
        let (font, right) = (sheet.font(), LEFT + self.scale.width);
        for (line, text) in (0..).zip(&self.head) {
            let text = fitting(font, text, TEXT, right - GAP);
            sheet.text(&text, (TEXT, INK), (Across::Left, Down::Top), 0, (GAP, top + GAP + line * LINE));
        }
        self.draw_parts(sheet, top + LINE * self.head.len() as i32 + 2 * GAP);
        let top = top + self.ways_top();
        self.draw_axis(sheet, top);
        for (level, names) in self.levels.iter().enumerate() {
            let (below, height) = self.band(level);
            sheet.rectangle([(LEFT, top + below), (right, top + below + height)], BAND);
            let mut name = match names.as_slice() {
                [one, other] => format!("{one}, {other}"),
                [one, _, rest @ ..] => format!("{one}, {} more", rest.len() + 1),
                names => names.concat(),
            };
            name = fitting(font, &name, TEXT, LEFT - 2 * GAP);
            let lost = self.lost(level);
            let middle = top + below + height / 2;
            if !lost.is_empty() {
                let at = (LEFT - GAP, middle + LINE / 2);
                sheet.text(
                    &fitting(font, &lost, TEXT, LEFT - 2 * GAP),
                    (TEXT, INK),
                    (Across::Right, Down::Middle),
                    0,
                    at,
                );
            }
            let at = (LEFT - GAP, if lost.is_empty() { middle } else { middle - LINE / 2 });
            sheet.text(&name, (TEXT, INK), (Across::Right, Down::Middle), 0, at);
        }
        let lost: Vec<(&Sent, Point)> =
            self.packets.iter().filter_map(|sent| Some((*sent, self.draw_packet(sheet, sent, top)?))).collect();
        // Above all ways.
        for (sent, at) in lost {
            sheet.begin(&self.timeline.packet(sent));
            cross(sheet, at);
            sheet.end();
        }
        self.draw_timers(sheet, top);
    }

    /// The flow's time in sum, along the way of the packet that completed it.
    fn draw_parts(&self, sheet: &Sheet, top: i32) {
        let at = (LEFT - GAP, top + BAR / 2);
        let parts = self.timeline.parts();
        let words = if parts.is_empty() { "" } else { "its time, in sum" };
        sheet.text(words, (TEXT, INK), (Across::Right, Down::Middle), 0, at);
        let mut before_ps = 0;
        for Part { kind, what, ps } in &parts {
            let ends = (self.scale.x(before_ps), self.scale.x(before_ps + ps));
            before_ps += ps;
            let (fill, ink, words) = self.part(kind);
            sheet.begin(&format!("{what}: {:.1} µs", *ps as f64 / 1e6));
            sheet.rectangle([(ends.0, top), (ends.1, top + BAR)], fill);
            sheet.line([(ends.1, top), (ends.1, top + BAR)], stroke(WHITE, 5));
            if width_of(sheet.font(), words, TEXT) + GAP < ends.1 - ends.0 {
                let middle = (i32::midpoint(ends.0, ends.1), top + BAR / 2);
                sheet.text(words, (TEXT, ink), (Across::Middle, Down::Middle), 0, middle);
            }
            sheet.end();
        }
    }

    /// How a part of the flow's time looks: its fill, the ink on it, and its words.
    fn part(&self, kind: &Kind) -> (Ink, Ink, &'static str) {
        let on = |cause, words| (look(cause).0, if cause == Cause::Control { INK } else { WHITE }, words);
        match kind {
            Kind::Own => on(Cause::Own, "its packets"),
            Kind::Others => on(Cause::Others, "packets of others at its host"),
            Kind::Idle => (GRID, INK, "its host sent nothing"),
            Kind::Waited(link) => {
                let segment = self.timeline.time.as_ref().map(|time| time.segment);
                let last = self.timeline.packets.iter().filter(|sent| Some(sent.segment) == segment);
                let mut last = last.filter(|sent| matches!(sent.ended, Ended::Arrived(_)));
                let crossing = last.next().and_then(|sent| sent.crossings.iter().find(|each| each.link == *link));
                on(crossing.map_or(Cause::Unknown, |crossing| crossing.cause), "waited")
            }
            Kind::UnderWay => (RULE, WHITE, "on the way"),
            Kind::Back => (GRID, INK, "last ACK"),
        }
    }

    fn draw_axis(&self, sheet: &Sheet, top: i32) {
        let (span_ps, bottom) = (self.scale.span_ps as f64, top + self.ways_height());
        let unit = format::Unit::for_times([span_ps / 5.0]);
        for (at, words) in ticks::ticks((0.0, unit.of(span_ps)), false) {
            let x = LEFT + (f64::from(self.scale.width) * at / unit.of(span_ps)).round() as i32;
            sheet.line([(x, top), (x, bottom + GAP)], stroke(GRID, 6));
            sheet.text(&words, (TEXT, INK), (Across::Middle, Down::Top), 0, (x, bottom + 2 * GAP));
        }
        let name = format!("{} from the flow's start", unit.name);
        let at = (LEFT + self.scale.width / 2, bottom + 2 * GAP + LINE);
        sheet.text(&name, (TEXT, INK), (Across::Middle, Down::Top), 0, at);
    }

    /// Draws the way of a packet; returns where it was lost, if it was.
    fn draw_packet(&self, sheet: &Sheet, sent: &Sent, top: i32) -> Option<Point> {
        let (timeline, receiver) = (self.timeline, self.timeline.ends.1.as_str());
        let edges = |level: usize| {
            let (below, height) = self.band(level);
            (top + below, top + below + height)
        };
        let x = |ps| self.scale.x(ps);
        sheet.begin(&timeline.packet(sent));
        let (mut level, mut came_ps) = (0, None);
        let mut on_line = Vec::new();
        let mut lost = None;
        for (index, crossing) in sent.crossings.iter().enumerate() {
            let (enters, leaves) = edges(level);
            if let Some((came, is_drawn)) = self.scale.wait(crossing) {
                on_line.push((came, enters));
                if is_drawn {
                    way(sheet, sent.again, || sheet.line(std::mem::take(&mut on_line), LINE_OF_WAY));
                    let ends = [(came, enters), (x(crossing.sent_ps), leaves)];
                    way(sheet, sent.again, || sheet.line(ends, look(crossing.cause)));
                }
            } else if level == 0 {
                on_line.push((x(crossing.sent_ps), i32::midpoint(enters, leaves)));
            }
            on_line.push((x(crossing.sent_ps), leaves));
            level = if crossing.to == receiver { self.levels.len() - 1 } else { level + 1 };
            let (next, _) = edges(level);
            match &sent.ended {
                Ended::Lost(link, at) if *link == crossing.link => {
                    let point = (i32::midpoint(x(crossing.sent_ps), x(*at)), i32::midpoint(leaves, next));
                    on_line.push(point);
                    lost = Some(point);
                }
                Ended::Arrived(at) if index + 1 == sent.crossings.len() => on_line.push((x(*at), next)),
                _ => on_line.push((x(crossing.crossed_ps), next)),
            }
            came_ps = Some(crossing.crossed_ps);
        }
        if let Ended::Lost(_, at) = &sent.ended
            && lost.is_none()
        {
            let (enters, leaves) = edges(level);
            let point = (x(*at), i32::midpoint(enters, leaves));
            on_line.extend(came_ps.is_some().then_some(point));
            lost = Some(point);
        }
        if on_line.len() > 1 {
            way(sheet, sent.again, || sheet.line(on_line, LINE_OF_WAY));
        }
        sheet.end();
        lost
    }

    /// How many packets were lost at a level or on the links from it, and where.
    fn lost(&self, level: usize) -> String {
        let link = |sent: &'a Sent| match &sent.ended {
            Ended::Lost(link, _) => {
                let on_line = sent.crossings.last().is_some_and(|last| last.link == *link);
                (sent.crossings.len() - usize::from(on_line) == level).then_some(link.as_str())
            }
            _ => None,
        };
        let links: Vec<&str> = self.timeline.packets.iter().filter_map(link).collect();
        match links.as_slice() {
            [] => String::new(),
            [first, rest @ ..] if rest.iter().all(|link| link == first) => format!("{} lost at {first}", links.len()),
            _ => format!("{} lost, at several links", links.len()),
        }
    }

    /// The silences that a timer ended, at the host.
    fn draw_timers(&self, sheet: &Sheet, top: i32) {
        let y = top + HOST - GAP;
        for (from_ps, to_ps) in silences(self.timeline) {
            let (from, to) = (self.scale.x(from_ps), self.scale.x(to_ps));
            let words = format!("timer, {:.1} µs", (to_ps - from_ps) as f64 / 1e6);
            sheet.begin(&format!("Nothing of the flow was sent, until a timer fired: {words}"));
            silence(sheet, [(from, y), (to, y)]);
            if width_of(sheet.font(), &words, TEXT) < to - from {
                sheet.text(&words, (TEXT, INK), (Across::Middle, Down::Bottom), 0, (i32::midpoint(from, to), y - GAP));
            }
            sheet.end();
        }
    }
}

/// The silences of a flow that a retransmission timer ended, where that is certain: as many packets were sent again after long
/// silences as timers fired.
fn silences(timeline: &Timeline) -> Vec<(u64, u64)> {
    let Some(mean_ps) = timeline.timers_ps.checked_div(timeline.timeouts.into()).filter(|ps| *ps > 0) else {
        return Vec::new();
    };
    let sent: Vec<(u64, bool)> =
        timeline.packets.iter().filter_map(|sent| Some((sent.crossings.first()?.sent_ps, sent.again))).collect();
    let after = sent.windows(2).filter(|pair| pair[1].1).map(|pair| (pair[0].0, pair[1].0));
    let long: Vec<(u64, u64)> = after.filter(|(from, to)| 2 * to.saturating_sub(*from) > mean_ps).collect();
    if long.len() == timeline.timeouts as usize { long } else { Vec::new() }
}
