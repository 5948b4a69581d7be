//! Changes to an experiment from the command line, and the name of a result's folder that shows them.

use crate::scale::Scale;

/// The most letters of a folder's name that describe changes.
const SUFFIX: usize = 60;

/// What the command line adds to an experiment file.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Each `--set`, as `key=value`.
    pub sets: Vec<String>,
    /// `--seeds`.
    pub seeds: Option<u64>,
    /// `--scale`.
    pub scale: Scale,
    /// `--resolve`: seeds are added until what is asked is resolved; the run starts with the number for the first look.
    pub resolve: bool,
}

impl Changes {
    pub(crate) fn any(&self) -> bool {
        !self.list().is_empty()
    }

    /// Returns these changes, followed by others.
    pub fn and(&self, others: &Changes) -> Changes {
        Changes {
            sets: self.sets.iter().chain(&others.sets).cloned().collect(),
            seeds: others.seeds.or(self.seeds),
            scale: if others.scale == Scale::default() { self.scale } else { others.scale },
            resolve: self.resolve || others.resolve,
        }
    }

    /// Returns whether the command line asks for a sample of receivers.
    pub(crate) fn screens(&self) -> bool {
        let key = |set: &String| set.split('=').next().unwrap_or_default().trim().to_owned();
        self.sets.iter().any(|set| ["screen", "workload.screen"].contains(&key(set).as_str()))
    }

    /// Returns what they add to the name of a folder: the scale and each `--set`, in letters that need no quotes. A
    /// long name ends in its hash. Additional seeds belong to the same result.
    pub fn suffix(&self) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "=._".contains(letter);
        let scale = (self.scale != Scale::Paper).then(|| self.scale.name().to_owned());
        let sets = self.sets.iter().map(|set| set.replace(|letter| !plain(letter), "_"));
        let suffix: String = scale.into_iter().chain(sets).map(|part| format!("-{part}")).collect();
        let changed = self.sets.iter().any(|set| !set.chars().all(plain));
        if suffix.len() <= SUFFIX && !changed {
            return suffix;
        }
        let hash = blake3::hash(self.list().join("\n").as_bytes()).to_hex();
        let cut: String = suffix.chars().take(SUFFIX).collect();
        format!("{}-{}", cut.trim_end_matches('_'), &hash[..6])
    }

    /// Lists them as the manifest does.
    pub(crate) fn list(&self) -> Vec<String> {
        let seeds = self.seeds.map(|seeds| format!("seeds={seeds}"));
        let scale = (self.scale != Scale::Paper).then(|| format!("scale={}", self.scale.name()));
        let resolve = self.resolve.then(|| "resolve".to_owned());
        self.sets.iter().cloned().chain(seeds).chain(scale).chain(resolve).collect()
    }
}
