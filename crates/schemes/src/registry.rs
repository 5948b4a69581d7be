//! The schemes by name. A new scheme is one file and one line here.

use crate::entry::Entry;
use crate::{
    afq, awafs, coflows, d2tcp, dctcp, es8, fair_queueing, homa, las, nos2, pcoflow, pfabric, pias, qclimb, qcluster,
    sieve, sp_pifo, textbook,
};

/// Every built-in scheme.
pub const REGISTRY: &[Entry] = &[
    dctcp::ENTRY,
    pias::ENTRY,
    es8::ENTRY,
    nos2::ENTRY,
    pfabric::ENTRY,
    pfabric::EDF,
    pfabric::PREDICTED,
    homa::ENTRY,
    homa::PREDICTED,
    sp_pifo::ENTRY,
    afq::ENTRY,
    fair_queueing::BIT_BY_BIT,
    fair_queueing::NAGLE,
    las::PIFO,
    las::PIFO_AND_FIFO,
    d2tcp::ENTRY,
    textbook::FCFS,
    textbook::PS,
    textbook::SRPT,
    textbook::LAS,
    qcluster::LAS,
    qcluster::SRPT,
    qcluster::FQ,
    qcluster::DDL,
    qcluster::SJF,
    qcluster::DDL_LAS,
    qcluster::DDL_SJF,
    qcluster::DDL_FQ,
    qcluster::COFLOW,
    qcluster::MIN_RATE,
    qcluster::TSN,
    awafs::ENTRY,
    awafs::AUTO,
    qclimb::ENTRY,
    qclimb::PRECISE,
    qclimb::PROMOTED,
    qclimb::FIXED,
    sieve::ENTRY,
    coflows::DSRED,
    coflows::ELASTIC,
    coflows::SINCRONIA,
    coflows::SEBF,
    coflows::AALO,
    pcoflow::ECN,
    pcoflow::DROP,
    pcoflow::MOVE,
    pcoflow::SP_PIFO,
];

/// Returns the scheme of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label__spells_the_name_of_its_scheme_and_no_two_are_alike() {
        let folded = |text: &str| text.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "");
        for entry in REGISTRY.iter().chain(crate::flow_level::ONLY) {
            assert_eq!(folded(entry.label), folded(entry.name), "{}", entry.name);
            assert!(entry.label.starts_with(|letter: char| letter.is_alphabetic()), "{}", entry.label);
        }
        assert_eq!(find("pfabric").unwrap().label, "pFabric");
    }
}
