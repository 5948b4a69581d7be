//! The keys of one claim.

use super::Places;
use super::expected::{claimed_order, claimed_ratio, claimed_value, share};
use crate::claim::{Claim, Expected, Unmeasured, WhyTest};
use flowsieve_results::measured::Quantity;
use flowsieve_results::{Axis, CoflowClass, Figure, Only, SeriesAt, SizeClass};
use flowsieve_settings::{
    Key, Keys, Kind, MAX_TIME_PS, Origin, Raw, Section, SettingsError as Wrong, Value as Setting, one_of,
};

/// The default difference allowed between a measured and a stated value.
const TOLERANCE: f64 = 0.05;

/// Those of a claim, with spaces between.
pub(super) const KEYS: &str = "id where metric series of time class baseline_class workload deadline started senders scheme \
    baseline schemes load at claimed tolerance stand_in repeats reading acts contradicts why ideal why_test unmeasured note";

/// The keys of a claim that is not measured.
const OF_UNMEASURED: [&str; 5] = ["id", "where", "claimed", "unmeasured", "note"];

const STRETCH: &str = "two rising times, such as [\"5s\", \"35s\"]";

const SENDERS: &str = "two rising host numbers, such as [4, 16]: the first is included, the second is not";

/// The value of a claim's key.
pub(super) enum Value {
    Raw(Raw),
    /// `at`: name and value, with the place of each.
    At(Vec<(String, Raw, Origin)>),
}

/// The given keys, in their order.
pub(super) struct Fields<'a> {
    /// The settings that may be swept.
    pub(super) settings: &'a Keys,
    /// Where the table begins.
    pub(super) origin: Origin,
    pub(super) given: Vec<(String, Origin, Value)>,
}

/// The schemes of a claim with their places.
type Names = Vec<(Origin, String)>;

impl Fields<'_> {
    /// Reads a claim that is listed and not measured, if it is one.
    pub(super) fn unmeasured(&self) -> Result<Option<Unmeasured>, Wrong> {
        if self.find("unmeasured").is_none() {
            return Ok(None);
        }
        if let Some((name, origin, _)) = self.given.iter().find(|(name, ..)| !OF_UNMEASURED.contains(&name.as_str())) {
            let problem = format!("`{name}` has no effect in a claim that is not measured");
            return Err(Wrong::new(origin.clone(), problem).expected(one_of(&OF_UNMEASURED)));
        }
        Ok(Some(Unmeasured {
            id: self.text("id")?.1,
            place: self.optional_text("where")?,
            claimed: self.text("claimed")?.1,
            why: self.text("unmeasured")?.1,
            note: self.optional_text("note")?,
        }))
    }

    /// Reads a claim that is measured.
    pub(super) fn claim(&self) -> Result<(Claim, Places), Wrong> {
        let figure = self.figure()?;
        let series = self.series(figure)?;
        if let Some((origin, _)) = self.find("class").filter(|_| !figure.has_classes()) {
            let problem = format!("`{}` describes whole runs", figure.name());
            return Err(Wrong::new(origin.clone(), problem).expected("a metric of flows, or all flows"));
        }
        let of_flows = ["workload", "deadline", "started", "senders"].into_iter().find_map(|name| self.find(name));
        if let Some((origin, _)) = of_flows.filter(|_| !figure.is_of_flows()) {
            let of = if figure.has_classes() { "coflows" } else { "whole runs" };
            let problem = format!("`{}` describes {of}", figure.name());
            return Err(Wrong::new(origin.clone(), problem).expected("a metric of flows, or all flows"));
        }
        let coflow_class = if figure.is_of_coflows() { self.coflow_class("class")? } else { None };
        let baseline_class = self.baseline_class(coflow_class)?;
        let names = self.names()?;
        let unit = series.as_ref().map_or(figure.unit(), SeriesAt::unit);
        let stated = |origin: &Origin, raw: &Raw| match names.len() {
            _ if self.find("schemes").is_some() => claimed_order(origin, raw),
            1 if baseline_class.is_none() => claimed_value(unit, origin, raw),
            _ => claimed_ratio(origin, raw),
        };
        let (origin, raw) = self.needed("claimed")?;
        let (expected, why_test) = (stated(origin, raw)?, self.why_test(stated)?);
        let tolerance = self.tolerance(expected)?;
        if let Some((origin, _)) = self.find("reading").filter(|_| self.find("repeats").is_none()) {
            let problem = "a reading needs a claim that reads the same words literally";
            return Err(Wrong::new(origin.clone(), problem).expected("`repeats` with the `id` of that claim"));
        }
        let ideal = self.find("ideal").map(|_| self.text("ideal")).transpose()?;
        if let Some((origin, _)) = ideal.as_ref().filter(|_| expected.direction(1.0).is_none() || names.len() != 2) {
            let problem = "no scheme does best what this claim is about: it is no change to one side";
            return Err(Wrong::new(origin.clone(), problem).expected("`ideal` with a change of one scheme's figure"));
        }
        let (mut schemes, mut names): (Vec<Origin>, Vec<String>) = names.into_iter().unzip();
        let ideal = ideal.map(|(origin, name)| {
            schemes.push(origin);
            name
        });
        Ok((
            Claim {
                id: self.text("id")?.1,
                place: self.optional_text("where")?,
                quantity: Quantity {
                    figure,
                    series,
                    class: if coflow_class.is_some() { SizeClass::between(0, None) } else { self.class()? },
                    only: self.only()?,
                    coflow_class,
                },
                baseline_class,
                scheme: names.remove(0),
                baselines: names,
                loads: self.loads()?,
                at: self.at()?,
                expected,
                tolerance,
                note: self.optional_text("note")?,
                stand_in: self.text_if_any("stand_in")?,
                repeats: self.text_if_any("repeats")?,
                reading: self.text_if_any("reading")?,
                acts: self.acts()?,
                contradicts: self.text_if_any("contradicts")?,
                why: self.text_if_any("why")?,
                ideal,
                why_test,
            },
            Places { table: self.origin.clone(), schemes },
        ))
    }

    /// Reads the test of the cause: `{ set = "path=value", expect = ... }`, where what is expected has the form of `claimed`.
    fn why_test(&self, stated: impl Fn(&Origin, &Raw) -> Result<Expected, Wrong>) -> Result<Option<WhyTest>, Wrong> {
        let Some((origin, value)) = self.find("why_test") else { return Ok(None) };
        let form = "why_test = { set = \"path=value\", expect = \"-10%\" }, or a list of these for `set`";
        let wrong = |problem: String| Wrong::new(origin.clone(), problem).expected(form);
        self.find("why").ok_or_else(|| wrong("`why_test` tests a cause, and this claim has no `why`".into()))?;
        let Value::At(given) = value else { return Err(wrong("`why_test` is not a table".into())) };
        let (mut set, mut expect) = (Vec::new(), None);
        for (name, raw, origin) in given {
            match (name.as_str(), raw) {
                ("set", Raw::Text(one)) => set = vec![one.clone()],
                ("set", raw) => match Kind::TextList.read("set", raw, origin)? {
                    Setting::TextList(several) => set = several,
                    _ => return Err(wrong(format!("`set` cannot be {raw}"))),
                },
                ("expect", raw) => expect = Some(stated(origin, raw)?),
                (other, _) => return Err(wrong(format!("unknown key `{other}` in `why_test`"))),
            }
        }
        match expect {
            Some(expect) if !set.is_empty() => Ok(Some(WhyTest { set, expect })),
            Some(_) => Err(wrong("`why_test` has no `set`".into())),
            None => Err(wrong("`why_test` has no `expect`, which is stated before its runs".into())),
        }
    }

    /// Reads the scheme and what it is compared with: at least one, and none twice.
    fn names(&self) -> Result<Names, Wrong> {
        let names = match self.raw("schemes")? {
            None if self.find("baseline").is_none() => return Ok(vec![self.text("scheme")?]),
            None => vec![self.text("scheme")?, self.text("baseline")?],
            Some((origin, raw)) => {
                if let Some((other, _)) = self.find("scheme").or(self.find("baseline")) {
                    let problem = "`schemes` replaces `scheme` and `baseline`";
                    return Err(Wrong::new(other.clone(), problem).expected("one or the other"));
                }
                match (Kind::TextList.read("schemes", raw, origin)?, raw) {
                    (Setting::TextList(names), Raw::List(items)) if names.len() > 1 => {
                        items.iter().map(|(_, origin)| origin.clone()).zip(names).collect()
                    }
                    _ => {
                        return Err(
                            Wrong::new(origin.clone(), "an order needs several schemes").expected("at least two")
                        );
                    }
                }
            }
        };
        let twice = |(at, (_, name)): &(usize, &(Origin, String))| names[..*at].iter().any(|(_, other)| other == name);
        if let Some((_, (origin, _))) = names.iter().enumerate().find(twice) {
            return Err(Wrong::new(origin.clone(), "a scheme cannot be its own baseline").expected("another scheme"));
        }
        Ok(names)
    }

    fn series(&self, figure: Figure) -> Result<Option<SeriesAt>, Wrong> {
        if figure != Figure::Series {
            let of_series = ["series", "of", "time"].into_iter().find_map(|name| Some((name, self.find(name)?.0)));
            return match of_series {
                None => Ok(None),
                Some((name, origin)) => {
                    let problem = format!("`{name}` has no effect without `metric = \"series\"`");
                    Err(Wrong::new(origin.clone(), problem).expected("metric = \"series\""))
                }
            };
        }
        let (at_ps, until_ps) = match self.raw("time")? {
            None => (None, None),
            Some((origin, raw @ Raw::List(_))) => {
                let (from, until) = stretch("time", raw, origin)?;
                (Some(from), Some(until))
            }
            Some((origin, raw)) => (Some(time("time", raw, origin)?), None),
        };
        Ok(Some(SeriesAt { name: self.text("series")?.1, of: self.optional_text("of")?, at_ps, until_ps }))
    }

    /// Reads which flows of the class the claim is about.
    fn only(&self) -> Result<Only, Wrong> {
        let wrong = |origin: &Origin, name: &str, raw: &Raw, expected: &str| {
            Wrong::new(origin.clone(), format!("`{name}` cannot be {raw}")).expected(expected)
        };
        let workload = match self.raw("workload")? {
            None => None,
            Some((_, Raw::Integer(class @ 0..=255))) => u8::try_from(*class).ok(),
            Some((origin, raw)) => return Err(wrong(origin, "workload", raw, "a whole number, 0 to 255")),
        };
        let deadline = match self.raw("deadline")? {
            None => None,
            Some((_, Raw::Flag(deadline))) => Some(*deadline),
            Some((origin, raw)) => return Err(wrong(origin, "deadline", raw, "true or false")),
        };
        let started_ps = match self.raw("started")? {
            None => None,
            Some((origin, raw)) => Some(stretch("started", raw, origin)?),
        };
        let senders = match self.raw("senders")? {
            None => None,
            Some((origin, raw)) => {
                let number = |(raw, _): &(Raw, Origin)| match raw {
                    Raw::Integer(number) => u32::try_from(*number).ok(),
                    _ => None,
                };
                let numbers: Option<Vec<u32>> = match raw {
                    Raw::List(items) => items.iter().map(number).collect(),
                    _ => None,
                };
                match numbers.as_deref() {
                    Some(&[from, to]) if from < to => Some((from, to)),
                    _ => return Err(wrong(origin, "senders", raw, SENDERS)),
                }
            }
        };
        Ok(Only { workload, deadline, started_ps, senders })
    }

    fn find(&self, name: &str) -> Option<(&Origin, &Value)> {
        self.given.iter().find(|(given, ..)| given == name).map(|(_, origin, value)| (origin, value))
    }

    fn raw(&self, name: &str) -> Result<Option<(&Origin, &Raw)>, Wrong> {
        match self.find(name) {
            None => Ok(None),
            Some((origin, Value::Raw(raw))) => Ok(Some((origin, raw))),
            Some((origin, Value::At(_))) => {
                Err(Wrong::new(origin.clone(), format!("`{name}` cannot be a table")).expected("a value"))
            }
        }
    }

    fn needed(&self, name: &str) -> Result<(&Origin, &Raw), Wrong> {
        let missing = || {
            Wrong::new(self.origin.clone(), format!("this claim has no `{name}`")).expected(format!("`{name} = ...`"))
        };
        self.raw(name)?.ok_or_else(missing)
    }

    fn text(&self, name: &str) -> Result<(Origin, String), Wrong> {
        match self.needed(name)? {
            (origin, Raw::Text(text)) if !text.is_empty() => Ok((origin.clone(), text.clone())),
            (origin, other) => {
                Err(Wrong::new(origin.clone(), format!("`{name}` cannot be {other}")).expected("a text"))
            }
        }
    }

    fn text_if_any(&self, name: &str) -> Result<Option<String>, Wrong> {
        self.find(name).map(|_| Ok(self.text(name)?.1)).transpose()
    }

    fn optional_text(&self, name: &str) -> Result<String, Wrong> {
        Ok(self.text_if_any(name)?.unwrap_or_default())
    }

    fn figure(&self) -> Result<Figure, Wrong> {
        self.figure_among("metric", "metric", Figure::all)
    }

    /// Reads what has to be counted before the claim is judged.
    fn acts(&self) -> Result<Option<Figure>, Wrong> {
        let counts = || Figure::all().filter(|figure| figure.idle().is_some() && !figure.has_classes());
        self.find("acts").map(|_| self.figure_among("acts", "count of whole runs", counts)).transpose()
    }

    /// Reads a figure by its name.
    fn figure_among<I: Iterator<Item = Figure>>(
        &self,
        key: &str,
        kind: &str,
        all: impl Fn() -> I,
    ) -> Result<Figure, Wrong> {
        let (origin, name) = self.text(key)?;
        let names: Vec<String> = all().map(Figure::name).collect();
        all().find(|figure| figure.name() == name).ok_or_else(|| {
            let expected = one_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
            Wrong::new(origin, format!("there is no {kind} `{name}`")).expected(expected).names(name, names)
        })
    }

    fn class(&self) -> Result<SizeClass, Wrong> {
        if self.find("class").is_none() {
            return Ok(SizeClass::between(0, None));
        }
        let (origin, name) = self.text("class")?;
        SizeClass::parse(&name).ok_or_else(|| {
            Wrong::new(origin, format!("{name:?} is not a size class")).expected(
                "such as \"0-100KB\", \">10MB\" or \"all\"; for a metric of coflows \"SN\", \"LN\", \"SW\" or \"LW\"",
            )
        })
    }

    /// Reads a class of coflows; `None` if the key is missing, or names no such class.
    fn coflow_class(&self, key: &str) -> Result<Option<CoflowClass>, Wrong> {
        if self.find(key).is_none() { Ok(None) } else { Ok(CoflowClass::parse(&self.text(key)?.1)) }
    }

    /// Reads the other class of coflows that these are compared with.
    fn baseline_class(&self, coflow_class: Option<CoflowClass>) -> Result<Option<CoflowClass>, Wrong> {
        const KEY: &str = "baseline_class";
        let Some((origin, _)) = self.find(KEY) else { return Ok(None) };
        if coflow_class.is_none() || self.find("schemes").is_some() {
            let problem = "a class of coflows is compared with another class of coflows";
            return Err(Wrong::new(origin.clone(), problem).expected("a metric of coflows, and such a `class`"));
        }
        let class = self.coflow_class(KEY)?.filter(|class| Some(*class) != coflow_class);
        let wrong = || Wrong::new(origin.clone(), format!("`{KEY}` is not another class of coflows"));
        Ok(Some(class.ok_or_else(|| wrong().expected("\"SN\", \"LN\", \"SW\" or \"LW\", but not that of `class`"))?))
    }

    fn loads(&self) -> Result<Vec<f64>, Wrong> {
        let wrong = |origin: &Origin, raw: &Raw| {
            Wrong::new(origin.clone(), format!("`load` cannot be {raw}")).expected("a load of the sweep, or several")
        };
        let one = |raw: &Raw, origin: &Origin| match raw {
            Raw::Float(load) => Ok(*load),
            Raw::Integer(load) => Ok(*load as f64),
            other => Err(wrong(origin, other)),
        };
        match self.raw("load")? {
            None => Ok(Vec::new()),
            Some((_, Raw::List(loads))) => loads.iter().map(|(raw, origin)| one(raw, origin)).collect(),
            Some((origin, raw)) => Ok(vec![one(raw, origin)?]),
        }
    }

    fn at(&self) -> Result<Vec<Axis>, Wrong> {
        let Some((origin, value)) = self.find("at") else { return Ok(Vec::new()) };
        let Value::At(axes) = value else {
            return Err(
                Wrong::new(origin.clone(), "`at` is not a table").expected("at = { \"topology.rtt\" = \"80us\" }")
            );
        };
        let axis = |(name, raw, origin): &(String, Raw, Origin)| {
            let key = self.settings.find(name.rsplit('.').next().unwrap_or(name)).filter(|key| {
                let path = format!("{}.{}", key.section.path(), key.name);
                *name == path || name == key.name || is_of_workload(name, key)
            });
            let key = key.ok_or_else(|| {
                Wrong::new(origin.clone(), format!("unknown key `{name}`"))
                    .expected("a swept key by its name or path")
                    .names(name.as_str(), self.settings.iter().map(|key| key.name))
            })?;
            // As results name the axes of a point.
            let value = key.kind.read(key.name, raw, origin)?.to_string();
            let key =
                if is_of_workload(name, key) { name.clone() } else { format!("{}.{}", key.section.path(), key.name) };
            Ok(Axis { key, value })
        };
        axes.iter().map(axis).collect()
    }

    fn tolerance(&self, expected: Expected) -> Result<f64, Wrong> {
        let Some((origin, _)) = self.find("tolerance") else { return Ok(TOLERANCE) };
        if matches!(expected, Expected::Lower | Expected::Higher | Expected::Rising) {
            let problem = "\"lower\", \"higher\" and \"rising\" take no tolerance";
            return Err(Wrong::new(origin.clone(), problem).expected("no `tolerance`"));
        }
        let (origin, text) = self.text("tolerance")?;
        share(&text).filter(|share| *share >= 0.0).ok_or_else(|| {
            Wrong::new(origin, format!("`tolerance` cannot be {text:?}")).expected("a share such as \"5%\"")
        })
    }
}

/// Reads a time in ps.
fn time(key: &str, raw: &Raw, origin: &Origin) -> Result<u64, Wrong> {
    match Kind::Time(0, MAX_TIME_PS).read(key, raw, origin)? {
        Setting::Time(ps) => Ok(ps),
        other => Err(Wrong::new(origin.clone(), format!("`{key}` cannot be {other}")).expected("a time")),
    }
}

/// Reads two times in ps, the first below the second.
fn stretch(key: &str, raw: &Raw, origin: &Origin) -> Result<(u64, u64), Wrong> {
    let wrong = || Wrong::new(origin.clone(), format!("`{key}` cannot be {raw}")).expected(STRETCH);
    let Raw::List(times) = raw else { return Err(wrong()) };
    let times = times.iter().map(|(raw, origin)| time(key, raw, origin));
    match times.collect::<Result<Vec<_>, _>>()?.as_slice() {
        &[from, to] if from < to => Ok((from, to)),
        _ => Err(wrong()),
    }
}

/// Returns whether a name is the path of a key of one of several workloads.
fn is_of_workload(name: &str, key: &Key) -> bool {
    let workload = name.strip_prefix("workload.").and_then(|rest| rest.strip_suffix(key.name)?.strip_suffix('.'));
    key.section == Section::Workload && workload.is_some_and(|workload| !workload.is_empty() && !workload.contains('.'))
}
