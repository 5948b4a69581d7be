//! What a paper claims, as an experiment file holds it: tables `[[claims]]`.
//!
//! ```toml
//! [[claims]]
//! id = "qcluster-20"
//! where = "Fig 13a"
//! metric = "mean fct"       # a statistic of FCT or slowdown, or a count: see Figure
//! class = "0-100KB"         # all, unless given
//! scheme = "qc-srpt"
//! baseline = "pfabric"
//! load = [0.5, 0.6]         # all loads of the sweep, unless given
//! claimed = "-11.3%"        # or ["-44%", "-22%"], "up to -23%", "lower", "higher"
//! tolerance = "5%"          # how far off a measured change may be
//! ```
//!
//! `at` narrows a claim to values of other swept keys, `note` says what else there is to it.

use crate::document::{Wrong, entries, raw_value, tables};
use crate::source::Source;
use flowsieve_results::{Axis, Claim, Expected, Experiment, Figure, SizeClass};
use flowsieve_schemes::settings::{KEYS as SETTINGS, Origin, Raw, find, one_of};
use toml_edit::Item;

/// How much a measured change may differ from a stated one where the file does not say, as a share of the baseline.
const TOLERANCE: f64 = 0.05;

/// More claims than any paper makes.
const MOST: usize = 1_000;

const KEYS: [&str; 11] =
    ["id", "where", "metric", "class", "scheme", "baseline", "load", "at", "claimed", "tolerance", "note"];

/// A claim with the places of what depends on the sweep.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) claim: Claim,
    table: Origin,
    scheme: Origin,
    baseline: Origin,
}

/// Reads the tables.
pub(crate) fn read(source: &Source, item: &Item, origin: &Origin) -> Result<Vec<Given>, Wrong> {
    let mut claims: Vec<Given> = Vec::new();
    for table in tables("claims", "[[claims]]", item, origin)? {
        let mut fields = Fields { origin: origin.clone(), given: Vec::new() };
        for (name, key, item) in entries(table) {
            let at = source.origin(key);
            if fields.given.is_empty() {
                fields.origin = at.clone();
            }
            if !KEYS.contains(&name) {
                let problem = format!("unknown key `{name}` in [[claims]]");
                return Err(Wrong::new(at, problem).expected(one_of(&KEYS)).names(name, KEYS));
            }
            fields.given.push((name.to_owned(), source.origin(item.span()), value(source, item)));
        }
        let given = fields.claim()?;
        if claims.iter().any(|other| other.claim.id == given.claim.id) {
            let problem = format!("there is another claim {:?}", given.claim.id);
            return Err(Wrong::new(given.table, problem).expected("an id of its own"));
        }
        claims.push(given);
    }
    if claims.len() > MOST {
        return Err(Wrong::new(origin.clone(), format!("there are {} claims", claims.len()))
            .expected(format!("{MOST} at most")));
    }
    Ok(claims)
}

/// What a key of a claim holds.
enum Value {
    Raw(Raw),
    /// `at`: name and value, with the place of each.
    At(Vec<(String, Raw, Origin)>),
}

fn value(source: &Source, item: &Item) -> Value {
    let raw = |item: &Item| match item {
        Item::Value(value) => raw_value(value, &|span| source.origin(span)),
        _ => Raw::Other("a table"),
    };
    match item.as_table_like() {
        Some(table) => {
            let axis = |(name, key, item): (&str, _, &Item)| (name.to_owned(), raw(item), source.origin(key));
            Value::At(entries(table).into_iter().map(axis).collect())
        }
        None => Value::Raw(raw(item)),
    }
}

struct Fields {
    /// Where the table begins.
    origin: Origin,
    given: Vec<(String, Origin, Value)>,
}

impl Fields {
    fn claim(&self) -> Result<Given, Wrong> {
        let figure = self.figure()?;
        let class = match self.find("class") {
            Some((origin, _)) if matches!(figure, Figure::Count(_)) => {
                return Err(
                    Wrong::new(origin.clone(), format!("`{}` is of whole runs", figure.name())).expected("no `class`")
                );
            }
            _ => self.class()?,
        };
        let (scheme, baseline) = (self.text("scheme")?, self.text("baseline")?);
        if scheme.1 == baseline.1 {
            return Err(Wrong::new(baseline.0.clone(), "a scheme is no baseline of itself").expected("another scheme"));
        }
        Ok(Given {
            claim: Claim {
                id: self.text("id")?.1,
                place: self.optional_text("where")?,
                figure,
                class,
                scheme: scheme.1,
                baseline: baseline.1,
                loads: self.loads()?,
                at: self.at()?,
                expected: self.expected()?,
                tolerance: self.tolerance()?,
                note: self.optional_text("note")?,
            },
            table: self.origin.clone(),
            scheme: scheme.0,
            baseline: baseline.0,
        })
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

    fn optional_text(&self, name: &str) -> Result<String, Wrong> {
        if self.find(name).is_none() { Ok(String::new()) } else { Ok(self.text(name)?.1) }
    }

    fn figure(&self) -> Result<Figure, Wrong> {
        let (origin, name) = self.text("metric")?;
        let names: Vec<String> = Figure::all().map(Figure::name).collect();
        Figure::all().find(|figure| figure.name() == name).ok_or_else(|| {
            let expected = one_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
            Wrong::new(origin, format!("there is no metric `{name}`")).expected(expected).names(name, names)
        })
    }

    fn class(&self) -> Result<SizeClass, Wrong> {
        if self.find("class").is_none() {
            return Ok(SizeClass::between(0, None));
        }
        let (origin, name) = self.text("class")?;
        SizeClass::parse(&name).ok_or_else(|| {
            Wrong::new(origin, format!("{name:?} is no size class"))
                .expected("such as \"0-100KB\", \"100KB-10MB\", \">10MB\" or \"all\"")
        })
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
            return Err(Wrong::new(origin.clone(), "`at` is no table").expected("at = { \"topology.rtt\" = \"80us\" }"));
        };
        let axis = |(name, raw, origin): &(String, Raw, Origin)| {
            let key = find(name.rsplit('.').next().unwrap_or(name)).filter(|key| {
                let path = format!("{}.{}", key.section.path(), key.name);
                *name == path || name == key.name
            });
            let key = key.ok_or_else(|| {
                Wrong::new(origin.clone(), format!("unknown key `{name}`"))
                    .expected("a swept key by its name or path")
                    .names(name.as_str(), SETTINGS.iter().map(|key| key.name))
            })?;
            // As results name the axes of a point.
            let value = key.kind.read(key.name, raw, origin)?.to_string();
            Ok(Axis { key: format!("{}.{}", key.section.path(), key.name), value })
        };
        axes.iter().map(axis).collect()
    }

    fn expected(&self) -> Result<Expected, Wrong> {
        let (origin, raw) = self.needed("claimed")?;
        let wrong = |origin: &Origin| {
            Wrong::new(origin.clone(), format!("`claimed` cannot be {raw}"))
                .expected("a change such as \"-6.3%\", two of them that rise, \"up to -23%\", \"lower\" or \"higher\"")
        };
        match raw {
            Raw::Text(text) => {
                let expected = match (text.as_str(), text.strip_prefix("up to ")) {
                    ("lower", _) => Some(Expected::Lower),
                    ("higher", _) => Some(Expected::Higher),
                    (_, Some(change)) => share(change).filter(|&change| change != 0.0).map(Expected::UpTo),
                    _ => share(text).map(Expected::Change),
                };
                expected.ok_or_else(|| wrong(origin))
            }
            Raw::List(ends) => match ends.as_slice() {
                [(Raw::Text(low), _), (Raw::Text(high), _)] => match (share(low), share(high)) {
                    (Some(low), Some(high)) if low <= high => Ok(Expected::Between(low, high)),
                    _ => Err(wrong(origin)),
                },
                _ => Err(wrong(origin)),
            },
            _ => Err(wrong(origin)),
        }
    }

    fn tolerance(&self) -> Result<f64, Wrong> {
        if self.find("tolerance").is_none() {
            return Ok(TOLERANCE);
        }
        let (origin, text) = self.text("tolerance")?;
        share(&text).filter(|share| *share >= 0.0).ok_or_else(|| {
            Wrong::new(origin, format!("`tolerance` cannot be {text:?}")).expected("a share such as \"5%\"")
        })
    }
}

/// A number of per cent, with its sign, as a share.
fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let digits = number.trim_start_matches(['+', '-']);
    let plain = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let per_cent: f64 = number.parse().ok().filter(|_| plain)?;
    Some(per_cent / 100.0).filter(|share| share.abs() <= 1_000.0)
}

/// Whether the sweep has what the claims are about.
pub(crate) fn check(claims: &[Given], experiment: &Experiment) -> Result<(), Wrong> {
    let names = || experiment.schemes.iter().map(|scheme| scheme.name.clone());
    for given in claims {
        let claim = &given.claim;
        for (name, origin) in [(&claim.scheme, &given.scheme), (&claim.baseline, &given.baseline)] {
            if !names().any(|known| known == *name) {
                return Err(Wrong::new(origin.clone(), format!("the sweep has no scheme `{name}`"))
                    .expected("a scheme of the sweep")
                    .names(name, names()));
            }
        }
        let has = |load: &f64| experiment.points.iter().any(|point| point.load == Some(*load));
        if let Some(load) = claim.loads.iter().find(|load| !has(load)) {
            return Err(Wrong::new(
                given.table.clone(),
                format!("the sweep has no load {load}, of which this claim is"),
            )
            .expected("loads of the sweep"));
        }
        if let Some(axis) = claim.at.iter().find(|axis| !experiment.points.iter().any(|at| at.axes.contains(axis))) {
            let swept = experiment.points.iter().flat_map(|point| &point.axes);
            let mut swept: Vec<String> = swept.map(|axis| format!("{} = {}", axis.key, axis.value)).collect();
            swept.dedup();
            let given_as = format!("{} = {}", axis.key, axis.value);
            return Err(Wrong::new(given.table.clone(), format!("the sweep has no {given_as}"))
                .expected("a swept key by its path, with one of its values")
                .names(given_as, swept));
        }
    }
    Ok(())
}
