//! Errors of experiments, and how they are shown: file, line, column, excerpt, what was expected and the nearest valid
//! name.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use flowsieve_report::{CompareError, UnknownKey};
use flowsieve_results::ResultError;
use flowsieve_settings::{self as settings, SettingsError, WrongName};
use flowsieve_workload::InputError;
use std::io;

use crate::experiment_text::ExperimentText;
use crate::file_error::FileError;

/// Why an experiment cannot be read, run or reported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is wrong.
    #[error("{error}")]
    Setting {
        /// The error, with its place, and those behind it.
        error: Box<SettingsError>,
        /// The file that it is in, for the excerpt.
        experiment_text: Option<Box<ExperimentText>>,
    },
    /// A file that is not an experiment, or cannot be read.
    #[error("{path}: {problem}")]
    File {
        /// Its path, as the user wrote it.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file that an experiment or an argument names is wrong: a CDF, a flow list, a trace …
    #[error(transparent)]
    InFile(Box<FileError>),
    /// An argument is wrong, or an experiment asks for something impossible; the message says what was expected.
    #[error("{0}")]
    Input(String),
    /// The program's output cannot be written.
    #[error("the output: {0}")]
    Output(io::Error),
    /// Results cannot be written or read.
    #[error(transparent)]
    Results(#[from] ResultError),
    /// A report cannot be written. The result is there.
    #[error("no report: {0}")]
    Unreported(ResultError),
    /// The caller stopped the runs.
    #[error("stopped; finished runs are kept")]
    Stopped,
    /// A point could not be simulated.
    #[error("{point}: {problem}")]
    Simulation {
        /// The point, in words.
        point: String,
        /// The reason.
        problem: String,
    },
    /// A run says nothing of its point: what carried it could not keep up. Other runs go on, and a result leaves it out.
    #[error("{point}: not valid: {problem}")]
    NotValid {
        /// The point and the seed, in words.
        point: String,
        /// The reason.
        problem: String,
    },
}

/// Where an error is, and what would be right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// The kind of error, in a fixed word: `name`, `value`, `missing`, `columns`, `result` …
    pub kind: &'static str,
    /// The key, or the column of a file, at fault.
    pub key: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<u32>,
    /// The column in it, in characters from 1.
    pub column: Option<u32>,
    /// What was expected.
    pub expected: Option<String>,
    /// The valid name that is nearest to the wrong one.
    pub nearest: Option<String>,
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Error::InFile(Box::new(error))
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        FileError::from(error).into()
    }
}

impl From<SettingsError> for Error {
    fn from(mut error: SettingsError) -> Self {
        // Parts that know no settings put what they expect into their message.
        if let (None, Some((what, expected))) = (&error.expected, error.problem.rsplit_once("; expected ")) {
            (error.expected, error.problem) = (Some(expected.to_owned()), what.to_owned());
        }
        error.for_each_mut(|error| {
            if error.wrong_name.as_deref().is_some_and(is_of_forests) {
                (error.wrong_name, error.expected) = (None, Some(APPLIED.to_owned()));
            }
        });
        Error::Setting { error: Box::new(error), experiment_text: None }
    }
}

impl From<CompareError> for Error {
    fn from(error: CompareError) -> Self {
        let wrong = SettingsError::new(settings::Origin::CommandLine("compare".into()), error.to_string());
        match error {
            CompareError::UnknownValue { name, values, .. } => wrong.expected(values.join(", ")).names(name, values),
            CompareError::UnknownKey(error) => return error.into(),
            CompareError::Itself(_) => wrong.expected("two different ones"),
            CompareError::OnePoint => wrong.expected("at least two schemes or two values of a setting"),
            CompareError::OtherFlows(_) => wrong.expected("a key that changes only the network or the schemes"),
            CompareError::Results(error) => return error.into(),
        }
        .into()
    }
}

impl From<UnknownKey> for Error {
    fn from(error: UnknownKey) -> Self {
        let wrong = SettingsError::new(settings::Origin::CommandLine(error.name.as_str().into()), error.to_string());
        let swept = if error.swept.is_empty() { "a swept setting".into() } else { error.swept.join(", ") };
        // Keys are reported without their section.
        let short = |key: String| key.split_once('.').map_or(key.clone(), |(_, name)| name.to_owned());
        wrong.expected(swept).names(error.name, error.swept.into_iter().map(short).collect::<Vec<_>>()).into()
    }
}

/// Returns whether `forest` was given where `predictions`, or the list that bounds come from, is among the right names:
/// earlier versions had a setting and a value of that name.
fn is_of_forests(wrong: &WrongName) -> bool {
    wrong.given == "forest" && wrong.valid.iter().any(|name| ["predictions", "law"].contains(&name.as_str()))
}

const APPLIED: &str = "`predictions` = \"PREDICTED.csv\", which `python -m flowsieve_forest apply FOREST.fsf LIST.csv --out \
                       PREDICTED.csv` writes";

impl Error {
    /// Adds the file that a setting's error may point into: at the given value, or where a missing value could be
    /// given.
    pub fn in_text(self, input: &ExperimentText) -> Self {
        match self {
            Error::Setting { mut error, experiment_text: None } => {
                error.for_each_mut(|error| {
                    if error.origin == settings::Origin::Default {
                        error.origin = input.origin(Some(input.table(error.table())));
                    }
                });
                Error::Setting { error, experiment_text: Some(Box::new(input.clone())) }
            }
            other => other,
        }
    }

    /// Adds what was expected, if the error says where it is.
    pub fn expecting(self, expected: String) -> Error {
        match self {
            Error::Setting { error, experiment_text } => {
                Error::Setting { error: Box::new(error.expected(expected)), experiment_text }
            }
            Error::InFile(error) => Error::InFile(Box::new(error.expected(expected))),
            other => other,
        }
    }

    /// Returns where the error is and what would be right, as far as known.
    pub fn details(&self) -> Details {
        let (error, experiment_text) = match self {
            Error::Setting { error, experiment_text } => (error, experiment_text),
            Error::InFile(error) => return of_file(error),
            other => return other.plain_details(),
        };
        let (file, line, column) = match &error.origin {
            settings::Origin::File { file, line, column, .. } => (Some(file.to_string()), Some(*line), Some(*column)),
            _ => (None, None, None),
        };
        let wrong_name = error.wrong_name.as_deref();
        let nearest = wrong_name.and_then(|name| nearest(&name.given, &name.valid)).map(str::to_owned);
        let here = experiment_text.as_deref().filter(|text| file.as_deref() == Some(&*text.name));
        let key = error.key().or_else(|| here?.key_in_line(line?));
        let key = key.or_else(|| error.origin.key_of_argument()).map(str::to_owned);
        let kind = match (wrong_name, error.table()) {
            (Some(_), _) => "name",
            (None, Some(_)) => "missing",
            (None, None) if key.is_some() => "value",
            (None, None) => "setting",
        };
        Details { kind, key, file, line, column, expected: error.expected.clone(), nearest }
    }

    /// Returns the details of an error that has only a message.
    fn plain_details(&self) -> Details {
        let (kind, file) = match self {
            Error::Setting { .. } => ("setting", None),
            Error::File { path, .. } => ("file", Some(path.clone())),
            Error::InFile(error) => (error.kind, Some(error.file.clone())),
            Error::Input(_) => ("argument", None),
            Error::Output(_) => ("output", None),
            Error::Results(_) | Error::Unreported(_) => ("result", None),
            Error::Stopped => ("stopped", None),
            Error::Simulation { .. } | Error::NotValid { .. } => ("simulation", None),
        };
        let text = self.to_string();
        let expected = text.rsplit_once("; expected ").map(|(_, expected)| expected.to_owned());
        Details { kind, file, expected, ..Details::default() }
    }

    /// Returns the message for a terminal, several lines long, with colour if wanted.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        match self {
            Error::Setting { error, experiment_text } => {
                let each = error.each().map(|error| render_setting(error, experiment_text.as_deref(), &renderer));
                each.collect::<Vec<_>>().join("\n\n")
            }
            other => renderer.render(&[Group::with_title(Level::ERROR.primary_title(other.to_string()))]),
        }
    }
}

fn of_file(error: &FileError) -> Details {
    Details {
        kind: error.kind,
        key: error.key.clone(),
        file: Some(error.file.clone()),
        line: error.line.and_then(|line| u32::try_from(line).ok()),
        column: None,
        expected: error.expected.clone(),
        nearest: error.nearest.clone(),
    }
}

fn render_setting(error: &SettingsError, input: Option<&ExperimentText>, renderer: &Renderer) -> String {
    let nearest = error.wrong_name.as_ref().and_then(|name| nearest(&name.given, &name.valid));
    let hint = nearest.map(|name| format!("did you mean `{name}`?"));
    let expected = error.expected.as_ref().map(|expected| format!("expected {expected}"));
    let in_file = match (&error.origin, input) {
        (settings::Origin::File { file, span, .. }, Some(input)) if *file == input.name => {
            // The excerpt of an empty span, such as the end of the file, still needs a place to point at.
            let end = span.end.min(input.text.len());
            Some((input, span.start.min(end)..end))
        }
        _ => None,
    };
    let title = Level::ERROR.primary_title(error.problem.clone());
    let mut group = match (in_file, &error.origin) {
        (Some((input, span)), _) => {
            let annotation = AnnotationKind::Primary.span(span).label(hint);
            title.element(Snippet::source(&*input.text).path(&*input.name).annotation(annotation))
        }
        (None, origin) => {
            let place = match (origin, input) {
                (settings::Origin::Default, None) => None,
                (settings::Origin::Default, Some(input)) => Some(input.name.to_string()),
                (origin, _) => Some(origin.to_string()),
            };
            let group = Group::with_title(title).elements(place.map(annotate_snippets::Origin::path));
            group.elements(hint.map(|hint| Level::HELP.message(hint)))
        }
    };
    if let Some(expected) = expected {
        group = group.element(Level::NOTE.message(expected));
    }
    renderer.render(&[group])
}

/// Returns the valid name that is nearest to a wrong one, if any is similar.
pub fn nearest<'a>(wrong: &str, valid: &'a [String]) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&wrong, &name.to_lowercase());
    let best = valid.iter().min_by_key(|name| distance(name))?;
    let longest = wrong.chars().count().max(best.chars().count());
    let like = distance(best) * 3 <= longest || (wrong.len() >= 3 && best.contains(wrong.as_str()));
    like.then_some(best.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest__is_near_or_nothing() {
        let names: Vec<String> = ["queues", "buffer", "ecn_threshold"].map(String::from).to_vec();
        assert_eq!(nearest("quues", &names), Some("queues"));
        assert_eq!(nearest("Buffer", &names), Some("buffer"));
        assert_eq!(nearest("threshold", &names), Some("ecn_threshold"));
        assert_eq!(nearest("colour", &names), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
