//! Max-min rates by progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2): all rates rise together until
//! a link is full. Its flows then keep their rates, the others continue to rise, and so on.
//!
//! Flows on one path have one rate, so the filling handles claims: a path, and its number of flows. Claims belong to
//! classes; a class is filled with what the classes before it have left.
//!
//! A link's level is its remaining rate divided by the number of flows that still rise there. Links become full in
//! ascending order of level and number, the link's *turn*. A level only grows while other flows stop rising below it.
//!
//! Links that the hosts behind them cannot fill are left out ([`binding`]).
//!
//! **Only what changes is computed.** A filling replays the last one, but visits only open links: those whose claims
//! have changed, and those that a changed rate reaches. All other links have their turns as before. An open link is
//! visited at its earliest possible turn. If claims have stopped there since, its level has grown, and it waits for its
//! later turn. If its old turn passes without it being full, the claims that it stopped then rise on, and their other
//! links are opened. A link is opened before its own turn, so no turn is ever taken back.
//!
//! **The rates are exact**, in whole units (see [`Units`]). So they do not depend on the order in which claims came, and
//! a partial filling gives the bits of a whole one. Division rounds down; so what is left at a link is never below what
//! its flows need at the levels of earlier turns, and turns ascend even with rounding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::fluid::network::{Crossing, Network};
use crate::fluid::redundant::binding;
use crate::fluid::units::{Units, level, load};

/// Claims on links, and their rates.
pub(crate) struct Filling<'a> {
    network: &'a Network,
    units: Units,
    /// By link: whether it can hold a claim back.
    binds: Vec<bool>,
    claims: Vec<Claim>,
    free: Vec<u32>,
    /// By class and link: the claims there.
    places: Vec<Place>,
    /// By place: the last filling that opened it.
    opened: Vec<u64>,
    /// By class: the links to open in the next filling.
    touched: Vec<Vec<u32>>,
    /// The next visits of open links: level and link.
    visits: BinaryHeap<Reverse<Turn>>,
    /// Number of fillings.
    round: u64,
    /// The claims whose rate the last filling changed.
    moved: Vec<u32>,
}

/// When a link is full: its level, and its number.
type Turn = (u64, u32);

/// The level of a link that is never full.
const NEVER: u64 = u64::MAX;

/// Stands for the link that stopped a claim if none has.
const NONE: u32 = u32::MAX;

#[derive(Default)]
struct Claim {
    class: u32,
    /// The link that stopped it, or [`NONE`], and its rate since.
    by: u32,
    rate: u64,
    flows: u64,
    /// The last filling that stopped it, even if at the same turn as before.
    stopped: u64,
    /// The last filling that let it rise beyond its old turn.
    raised: u64,
    hops: Vec<Hop>,
}

/// A link of a claim's path.
struct Hop {
    link: u32,
    /// The claim's index among the claims there.
    at: u32,
    /// The share of a flow that crosses the link: see [`Units`].
    weight: u64,
}

/// The claims of a class at a link.
#[derive(Clone, Default)]
struct Place {
    claims: Vec<Entry>,
    /// Their flows, by weight.
    flows: u64,
    /// What the classes before have left.
    free: u128,
    /// The level at which it was full when it was last open; [`NEVER`] if it was not.
    level: u64,
    is_touched: bool,
    /// While it is open: whether its turn is over, and whether its old one is.
    done: bool,
    passed: bool,
    /// While it is open: the remaining rate, and the flows that still rise.
    left: u128,
    rising: u64,
    /// Those of its rising claims that a link that is not open stops later; the next one last.
    waiting: Vec<(Turn, Entry)>,
}

/// A claim at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    claim: u32,
    /// Which hop of its path this is, and the weight there.
    hop: u32,
    weight: u64,
}

impl Place {
    /// Takes a claim that has stopped.
    fn stop(&mut self, flows: u64, rate: u64) {
        self.left -= load(flows, rate);
        self.rising -= flows;
    }
}

impl Claim {
    /// Returns whether a link that is not open stops it, as in the last filling. `opened` is that of its class.
    fn keeps_turn(&self, round: u64, opened: &[u64]) -> bool {
        self.by != NONE && self.stopped != round && self.raised != round && opened[self.by as usize] != round
    }

    fn turn(&self) -> Turn {
        (self.rate, self.by)
    }
}

impl<'a> Filling<'a> {
    /// Builds it for `classes` classes.
    pub(crate) fn new(network: &'a Network, classes: usize) -> Filling<'a> {
        let units = Units::of(&network.rates);
        Filling::over(network, units, classes, binding(network, units))
    }

    /// Builds it for [`Filling::divide`], to which every link matters.
    pub(crate) fn to_divide(network: &'a Network) -> Filling<'a> {
        Filling::over(network, Units::of(&network.rates), 1, vec![true; network.rates.len()])
    }

    fn over(network: &'a Network, units: Units, classes: usize, binds: Vec<bool>) -> Filling<'a> {
        let place = |&rate: &f64| Place { free: units.capacity(rate), level: NEVER, ..Place::default() };
        let of_class: Vec<Place> = network.rates.iter().map(place).collect();
        Filling {
            network,
            units,
            binds,
            claims: Vec::new(),
            free: Vec::new(),
            opened: vec![0; classes * of_class.len()],
            places: (0..classes).flat_map(|_| of_class.iter().cloned()).collect(),
            touched: vec![Vec::new(); classes],
            visits: BinaryHeap::new(),
            round: 0,
            moved: Vec::new(),
        }
    }

    /// Adds a claim without flows.
    pub(crate) fn claim(&mut self, path: u32, class: u32) -> u32 {
        let number = self.free.pop().unwrap_or(self.claims.len() as u32);
        if number as usize == self.claims.len() {
            self.claims.push(Claim::default());
        }
        let claim = &mut self.claims[number as usize];
        let mut hops = std::mem::take(&mut claim.hops);
        hops.clear();
        let hop = |crossing: &Crossing| Hop { link: crossing.link, at: 0, weight: Units::weight(crossing.share) };
        let links = self.network.paths[path as usize].links.iter();
        hops.extend(links.filter(|crossing| self.binds[crossing.link as usize]).map(hop));
        *claim = Claim { class, hops, by: NONE, ..Claim::default() };
        self.enter(number);
        number
    }

    /// Removes a claim without flows.
    pub(crate) fn release(&mut self, claim: u32) {
        self.leave(claim);
        self.free.push(claim);
    }

    /// Sets the number of flows of a claim.
    pub(crate) fn set_flows(&mut self, claim: u32, flows: usize) {
        let links = self.network.rates.len();
        let Claim { class, flows: before, hops, .. } = &mut self.claims[claim as usize];
        for hop in hops {
            let place = &mut self.places[*class as usize * links + hop.link as usize];
            place.flows = place.flows - *before * hop.weight + flows as u64 * hop.weight;
            if !std::mem::replace(&mut place.is_touched, true) {
                self.touched[*class as usize].push(hop.link);
            }
        }
        *before = flows as u64;
    }

    /// Moves a claim to another class.
    pub(crate) fn set_class(&mut self, claim: u32, class: u32) {
        let Claim { class: before, flows, .. } = self.claims[claim as usize];
        if before == class {
            return;
        }
        self.set_flows(claim, 0);
        self.leave(claim);
        self.claims[claim as usize].class = class;
        self.claims[claim as usize].by = NONE;
        self.enter(claim);
        self.set_flows(claim, flows as usize);
    }

    /// Returns the rate of each flow of a claim after the last filling; 0 before the first.
    pub(crate) fn rate(&self, claim: u32) -> f64 {
        self.units.rate(self.claims[claim as usize].rate)
    }

    /// Returns the claims whose rate the last filling changed.
    pub(crate) fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// Divides each link equally among its flows, whether they use their parts or not: the first step of a filling for
    /// each link on its own. For one class.
    pub(crate) fn divide(&mut self) {
        self.moved.clear();
        for link in std::mem::take(&mut self.touched[0]) {
            self.places[link as usize].is_touched = false;
            for entry in &self.places[link as usize].claims {
                let claim = &mut self.claims[entry.claim as usize];
                let part = |hop: &Hop| level(self.places[hop.link as usize].free, self.places[hop.link as usize].flows);
                let rate = claim.hops.iter().map(part).min().unwrap_or(0);
                if rate != claim.rate {
                    claim.rate = rate;
                    self.moved.push(entry.claim);
                }
            }
        }
    }

    /// Computes the rates of all claims that have flows.
    pub(crate) fn fill(&mut self) {
        self.moved.clear();
        self.round += 1;
        for class in 0..self.touched.len() {
            let mut touched = std::mem::take(&mut self.touched[class]);
            let first = class * self.network.rates.len();
            for link in touched.drain(..) {
                self.places[first + link as usize].is_touched = false;
                self.open(first, link, (0, 0));
            }
            self.touched[class] = touched;
            while let Some(Reverse(turn)) = self.visits.pop() {
                self.visit(first, turn);
            }
        }
    }

    /// Opens a link before its turn, which is after `now`. `first` is the first place of the class.
    fn open(&mut self, first: usize, link: u32, now: Turn) {
        self.opened[first + link as usize] = self.round;
        let place = &mut self.places[first + link as usize];
        (place.done, place.passed) = (false, false);
        (place.left, place.rising) = (place.free, place.flows);
        place.waiting.clear();
        for at in 0..place.claims.len() {
            let entry = place.claims[at];
            let claim = &self.claims[entry.claim as usize];
            let keeps_turn = claim.keeps_turn(self.round, &self.opened[first..]);
            if claim.stopped == self.round || keeps_turn && claim.turn() < now {
                place.stop(claim.flows * entry.weight, claim.rate);
            } else if keeps_turn {
                place.waiting.push((claim.turn(), entry));
            }
        }
        place.waiting.sort_unstable_by(|a, b| b.cmp(a));
        let next = level(place.left, place.rising).min(place.level);
        self.visits.push(Reverse((next, link)));
    }

    /// Visits an open link: it is full, or never full, or waits for a later turn.
    fn visit(&mut self, first: usize, turn: Turn) {
        let (now, link) = turn;
        let place = &mut self.places[first + link as usize];
        while let Some(&(at, entry)) = place.waiting.last() {
            let claim = &self.claims[entry.claim as usize];
            // A claim whose link was opened since rises on until an open link stops it.
            if claim.keeps_turn(self.round, &self.opened[first..]) {
                if at > turn {
                    break;
                }
                place.stop(claim.flows * entry.weight, claim.rate);
            }
            place.waiting.pop();
        }
        let next = level(place.left, place.rising);
        if next == NEVER {
            (place.level, place.done) = (NEVER, true);
            self.hand_on(first, link);
        } else if next == now {
            (place.level, place.done) = (now, true);
            self.stop_all(first, turn);
            self.hand_on(first, link);
        } else {
            let passes = place.level == now;
            place.passed |= passes;
            let again = if place.passed { next } else { next.min(place.level) };
            self.visits.push(Reverse((again, link)));
            if passes {
                self.raise_all(first, turn);
            }
        }
    }

    /// Stops all claims that still rise at a link that is full.
    fn stop_all(&mut self, first: usize, turn: Turn) {
        let (rate, link) = turn;
        for at in 0..self.places[first + link as usize].claims.len() {
            let number = self.places[first + link as usize].claims[at].claim;
            let claim = &mut self.claims[number as usize];
            let has_stopped = claim.keeps_turn(self.round, &self.opened[first..]) && claim.turn() < turn;
            if claim.stopped == self.round || has_stopped {
                continue;
            }
            let is_new = claim.turn() != turn;
            if claim.rate != rate {
                self.moved.push(number);
            }
            (claim.rate, claim.by, claim.stopped) = (rate, link, self.round);
            for hop in 0..claim.hops.len() {
                let claim = &self.claims[number as usize];
                let Hop { link: other, weight, .. } = claim.hops[hop];
                if self.opened[first + other as usize] == self.round {
                    let place = &mut self.places[first + other as usize];
                    if !place.done {
                        place.stop(claim.flows * weight, rate);
                    }
                } else if is_new {
                    self.open(first, other, turn);
                }
            }
        }
    }

    /// Lets the claims rise on that a link stopped at this turn in the last filling.
    fn raise_all(&mut self, first: usize, turn: Turn) {
        for at in 0..self.places[first + turn.1 as usize].claims.len() {
            let number = self.places[first + turn.1 as usize].claims[at].claim;
            let claim = &mut self.claims[number as usize];
            if claim.by != turn.1 || claim.stopped == self.round {
                continue;
            }
            claim.raised = self.round;
            for hop in 0..claim.hops.len() {
                let other = self.claims[number as usize].hops[hop].link;
                if self.opened[first + other as usize] != self.round {
                    self.open(first, other, turn);
                }
            }
        }
    }

    /// Hands what a link has left to the next class. Full links have nothing left: the remainder of the division is
    /// less than a unit for each flow.
    fn hand_on(&mut self, first: usize, link: u32) {
        let place = &self.places[first + link as usize];
        let left = if place.level == NEVER { place.left } else { 0 };
        let links = self.network.rates.len();
        let next = first + links + link as usize;
        if let Some(place) = self.places.get_mut(next).filter(|place| place.free != left) {
            place.free = left;
            if !std::mem::replace(&mut place.is_touched, true) {
                self.touched[next / links].push(link);
            }
        }
    }

    fn enter(&mut self, number: u32) {
        let links = self.network.rates.len();
        let claim = &mut self.claims[number as usize];
        for (hop, index) in claim.hops.iter_mut().zip(0..) {
            let place = &mut self.places[claim.class as usize * links + hop.link as usize];
            hop.at = place.claims.len() as u32;
            place.claims.push(Entry { claim: number, hop: index, weight: hop.weight });
        }
    }

    fn leave(&mut self, number: u32) {
        let first = self.claims[number as usize].class as usize * self.network.rates.len();
        for hop in 0..self.claims[number as usize].hops.len() {
            let Hop { link, at, .. } = self.claims[number as usize].hops[hop];
            let claims = &mut self.places[first + link as usize].claims;
            claims.swap_remove(at as usize);
            if let Some(moved) = claims.get(at as usize) {
                self.claims[moved.claim as usize].hops[moved.hop as usize].at = at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fluid::network::Path;

    /// Four hosts behind two links in each direction, of other rates; half of the paths take both.
    fn network() -> Network {
        let whole = |link| Crossing { link, share: 1.0 };
        let part = |link, share| Crossing { link, share };
        let mut paths = Vec::new();
        for (from, to) in (0..4u32).flat_map(|from| (0..4).map(move |to| (from, to))) {
            paths.push(Path { from, to, links: vec![whole(from), whole(8 + (from + to) % 4), whole(4 + to)] });
            let spread = vec![whole(from), part(8, 1.0 / 3.0), part(9 + to % 3, 2.0 / 3.0), whole(4 + to)];
            paths.push(Path { from, to, links: spread });
        }
        let rates = vec![1e10, 1e10, 1e10, 2.5e9, 1e10, 1e10, 4e9, 1e10, 7e9, 1e10, 3e9, 9.9e9];
        Network { rates, up: (0..4).collect(), down: (4..8).collect(), paths }
    }

    /// What happens between two fillings: a claim (by path) gets a class and a number of flows.
    type Change = (u32, u32, usize);

    proptest! {
        /// After each change the rates, and what is left for other classes, have the bits of a filling from nothing.
        #[test]
        fn fill__what_a_filling_from_nothing_gives(
            changes in prop::collection::vec(prop::collection::vec((0u32..32, 0u32..3, 0usize..4), 1..4), 1..30),
        ) {
            let network = network();
            let mut filling = Filling::new(&network, 3);
            let mut claims: Vec<Option<(u32, Change)>> = vec![None; network.paths.len()];
            for several in changes {
                for change in several {
                    let (path, class, flows) = change;
                    let claim = claims[path as usize].map(|(claim, _)| claim);
                    let claim = match (claim, flows) {
                        (None, 0) => continue,
                        (None, _) => filling.claim(path, class),
                        (Some(claim), _) => claim,
                    };
                    filling.set_class(claim, class);
                    filling.set_flows(claim, flows);
                    if flows == 0 {
                        filling.release(claim);
                    }
                    claims[path as usize] = (flows > 0).then_some((claim, change));
                }
                let before: Vec<u64> = filling.claims.iter().map(|claim| claim.rate).collect();
                filling.fill();
                let mut whole = Filling::new(&network, 3);
                let again = |&(_, (path, class, flows)): &(u32, Change)| {
                    let claim = whole.claim(path, class);
                    whole.set_flows(claim, flows);
                    claim
                };
                // The other way round, so that no order of claims is the same.
                let numbers: Vec<u32> = claims.iter().rev().flatten().map(again).collect();
                whole.fill();
                for ((claim, change), number) in claims.iter().rev().flatten().zip(numbers) {
                    let [rate, expected] = [&filling.claims[*claim as usize], &whole.claims[number as usize]];
                    prop_assert_eq!(rate.turn(), expected.turn(), "{:?}", change);
                    let has_moved = before[*claim as usize] != rate.rate;
                    prop_assert_eq!(has_moved, filling.moved().contains(claim), "{:?}", change);
                }
                let left = |filling: &Filling<'_>| filling.places.iter().map(|place| place.free).collect::<Vec<_>>();
                prop_assert_eq!(left(&filling), left(&whole));
            }
        }
    }
}
