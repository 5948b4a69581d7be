//! `flowsieve completions`: scripts that know the names of schemes, workloads, settings and experiments.
//!
//! A script holds the names of the program that prints it. It is printed anew when these change.

use crate::args::Cli;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use flowsieve_experiment::engine::Engine;
use flowsieve_experiment::{OwnSchemes, explain, lookup, settings};
use std::path::Path;

/// The script for a shell.
pub(crate) fn script(shell: Shell, engine: OwnSchemes) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(Cli::command(), engine), program(), &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash { without_space_after_keys(&script) } else { script }
}

/// What the program is called here: that of somebody with a scheme of their own has another name.
fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_stem().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "flowsieve".to_owned())
}

/// The command with names in the place of free texts.
fn with_names(command: Command, engine: OwnSchemes) -> Command {
    let experiments: Vec<String> =
        lookup::found(Path::new(lookup::ROOT)).iter().map(|path| lookup::name(path)).collect();
    let keys: Vec<String> =
        settings::KEYS.iter().map(|key| key.name).chain(["scheme"]).map(|name| format!("{name}=")).collect();
    let schemes: Vec<String> = engine.schemes().into_iter().map(|scheme| scheme.name).collect();
    // Shells take apart what has a space.
    let explained = explain::names(engine).into_iter().filter(|name| !name.contains(' ')).collect::<Vec<_>>();
    let papers = papers(&experiments);
    let names: [(&str, &str, &[String]); 9] = [
        ("run", "file", &experiments),
        ("run", "set", &keys),
        ("flows", "file", &experiments),
        ("flows", "set", &keys),
        ("reproduce", "what", &papers),
        ("compare", "scheme", &schemes),
        ("compare", "baseline", &schemes),
        ("explain", "name", &explained),
        ("thresholds", "workload", &explain::workloads()),
    ];
    names.into_iter().fold(command, |command, (subcommand, argument, names)| {
        let of = |arg: Arg| arg.value_parser(PossibleValuesParser::new(names));
        command.mut_subcommand(subcommand, |command| command.mut_arg(argument, of))
    })
}

/// The papers of experiments in folders, and their figures.
fn papers(experiments: &[String]) -> Vec<String> {
    let mut papers: Vec<String> = Vec::new();
    for (paper, name) in experiments.iter().filter_map(|name| Some((name.split_once('/')?.0, name))) {
        if !papers.iter().any(|known| known == paper) {
            papers.push(paper.to_owned());
        }
        papers.push(name.clone());
    }
    papers
}

/// In bash a space follows what was completed, but for a key whose value has yet to come.
fn without_space_after_keys(script: &str) -> String {
    let line = |line: &str| {
        let keys = line.trim_start().starts_with("COMPREPLY=") && line.contains("= ");
        let indent = &line[..line.len() - line.trim_start().len()];
        if keys { format!("{indent}compopt -o nospace 2>/dev/null\n{line}\n") } else { format!("{line}\n") }
    };
    script.lines().map(line).collect()
}
