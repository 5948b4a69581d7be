//! The parameter sets: where a setting's value comes from if neither a file nor the scheme has one. A set is a file in
//! `sets`. Most of what it says are values of settings; the rest no setting says ([`Silent`]).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use flowsieve_settings::toml::{Entry, Text, flat};
use flowsieve_settings::{Layer, Origin, Raw, Scope, Section, Setting, SettingsError, declare};
use flowsieve_transport::tcp::params::{Restart, WindowRule};

declare! {
    /// The source of defaults; the same for all schemes.
    pub static PARAMETERS: Setting<&'static str> = Setting::choice(
        Section::Run,
        "parameters",
        &[("ns2", "ns2"), ("rfc", "rfc"), ("scaled", "scaled"), ("linux", "linux")],
        "parameter set of transports and hosts: that of the papers, that of today's standards, that of the papers \
         with windows, buffers and K for the fabric's rate and round trip, or that of Linux",
    )
    .with_default("ns2")
    .selects(layer);
}

/// A parameter set.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    /// The name that settings use.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: String,
    /// Its values of settings.
    pub layer: Layer,
    /// What of it no setting says.
    pub silent: Silent,
    /// The settings whose defaults follow the fabric, each with the rule in words.
    pub scaled: BTreeMap<String, String>,
    /// The words of what no setting says, by name.
    pub words: BTreeMap<String, String>,
}

/// What a set decides and no setting says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent {
    /// What a window limits. Under ns-2's rule windows have fractions, and are cut at once and by half.
    pub window: WindowRule,
    /// Whether the largest window is a packet less than the port's buffer, as in ns-2's scripts, unless one is stated.
    pub fits_buffer: bool,
    /// Whether marks leave two packets of a window (`dctcp_ssthresh` in Linux's `tcp_dctcp.c`), and not one (`slowdown` in ns-2's
    /// `tcp.cc`).
    pub keeps_two: bool,
    /// Where the window of an idle connection starts again.
    pub restart: Restart,
    /// What `loss_detection = "auto"` means.
    pub losses: Losses,
    /// Whether the first timeout is `rto_min`, as in ns-2 (`rtxcur_init_`), and not a second (RFC 6298, §2.1).
    pub begins_at_rto_min: bool,
    /// Whether ports may mark ACKs where the transport needs marks (`tcp_ecn_send` in Linux's `tcp_output.c`).
    pub marks_acks: bool,
}

/// What finds losses if `loss_detection` is "auto". Where flows are not sprayed, duplicate ACKs do, unless it is by probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// Where flows are sprayed, nothing but timeouts.
    ByTimeouts,
    /// Where flows are sprayed, times: RACK.
    ByTimes,
    /// Times and probes of the tail, everywhere.
    ByProbes,
}

macro_rules! files {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../sets/", $name, ".toml")))),*] };
}

/// A set stands after the one that it builds on.
const FILES: [(&str, &str); 4] = files!("ns2", "rfc", "scaled", "linux");

static SETS: LazyLock<Vec<ParameterSet>> = LazyLock::new(|| {
    let mut sets: Vec<ParameterSet> = Vec::new();
    for (name, text) in FILES {
        let set = read(name, text, &sets).unwrap_or_else(|error| unreachable!("sets/{name}.toml: {error}"));
        sets.push(set);
    }
    sets
});

/// Returns every parameter set.
pub fn all() -> &'static [ParameterSet] {
    &SETS
}

/// Reads the set that holds for all schemes.
pub fn of(scope: &Scope<'_>) -> Result<&'static ParameterSet, SettingsError> {
    let name = scope.common().read(&PARAMETERS)?;
    all().iter().find(|set| set.name == name).ok_or_else(|| scope.invalid(&PARAMETERS, PARAMETERS.kind.expects()))
}

fn layer(name: Option<&str>) -> Option<(&'static str, &'static Layer)> {
    let name = name.or_else(|| PARAMETERS.default())?;
    all().iter().find(|set| set.name == name).map(|set| (set.name, &set.layer))
}

fn read(name: &'static str, text: &str, before: &[ParameterSet]) -> Result<ParameterSet, String> {
    let entries = flat(&Text::new(name, text)).map_err(|error| error.to_string())?;
    let word = |name: &str| entries.iter().find(|entry| entry.table.is_none() && entry.name == name).map(in_words);
    let base = word("base").and_then(|base| before.iter().find(|set| set.name == base));
    let mut layer = base.map(|base| base.layer.clone()).unwrap_or_default();
    let mut words = base.map(|base| base.words.clone()).unwrap_or_default();
    let mut scaled = BTreeMap::new();
    for entry in &entries {
        match entry.table.as_deref() {
            None if ["base", "summary"].contains(&entry.name.as_str()) => {}
            None => layer.put(None, &entry.name, entry.value.clone(), Origin::Default),
            Some("silent") => drop(words.insert(entry.name.clone(), in_words(entry))),
            Some("scaled") => drop(scaled.insert(entry.name.clone(), in_words(entry))),
            Some(other) => return Err(format!("[{other}]")),
        }
    }
    let summary = word("summary").ok_or("no summary")?;
    Ok(ParameterSet { name, summary, layer, silent: silent(&words)?, scaled, words })
}

fn in_words(entry: &Entry) -> String {
    match &entry.value {
        Raw::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

fn silent(words: &BTreeMap<String, String>) -> Result<Silent, String> {
    /// Returns what the text of a word means.
    fn meant<T: Copy>(words: &BTreeMap<String, String>, name: &str, meanings: [(&str, T); 2]) -> Result<T, String> {
        let text = words.get(name).ok_or_else(|| format!("no `{name}`"))?;
        let meaning = meanings.iter().find(|(meaning, _)| meaning == text);
        meaning.map(|(_, value)| *value).ok_or_else(|| format!("`{name}` = {text}"))
    }
    let losses = match words.get("losses").map(String::as_str) {
        Some("by times and probes") => Losses::ByProbes,
        _ => meant(
            words,
            "losses",
            [
                ("by timeouts where flows are sprayed", Losses::ByTimeouts),
                ("by times where flows are sprayed", Losses::ByTimes),
            ],
        )?,
    };
    Ok(Silent {
        window: meant(
            words,
            "window",
            [("from the cumulative ACK", WindowRule::FromCumulative), ("of packets in flight", WindowRule::Pipe)],
        )?,
        fits_buffer: meant(words, "largest_window", [("a packet less than the port's buffer", true), ("4096", false)])?,
        keeps_two: meant(words, "smallest_window", [("2 where marks act", true), ("1", false)])?,
        restart: meant(
            words,
            "idle_restart",
            [
                ("from the initial window", Restart::Initial),
                ("at most from the initial window", Restart::AtMostInitial),
            ],
        )?,
        losses,
        begins_at_rto_min: meant(words, "first_timeout", [("rto_min", true), ("1s", false)])?,
        marks_acks: meant(words, "acks_marked", [("where the transport needs marks", true), ("no", false)])?,
    })
}
