//! Values that hold where none is given: those of a scheme's file, and of a parameter set.

use super::Place;
use super::error::Origin;
use super::value::Raw;
use std::collections::{BTreeMap, BTreeSet};

/// Values of settings, by the place for which they are. They are kept as they were written, since one may be in units that are
/// worked out later ([`Layer::map`]), and a set has values of settings that are declared elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    values: BTreeMap<(String, Option<Place>), (Raw, Origin)>,
    /// What no experiment may change.
    fixed: BTreeSet<String>,
}

impl Layer {
    /// Sets the value for a place; `None`: for all places. It is checked when it is read.
    pub fn put(&mut self, place: Option<Place>, name: &str, raw: Raw, origin: Origin) {
        self.values.insert((name.to_owned(), place), (raw, origin));
    }

    /// Keeps experiments from giving this setting.
    pub fn fix(&mut self, name: &str) {
        self.fixed.insert(name.to_owned());
    }

    /// Returns whether experiments cannot give the setting.
    pub fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains(name)
    }

    /// Adds the values of a nearer layer, which come first: one for all places also before farther ones for a place.
    #[must_use]
    pub fn under(mut self, nearer: &Layer) -> Layer {
        self.values.retain(|(name, _), _| !nearer.values.contains_key(&(name.clone(), None)));
        self.values.extend(nearer.values.clone());
        self.fixed.extend(nearer.fixed.iter().cloned());
        self
    }

    /// Returns the value at a place, that for the place or that for all, and for which it is.
    pub fn at(&self, place: Option<Place>, name: &str) -> Option<(Option<Place>, &Raw, &Origin)> {
        let of = |place| self.values.get(&(name.to_owned(), place)).map(|(raw, origin)| (place, raw, origin));
        place.and_then(|place| of(Some(place))).or_else(|| of(None))
    }

    /// Returns all values, by name and place.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<Place>, &Raw, &Origin)> {
        self.values.iter().map(|((name, place), (raw, origin))| (name.as_str(), *place, raw, origin))
    }

    /// Keeps the values that `is_kept` holds for.
    pub fn retain(&mut self, is_kept: impl Fn(&str, &Raw) -> bool) {
        self.values.retain(|(name, _), (raw, _)| is_kept(name, raw));
    }

    /// Replaces each value for which `by` returns another.
    pub fn map(&mut self, by: impl Fn(&str, &Raw) -> Option<Raw>) {
        for ((name, _), (raw, _)) in &mut self.values {
            if let Some(new) = by(name, raw) {
                *raw = new;
            }
        }
    }
}
