//! Options of the command as types of Python, and as rows of tables.

use clap::{Arg, ArgAction, Command};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::overrides;
use std::any::TypeId;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::PathBuf;

/// Words that cannot be the name of a parameter.
const KEYWORDS: [&str; 9] = ["as", "class", "from", "import", "in", "is", "not", "return", "with"];

/// The text of `_options.py`.
pub(crate) fn python(groups: &[(&str, Command)]) -> String {
    let mut text = String::from(
        "\"\"\"The options of calls. `make generate` writes this file from crates/flowsieve/src/options.rs.\"\"\"\n\n\
         from collections.abc import Sequence\nfrom typing import Annotated, Literal, TypedDict\n\n\
         from flowsieve._folders import PathLike\nfrom flowsieve._option import Option\n",
    );
    for (name, command) in groups {
        let _ = write!(text, "\n\nclass {name}(TypedDict, total=False):\n");
        for arg in command.get_arguments() {
            let parameter = Parameter::of(arg);
            let _ = writeln!(text, "    {}: Annotated[\n        {},", parameter.name, parameter.hint);
            let _ = writeln!(text, "        Option({}),\n    ]", parameter.fields.join(", "));
        }
    }
    let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
    let _ = write!(text, "\n\nGROUPS: tuple[type, ...] = ({})\n", names.join(", "));
    text
}

/// The text of `_settings.py`: what `set` takes by keyword. It has `seeds` by itself.
pub(crate) fn settings(engines: &Engines) -> String {
    let names = overrides::names(engines.keys()).filter(|name| *name != "seeds" && !KEYWORDS.contains(name));
    names.fold(
        String::from(
            "\"\"\"The settings of experiments by their names. `make generate` writes this file from their declarations.\"\"\"\n\n\
             from typing import Any, TypedDict\n\n\nclass Settings(TypedDict, total=False):\n",
        ),
        |text, name| text + "    " + name + ": Any\n",
    )
}

/// An option as a parameter.
struct Parameter {
    name: String,
    hint: String,
    /// The arguments of `Option`.
    fields: Vec<String>,
}

impl Parameter {
    fn of(arg: &Arg) -> Parameter {
        let (long, help) = (arg.get_long().unwrap(), help(arg));
        let flag = format!("{:?}", format!("--{long}"));
        if is_switch(arg) {
            // What is turned off there is turned on here.
            let (name, default, help) = match long.strip_prefix("no-") {
                Some(name) => (name, "True", format!("False: {}{}", help[..1].to_lowercase(), &help[1..])),
                None => (long, "False", help),
            };
            let fields = [flag, default.to_owned(), format!("{help:?}")];
            return Parameter { name: name.replace('-', "_"), hint: "bool".to_owned(), fields: fields.into() };
        }
        let values: Vec<String> = values(arg).iter().map(|value| format!("{value:?}")).collect();
        let hint = match kind(arg) {
            _ if !values.is_empty() => format!("Literal[{}]", values.join(", ")),
            Kind::Whole => "int".to_owned(),
            Kind::Number => "float".to_owned(),
            Kind::Path => "PathLike".to_owned(),
            Kind::Threads => "int | Literal[\"all\"]".to_owned(),
            Kind::Span => "int | str".to_owned(),
            Kind::Text => "str".to_owned(),
        };
        let default = arg.get_default_values().first().and_then(|default| default.to_str());
        let default = default.map(|text| if hint.starts_with("float") { text.to_owned() } else { format!("{text:?}") });
        let many = matches!(arg.get_action(), ArgAction::Append);
        let hint = if many { format!("{hint} | Sequence[{hint}]") } else { hint };
        let hint = if default.is_none() { format!("{hint} | None") } else { hint };
        let mut fields = vec![flag, default.unwrap_or_else(|| "None".to_owned()), format!("{help:?}")];
        let takes = match kind(arg) {
            Kind::Whole => format!("a whole number{}", limits(arg).map_or_else(String::new, |of| format!(", {of}"))),
            Kind::Path => "a path".to_owned(),
            Kind::Threads => "1 to 1024, or all".to_owned(),
            Kind::Span => "numbers such as 2..8, or one".to_owned(),
            Kind::Number | Kind::Text => String::new(),
        };
        if !takes.is_empty() {
            fields.push(format!("takes={takes:?}"));
        }
        if many {
            fields.push("many=True".to_owned());
        }
        let name = long.replace('-', "_");
        let name = if KEYWORDS.contains(&name.as_str()) { format!("{name}_") } else { name };
        Parameter { name, hint, fields }
    }
}

/// The kind of an option's values.
enum Kind {
    Whole,
    Number,
    Path,
    Threads,
    Span,
    Text,
}

fn kind(arg: &Arg) -> Kind {
    let is = |of: TypeId| arg.get_value_parser().type_id() == of;
    match () {
        () if [TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>()]
            .into_iter()
            .any(is) =>
        {
            Kind::Whole
        }
        () if is(TypeId::of::<f64>()) => Kind::Number,
        () if is(TypeId::of::<PathBuf>()) => Kind::Path,
        () if is(TypeId::of::<flowsieve::options::ThreadCount>()) => Kind::Threads,
        () if is(TypeId::of::<flowsieve::options::Span>()) => Kind::Span,
        () => Kind::Text,
    }
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn values(arg: &Arg) -> Vec<String> {
    if is_switch(arg) {
        return Vec::new();
    }
    arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

fn help(arg: &Arg) -> String {
    arg.get_help().unwrap_or_else(|| panic!("{} has no help", arg.get_id())).to_string()
}

/// The limits of a whole number, `1 to 1024`: clap has them in the message for a number that is not within them.
fn limits(arg: &Arg) -> Option<String> {
    let alone = Command::new("limits")
        .no_binary_name(true)
        .arg(Arg::new("limits").long("limits").allow_hyphen_values(true).value_parser(arg.get_value_parser().clone()));
    let said = alone.try_get_matches_from([format!("--limits={}", i64::MIN)]).err()?;
    let said = std::error::Error::source(&said).map(ToString::to_string).unwrap_or_default();
    let (least, most) = said.split_once("is not in ")?.1.split_once("..=")?;
    // The largest number of a type is no limit that is declared.
    (most.parse::<u64>().ok()? < u64::from(u32::MAX)).then(|| format!("{least} to {most}"))
}

/// The rows of a command's options and arguments: name, and what it does with its limits, values and default.
pub(crate) fn rows(command: &Command) -> Vec<Vec<Option<String>>> {
    let arguments = command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    arguments.map(row).collect()
}

fn row(arg: &Arg) -> Vec<Option<String>> {
    let value =
        arg.get_value_names().map(|names| names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" "));
    // A bar would end the cell.
    let value = value.unwrap_or_else(|| arg.get_id().as_str().to_uppercase()).replace('|', " or ");
    let name = match arg.get_long() {
        None => format!("`{value}`"),
        Some(long) if is_switch(arg) => format!("`--{long}`"),
        Some(long) => format!("`--{long} {value}`"),
    };
    let short = arg.get_short().map_or_else(String::new, |short| format!(", `-{short}`"));
    let mut about = help(arg);
    let values = values(arg);
    if !values.is_empty() {
        let _ = write!(about, "; one of `{}`", values.join("`, `"));
    }
    if let (Kind::Whole, Some(limits)) = (kind(arg), (!is_switch(arg)).then(|| limits(arg)).flatten()) {
        let _ = write!(about, "; {limits}");
    }
    let defaults: Vec<&str> = arg.get_default_values().iter().filter_map(|of| OsStr::to_str(of)).collect();
    if !is_switch(arg) && !defaults.is_empty() {
        let _ = write!(about, " [default: {}]", defaults.join(","));
    }
    vec![Some(name + &short), Some(about.replace('|', "\\|"))]
}
