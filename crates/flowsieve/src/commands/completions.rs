//! `flowsieve completions`: scripts that complete the names of schemes, workloads, settings and experiments, and values of
//! settings.
//!
//! A script contains the names known to the program that prints it. Print it again when these change. What `compare` takes
//! depends on the result, so that its script asks the program.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};
use clap_complete::Shell;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::{Error, lookup, overrides};
use flowsieve_results::ResultDir;
use flowsieve_settings::Kind;
use flowsieve_studies::explain;
use flowsieve_workload::convert::{self as convert};
use std::path::{Path, PathBuf};

use super::cli;
use crate::output::print;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve completions bash > ~/.local/share/bash-completion/completions/flowsieve

It knows this program's schemes, workloads, settings and built-in experiments. Print it again after an update.")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
    /// Print what `compare` takes of this result instead: what the script asks for
    #[arg(long, value_name = "DIR", hide = true)]
    result: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions, engines: &Engines) -> Result<(), Error> {
    match &args.result {
        None => print(&script(args.shell, engines)),
        Some(result) => print(&compared(&ResultDir::open(result)?)),
    }
}

/// Returns the script for a shell.
fn script(shell: Shell, engines: &Engines) -> String {
    let mut script = Vec::new();
    let names = Names::of(engines);
    clap_complete::generate(shell, &mut names.put_into(cli()), program(), &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => bash_with_values(&bash_without_space_after_keys(&script), &names.values),
        Shell::Zsh => zsh_with_files(&script, &names),
        Shell::Fish => script + &FISH.replace("PROGRAM", &program()),
        _ => script,
    }
}

/// Returns the program's name: a program with custom schemes has another one.
fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_stem().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "flowsieve".to_owned())
}

/// The names to complete.
struct Names {
    experiments: Vec<String>,
    papers: Vec<String>,
    keys: Vec<String>,
    /// Settings with a value, for those that have names as values.
    values: Vec<String>,
    workloads: Vec<String>,
    explained: Vec<String>,
    formats: Vec<String>,
}

impl Names {
    fn of(engines: &Engines) -> Names {
        let experiments: Vec<String> =
            lookup::found(Path::new(lookup::ROOT)).iter().map(|path| lookup::name(path)).collect();
        let keys: Vec<&str> = overrides::names(engines.keys()).collect();
        let mut values: Vec<String> = Vec::new();
        for key in engines.keys().iter().filter(|key| keys.contains(&key.name)) {
            let names = match key.kind {
                Kind::Choice(names) | Kind::SizeListOr(names) => names.names(),
                Kind::Flag => vec!["true", "false"],
                _ => continue,
            };
            values.extend(names.into_iter().map(|name| format!("{}={name}", key.name)));
        }
        values.extend(explain::workloads().into_iter().map(|name| format!("sizes={name}")));
        values.extend(engines.schemes().into_iter().map(|scheme| format!("scheme={}", scheme.name)));
        Names {
            papers: papers(&experiments),
            experiments,
            keys: keys.into_iter().map(|name| format!("{name}=")).collect(),
            values,
            workloads: explain::workloads(),
            formats: convert::formats().iter().map(|format| format.name.to_owned()).collect(),
            // Shells split names with a space.
            explained: explain::names(engines).into_iter().filter(|name| !name.contains(' ')).collect(),
        }
    }

    /// Gives the command these names in place of free texts.
    fn put_into(&self, command: Command) -> Command {
        let mut places: Vec<(&str, &str, &[String])> = vec![
            ("run", "file", &self.experiments),
            ("run", "set", &self.keys),
            ("flows", "file", &self.experiments),
            ("flows", "set", &self.keys),
            ("reproduce", "what", &self.papers),
            ("explain", "name", &self.explained),
            ("tune", "workload", &self.workloads),
            ("convert", "from", &self.formats),
        ];
        places.retain(|(path, ..)| cfg!(feature = "papers") || *path != "reproduce");
        if cfg!(target_os = "linux") {
            for of_lab in ["lab run", "lab compare", "lab up"] {
                places.extend([(of_lab, "file", &self.experiments[..]), (of_lab, "set", &self.keys[..])]);
            }
        }
        places.into_iter().fold(command, |command, (path, argument, names)| {
            at(command, path, |command| {
                command.mut_arg(argument, |arg: Arg| arg.value_parser(PossibleValuesParser::new(names)))
            })
        })
    }
}

/// Changes the command of a path below another, such as `lab run`.
fn at(command: Command, path: &str, change: impl FnOnce(Command) -> Command) -> Command {
    match path.split_once(' ') {
        Some((first, rest)) => command.mut_subcommand(first, |below| below.mut_subcommand(rest, change)),
        None => command.mut_subcommand(path, change),
    }
}

/// Lists the papers of experiments in folders, and their figures.
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

/// Removes bash's space after a completed key whose value is still to come.
fn bash_without_space_after_keys(script: &str) -> String {
    let line = |line: &str| {
        let keys = line.trim_start().starts_with("COMPREPLY=") && line.contains("= ");
        let indent = &line[..line.len() - line.trim_start().len()];
        if keys { format!("{indent}compopt -o nospace 2>/dev/null\n{line}\n") } else { format!("{line}\n") }
    };
    script.lines().map(line).collect()
}

/// What `compare` takes, by the result that stands before it.
const FISH: &str = "
complete -c PROGRAM -n \"__fish_seen_subcommand_from compare\" -f -a \"(for word in (commandline -opc); \
test -f \\$word/manifest.json; and PROGRAM completions fish --result \\$word; end)\"
";

/// Completes values of settings in bash, which splits words at `=`; several with commas between. Completes what `compare`
/// takes, by the result that stands before it.
fn bash_with_values(script: &str, values: &[String]) -> String {
    let before = "    opts=\"\"\n";
    let values = values.join(" ");
    let more = format!(
        r#"    local key="" value="" before="" word
    if [[ "${{COMP_WORDS[COMP_CWORD]}}" == "=" ]]; then
        key="${{COMP_WORDS[COMP_CWORD-1]}}="
    elif [[ $COMP_CWORD -gt 1 && "${{COMP_WORDS[COMP_CWORD-1]}}" == "=" ]]; then
        key="${{COMP_WORDS[COMP_CWORD-2]}}=" value="$cur"
    elif [[ "$prev" == --set && "$cur" == *=* ]]; then
        key="${{cur%%=*}}=" value="${{cur#*=}}" before="$key"
    fi
    if [[ -n "$key" ]]; then
        COMPREPLY=( $(compgen -W "{values}" -- "$key${{value##*,}}") )
        COMPREPLY=( "${{COMPREPLY[@]#"$key"}}" )
        [[ "$value" == *,* ]] && before+="${{value%,*}},"
        COMPREPLY=( "${{COMPREPLY[@]/#/$before}}" )
        [[ ${{#COMPREPLY[@]}} -gt 0 ]] && return 0
    fi
    if [[ "${{COMP_WORDS[1]}}" == compare && "$cur" != -* ]]; then
        for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
            if [[ -f "$word/manifest.json" ]]; then
                COMPREPLY=( $(compgen -W "$("$1" completions bash --result "$word" 2>/dev/null)" -- "$cur") )
                return 0
            fi
        done
    fi
"#
    );
    script.replacen(before, &(before.to_owned() + &more), 1)
}

/// Completes both names and files in zsh, which would otherwise drop files; values of a setting after its `=`, without a space
/// after keys; and what `compare` takes, by the result that stands before it.
fn zsh_with_files(script: &str, names: &Names) -> String {
    let (files, keys, values) = (names.experiments.join(" "), names.keys.join(" "), names.values.join(" "));
    let script = script.replace(&format!(":({files})"), &format!(":{{_files; compadd -- {files}}}"));
    let script = script.replace(&format!(":({keys})"), ":_flowsieve_settings");
    let script: String = script.lines().fold(String::new(), |script, line| {
        let is_compared = ["'::value -- ", "'::baseline -- "].iter().any(|start| line.starts_with(start));
        script + &if is_compared { line.replace(":_default'", ":_flowsieve_compared'") } else { line.to_owned() } + "\n"
    });
    let more = format!(
        r#"(( $+functions[_flowsieve_settings] )) ||
_flowsieve_settings() {{
    if [[ "$PREFIX" == *=* ]]; then compadd -- {values}; else compadd -S "" -- {keys}; fi
}}
(( $+functions[_flowsieve_compared] )) ||
_flowsieve_compared() {{
    local word
    for word in $words; do
        [[ -f $word/manifest.json ]] && compadd -- $({program} completions zsh --result $word 2>/dev/null)
    done
}}
"#,
        program = program()
    );
    script.replacen("autoload -U is-at-least\n", &format!("autoload -U is-at-least\n\n{more}"), 1)
}

/// Returns what `compare` takes of a result, a line each: its schemes, and the values of other settings that it varies.
fn compared(result: &ResultDir) -> String {
    let experiment = &result.manifest().experiment;
    let mut names: Vec<&str> = experiment.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    for axis in experiment.points.iter().flat_map(|point| &point.axes) {
        if !names.contains(&axis.value.as_str()) {
            names.push(&axis.value);
        }
    }
    names.into_iter().map(|name| format!("{name}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script_for(shell: Shell) -> String {
        script(shell, &flowsieve_engines::built_in())
    }

    #[test]
    fn script__of_every_shell_knows_names() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            assert!(script_for(shell).contains("compare"), "{shell}");
        }
        for shell in [Shell::Bash, Shell::Zsh] {
            let script = script_for(shell);
            for name in
                ["nos2/fig06", "quickstart", "scheme=pfabric-predicted", "data-mining", "ecn_threshold=", "htsim-topo"]
            {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
        assert!(
            script_for(Shell::Fish).contains("ecn_threshold=\\t") && script_for(Shell::Fish).contains("data-mining")
        );
    }

    /// Commands that take an experiment and settings: `run` and `flows`; `lab run`, `lab compare` and `lab up`.
    const PLANNING: usize = if cfg!(target_os = "linux") { 5 } else { 2 };

    #[test]
    fn script__of_zsh_keeps_files_and_adds_no_space_to_keys() {
        let script = script_for(Shell::Zsh);
        assert_eq!(script.matches(":{_files; compadd -- ").count(), PLANNING);
        assert_eq!(script.matches(":_flowsieve_settings'").count(), PLANNING);
        assert_eq!(script.matches(":_flowsieve_compared'").count(), 2);
    }

    #[test]
    fn script__of_bash_has_no_space_after_keys_alone() {
        let script = script_for(Shell::Bash);
        let after = |index: usize| script.lines().nth(index + 1).unwrap();
        let nospace: Vec<usize> =
            script.lines().enumerate().filter(|(_, line)| line.contains("nospace")).map(|(index, _)| index).collect();
        assert_eq!(nospace.len(), PLANNING);
        assert!(nospace.iter().all(|&index| after(index).contains("\"kind= ")), "{script}");
    }

    #[test]
    fn papers__and_their_figures() {
        let experiments = ["first", "nos2/fig01", "nos2/fig06"].map(str::to_owned);
        assert_eq!(papers(&experiments), ["nos2", "nos2/fig01", "nos2/fig06"]);
    }
}
