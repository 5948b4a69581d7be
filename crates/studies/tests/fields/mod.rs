//! An error's fields in a line, for snapshots that an edit of a sentence leaves as they are.

use flowsieve_experiment::Details;
use std::path::Path;

/// Kind, place, key and nearest name; files without the folder of the test.
pub(crate) fn fields(details: &Details, folder: &Path) -> String {
    let file = details.file.as_deref().map(|file| file.replace(&format!("{}/", folder.display()), ""));
    let place = [file, details.line.map(|line| line.to_string()), details.column.map(|column| column.to_string())];
    let place: Vec<String> = place.into_iter().flatten().collect();
    let mut line =
        format!("{} at {}", details.kind, if place.is_empty() { "an argument".into() } else { place.join(":") });
    if let Some(key) = &details.key {
        line += &format!(", of `{key}`");
    }
    if let Some(nearest) = &details.nearest {
        line += &format!(", near `{nearest}`");
    }
    line
}
