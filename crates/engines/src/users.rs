//! Schemes of the user's files.

use flowsieve_experiment::{Error, SchemeText};
use flowsieve_schemes::{Knows, SchemeFile, flow_level, sets};
use flowsieve_settings::{Keys, Origin, Place, Settings, SettingsError};

use crate::{classes, predictions, usual};

/// Reads the files, each of which stands after its base; `known` finds the other schemes.
///
/// # Errors
/// Fails if a file is wrong.
pub(crate) fn read(
    files: &[SchemeText],
    keys: &Keys,
    known: &dyn Fn(&str) -> Option<SchemeFile>,
) -> Result<Vec<SchemeFile>, Error> {
    let mut schemes: Vec<SchemeFile> = Vec::new();
    for file in files {
        let find = |name: &str| schemes.iter().find(|scheme| scheme.name == name).cloned().or_else(|| known(name));
        let scheme = SchemeFile::read_users(&file.name, &file.text, keys, &find);
        schemes.push(scheme.map_err(|error| Error::from(error).in_text(&file.text))?);
    }
    Ok(schemes)
}

/// Refuses a file with a value that no parameter set reads, with packets or at flow level: it would do nothing. Values of its
/// bases may do nothing in it.
///
/// # Errors
/// Fails with the place of the first such value.
pub(crate) fn refuse_unread(scheme: &SchemeFile, keys: &Keys) -> Result<(), Error> {
    let read: Vec<Settings> = sets::all().iter().map(|set| all_read(scheme, keys, set.name)).collect();
    let is_own = |origin: &Origin| matches!(origin, Origin::File { file, .. } if *file == scheme.text.name);
    let is_read = |name: &str, place: Option<Place>| read.iter().any(|settings| settings.has_read_own(name, place));
    // What is known of flows is read with the workload, and the schemes of classes before all others.
    let is_excused = |name: &str| {
        let of_predictions = predictions::SETTINGS.iter().any(|key| key.name == name);
        name == classes::CLASSES.name || of_predictions && matches!(scheme.knows, Knows::Bounds | Knows::PredictedSize)
    };
    let unread = scheme.layer().iter().find(|(name, place, _, origin)| {
        is_own(origin) && !is_read(name, *place) && !is_excused(name) && !scheme.layer().is_fixed(name)
    });
    let Some((name, place, _, origin)) = unread else { return Ok(()) };
    let at = place.map(|place| format!(" at the place `{}`", place.name())).unwrap_or_default();
    let problem = format!("nothing reads `{name}`{at} in the scheme `{}`, under any parameter set", scheme.name);
    let expected = format!("no `{name}`, or another part that reads it");
    Err(Error::from(SettingsError::new(origin.clone(), problem).expected(expected).of_key(name)).in_text(&scheme.text))
}

/// Returns settings from which the scheme was built for a common workload, and read at flow level. A setting that a set refuses
/// ends neither: the others have been read until then.
fn all_read(scheme: &SchemeFile, keys: &Keys, set: &str) -> Settings {
    let settings = keys.none_given().with(None, "parameters", set);
    let _ = usual::read([scheme].into_iter(), &scheme.name, &settings);
    let _ = flow_level::read(&scheme.name, &scheme.scope(settings.scheme(&scheme.name)));
    settings
}
