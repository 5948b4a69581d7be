//! Drawings read back as XML.

use super::*;
use crate::figure::tests::plot;
use crate::figure::{Base, Datum, Marks, Places, Plot, Range, Series, Words, XAxis, YAxis};
use crate::format::number;
use proptest::prelude::*;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;

fn figure(plots: Vec<Plot>) -> Figure {
    Figure { title: "Web search".into(), plots }
}

fn drawn(figure: &Figure, columns: u8) -> String {
    svg(figure, columns).unwrap()
}

fn read<'a>(svg: &'a str) -> Document<'a> {
    Document::parse_with_options(svg, ParsingOptions { nodes_limit: u32::MAX, ..ParsingOptions::default() }).unwrap()
}

/// Each text with its `transform`.
fn texts<'a>(document: &'a Document<'_>) -> Vec<(&'a str, &'a str)> {
    let groups = document.descendants().filter(|node| node.has_tag_name("g"));
    groups.filter_map(|node| Some((node.attribute("aria-label")?, node.attribute("transform")?))).collect()
}

/// The anchor of a text.
fn place(transform: &str) -> (f64, f64) {
    let at = transform.strip_prefix("translate(").unwrap().split(')').next().unwrap();
    let (x, y) = at.split_once(' ').unwrap();
    (x.parse().unwrap(), y.parse().unwrap())
}

fn size(document: &Document<'_>) -> (f64, f64) {
    let parts: Vec<f64> =
        document.root_element().attribute("viewBox").unwrap().split(' ').map(|part| part.parse().unwrap()).collect();
    (parts[2], parts[3])
}

/// The group whose title this is.
fn titled<'a>(document: &'a Document<'a>, title: &str) -> Node<'a, 'a> {
    let is_it = |node: &Node<'_, '_>| node.has_tag_name("title") && node.text() == Some(title);
    document.descendants().find(is_it).unwrap_or_else(|| panic!("no {title}")).parent().unwrap()
}

#[test]
fn svg__one_and_two_columns_wide_with_letters_of_eight_points() {
    let figure = figure(vec![plot(Base::Zero, &[1.0, 2.0])]);
    for (columns, width, points) in [(1, "3.5in", 252.0), (2, "7.16in", 515.5)] {
        let svg = drawn(&figure, columns);
        let document = read(&svg);
        assert_eq!(document.root_element().attribute("width"), Some(width));
        assert!((size(&document).0 / f64::from(PER_POINT) - points).abs() < 0.1);
        let texts = texts(&document);
        let (_, transform) = texts.iter().find(|(text, _)| *text == "load").unwrap();
        let scale: f64 = transform.split("scale(").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((scale * Font::new().unwrap().units_per_em() / f64::from(PER_POINT) - 8.0).abs() < 1e-9);
    }
}

#[test]
fn pdf__one_page_as_large_as_the_drawing_with_what_its_letters_say() {
    let figure = figure(vec![plot(Base::ZeroOrLog, &[1.0, 2.0])]);
    for (columns, width) in [(1, "252"), (2, "515.5")] {
        let pdf = pdf(&figure, columns).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.starts_with("%PDF-1.") && text.trim_end().ends_with("%%EOF"), "{text}");
        assert_eq!(text.matches("/Type /Page\n").count(), 1, "{text}");
        assert!(text.contains(&format!("/MediaBox [0 0 {width} ")), "{text}");
        // No font is missing, because there is none.
        assert!(!text.contains("/Font") && text.contains("/ActualText (load)"), "{text}");
        assert_eq!(text.matches("BDC").count(), text.matches("EMC").count());
        assert!(pdf.len() < 60_000, "{} bytes", pdf.len());
        assert_eq!(pdf, super::pdf(&figure, columns).unwrap());
    }
}

#[test]
fn svg__letters_are_outlines_and_nothing_comes_from_elsewhere() {
    let svg = drawn(&figure(vec![plot(Base::ZeroOrLog, &[1.0, 2.0]); 4]), 2);
    let document = read(&svg);
    for outside in ["font", "style", "url(", "<text", "<image", "<script", "<foreignObject", "@"] {
        assert!(!svg.contains(outside), "{outside}");
    }
    assert_eq!(svg.matches("http").count(), 2, "the two namespaces");
    let letters: BTreeSet<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let used: BTreeSet<&str> = document
        .descendants()
        .filter_map(|node| node.attribute(("http://www.w3.org/1999/xlink", "href")))
        .map(|href| href.strip_prefix('#').unwrap())
        .collect();
    assert!(used.len() > 10 && used.is_subset(&letters), "{used:?}");
    assert!(svg.len() < 40_000, "{} bytes", svg.len());
    assert_eq!(svg, drawn(&figure(vec![plot(Base::ZeroOrLog, &[1.0, 2.0]); 4]), 2));
}

#[test]
fn svg__marks_lie_where_their_values_are_and_say_them() {
    for (base, values) in [(Base::Zero, [1.0, 2.0]), (Base::ZeroOrLog, [3.0, 30.0])] {
        let plot = plot(base, &values);
        let is_log = plot.y_scaled().is_log;
        let svg = drawn(&figure(vec![plot.clone()]), 1);
        let document = read(&svg);
        let on_paper = |value: f64| if is_log { libm::log10(value) } else { value };
        // The vertical axis comes first, its words one below the other.
        let numbers: Vec<(f64, (f64, f64))> = texts(&document)
            .into_iter()
            .filter_map(|(text, transform)| Some((text.parse().ok()?, place(transform))))
            .collect();
        let (_, (column, _)) = numbers[0];
        let ticks: Vec<(f64, f64)> =
            numbers.iter().filter(|(_, (x, _))| *x == column).map(|(value, (_, y))| (on_paper(*value), *y)).collect();
        let ((low, bottom), (high, top)) = (ticks[0], ticks[ticks.len() - 1]);
        for datum in &plot.series[0].data {
            let (least, most) = datum.ends.unwrap();
            let title =
                format!("{}: {} ms ({}–{})", plot.x.place(datum.x), number(datum.y), number(least), number(most));
            let group = titled(&document, &title);
            let circle = group.children().find(|node| node.has_tag_name("circle")).unwrap();
            let y: f64 = circle.attribute("cy").unwrap().parse().unwrap();
            let expected = bottom + (on_paper(datum.y) - low) / (high - low) * (top - bottom);
            assert!((y - expected).abs() <= 2.0, "{title}: {y} {expected}");
            // The interval reaches further up and down.
            let interval = group.children().find(|node| node.has_tag_name("path")).unwrap().attribute("d").unwrap();
            let ys: Vec<f64> =
                interval[1..].split('L').map(|at| at.split_once(' ').unwrap().1.parse().unwrap()).collect();
            assert!(ys.iter().any(|end| *end < y) && ys.iter().any(|end| *end > y), "{interval}");
        }
    }
}

#[test]
fn svg__schemes_differ_in_symbol_and_dash() {
    let svg = drawn(&figure(vec![plot(Base::Zero, &[1.0, 2.0])]), 1);
    let document = read(&svg);
    let (dctcp, pias) = (titled(&document, "dctcp"), titled(&document, "pias"));
    let dash = |group: Node<'_, '_>| {
        group.descendants().find_map(|node| node.attribute("stroke-dasharray").map(str::to_owned))
    };
    assert!(dash(dctcp).is_none() && dash(pias).is_some());
    let circles = |group: Node<'_, '_>| group.descendants().filter(|node| node.has_tag_name("circle")).count();
    assert_eq!((circles(dctcp), circles(pias)), (2, 0));
}

#[test]
fn svg__what_marks_say_is_drawn_and_explained() {
    let plot = Plot {
        marks: Marks {
            words: Words { range: ["said", "said range"], level: ["meant", "said level"] },
            ranges: vec![Range { scheme: 1, x: 0.5, low: 0.2, high: 0.4 }],
            levels: vec![(0, 1.5)],
        },
        ..plot(Base::Zero, &[1.0, 2.0])
    };
    let svg = figure_svg(&figure(vec![plot])).unwrap();
    let document = read(&svg);
    assert!(texts(&document).iter().any(|(text, _)| *text == "said range"));
    assert!(texts(&document).iter().any(|(text, _)| *text == "said level"));
    let marks = titled(&document, "said range").children().filter(|node| node.has_tag_name("circle"));
    assert!(marks.clone().count() == 2 && marks.into_iter().all(|mark| mark.attribute("fill").is_none()));
}

#[test]
fn figure_svg__so_many_plots_as_anyone_looks_at() {
    let svg = figure_svg(&figure(vec![plot(Base::Zero, &[1.0, 2.0]); 12])).unwrap();
    let document = read(&svg);
    assert_eq!(texts(&document).iter().filter(|(text, _)| *text == "Mean FCT, all flows").count(), MOST_PLOTS);
}

#[test]
fn svg__bars_stand_on_zero_beside_each_other() {
    let series = |scheme: usize, shape: Shape, y: f64| Series {
        scheme,
        name: format!("s{scheme}"),
        label: format!("S{scheme}"),
        shape,
        data: vec![Datum { x: 0.0, y, ..Datum::default() }],
    };
    let plot = Plot {
        title: String::new(),
        x: XAxis { name: String::new(), unit: String::new(), places: Places::Names(vec!["host-up".into()]) },
        y: YAxis { name: "share".into(), unit: "%".into(), base: Base::Zero },
        series: vec![series(0, Shape::Bars, 50.0), series(1, Shape::Bars, 25.0), series(0, Shape::Reference, 60.0)],
        marks: Marks::default(),
    };
    let svg = drawn(&figure(vec![plot]), 1);
    let document = read(&svg);
    let bar = |title: &str| {
        let group = titled(&document, title);
        let rect = group.children().find(|node| node.has_tag_name("rect")).unwrap();
        ["x", "y", "width", "height"].map(|name| rect.attribute(name).unwrap().parse::<f64>().unwrap())
    };
    let (one, other) = (bar("host-up: 50.0 %"), bar("host-up: 25.0 %"));
    assert!((one[3] / other[3] - 2.0).abs() < 0.01, "{one:?} {other:?}");
    assert_eq!((one[1] + one[3], one[0] + one[2]), (other[1] + other[3], other[0]));
    assert_eq!(titled(&document, "host-up: 60.0 %").descendants().filter(|node| node.has_tag_name("rect")).count(), 0);
}

/// Every text that is not turned is inside the drawing.
fn assert_inside(svg: &str) {
    let document = read(svg);
    let (width, height) = size(&document);
    let font = Font::new().unwrap();
    for (text, transform) in texts(&document).into_iter().filter(|(_, transform)| !transform.contains("rotate")) {
        let numbers: Vec<f64> =
            transform.split(['(', ')', ' ']).filter_map(|part| part.parse().ok()).map(f64::abs).collect();
        let [x, y, scale, _, left, _] = numbers[..] else { panic!("{transform}") };
        let from = x - left * scale;
        let to = from + f64::from(font.set(text).1) * scale;
        assert!(
            from >= 0.0 && to <= width && y >= 0.0 && y <= height,
            "{text}: {from} to {to} of {width}, {y} of {height}"
        );
    }
}

#[test]
fn svg__many_schemes_with_long_names_stay_inside() {
    let one = plot(Base::ZeroOrLog, &[1.0, 2.0, 3.0]).series.swap_remove(0);
    let name = |scheme: usize| {
        format!("a scheme with number {scheme} and a name that is longer than most names of schemes are")
    };
    let series = (0..30).map(|scheme| Series { scheme, label: name(scheme), ..one.clone() }).collect();
    let names = Places::Names((0..3).map(name).collect());
    let by_name = XAxis { name: name(0).repeat(3), unit: String::new(), places: names };
    let named = Plot { title: name(0).repeat(4), x: by_name, series, ..plot(Base::Ratio, &[]) };
    for columns in [1, 2] {
        assert_inside(&drawn(&figure(vec![named.clone(), plot(Base::Zero, &[1e-9, 1e9]), named.clone()]), columns));
    }
}

/// Asserts that a drawing with this name everywhere and these values is valid XML.
fn assert_drawn(name: &str, values: &[f64], base: Base) {
    let mut plot = plot(base, values);
    for place in [&mut plot.title, &mut plot.x.name, &mut plot.y.name, &mut plot.series[0].label] {
        name.clone_into(place);
    }
    let figure = Figure { title: name.to_owned(), plots: vec![plot] };
    let svg = svg(&figure, 1).unwrap();
    assert!(pdf(&figure, 1).unwrap().starts_with(b"%PDF"));
    assert!(!svg.chars().any(|letter| letter.is_control() && letter != '\n'));
    assert_inside(&svg);
}

#[test]
fn svg__of_a_value_next_to_nothing() {
    assert_drawn("", &[8.261575576945065e-194], Base::Zero);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn svg__no_name_and_no_value_breaks_it(
        name in "(?s).{0,60}",
        values in proptest::collection::vec(proptest::num::f64::ANY, 1..5),
        base in proptest::sample::select(vec![Base::Zero, Base::ZeroOrLog, Base::Ratio]),
    ) {
        assert_drawn(&name, &values, base);
    }
}
