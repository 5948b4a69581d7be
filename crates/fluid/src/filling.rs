//! Max-min rates by progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2): all rates rise together until
//! a link is full. Its flows then keep their rates, the others continue to rise, and so on.
//!
//! Flows on one path have one rate, so the filling handles claims: a path, and its number of flows. Claims belong to
//! classes; a class is filled with what the classes before it have left.
//!
//! Nearly all time goes into visits of claims, each in another line of the cache. So what a visit needs stands together,
//! the links of a path without inner links included.
//!
//! A link's level is its remaining rate divided by the number of flows that still rise there. The level can only grow
//! while other flows stop rising below it. So a heap with levels that may be too low finds the next link: a link whose
//! level has grown goes back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::network::Network;

/// Claims on links, and their rates.
pub(crate) struct Filling<'a> {
    network: &'a Network,
    /// No path has a link between those of its hosts.
    only_hosts: bool,
    claims: Vec<Claim>,
    /// By claim.
    fills: Vec<Fill>,
    free: Vec<u32>,
    /// By class and link: the claims there.
    places: Vec<Place>,
    /// By class: the links with claims.
    used: Vec<Vec<u32>>,
    /// By link.
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Number of fillings.
    round: u64,
    /// The claims whose rate the last filling changed.
    moved: Vec<u32>,
    /// The links whose flows changed since the last filling, and by link whether it is one of them.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

struct Claim {
    path: u32,
    class: u32,
    /// By link of its path: its index among the claims there.
    at: Vec<u32>,
}

/// What a filling needs of a claim.
#[derive(Clone, Copy)]
struct Fill {
    flows: f64,
    rate: f64,
    /// The filling that set its rate.
    round: u64,
    /// The links of its hosts.
    ends: [u32; 2],
}

/// A link during a filling.
#[derive(Clone, Copy, Default)]
struct Link {
    /// Its remaining rate.
    left: f64,
    /// The flows that still rise there, and their claims.
    rising: f64,
    open: u32,
}

impl Link {
    /// Takes a claim that has stopped rising.
    fn fix(&mut self, flows: f64, level: f64) {
        self.left -= flows * level;
        self.rising -= flows;
        self.open -= 1;
    }
}

/// The claims of a class at a link.
#[derive(Clone, Default)]
struct Place {
    /// Each claim, and which link of its path this is.
    claims: Vec<(u32, u32)>,
    /// Their flows, weighted by the shares that cross this link.
    flows: f64,
    /// The link's index among those that the class uses.
    at: u32,
}

impl<'a> Filling<'a> {
    /// Builds it for `classes` classes.
    pub(crate) fn new(network: &'a Network, classes: usize) -> Filling<'a> {
        let links = network.rates.len();
        Filling {
            network,
            only_hosts: network.paths.iter().all(|path| path.links.len() == 2),
            claims: Vec::new(),
            fills: Vec::new(),
            free: Vec::new(),
            places: vec![Place::default(); classes * links],
            used: vec![Vec::new(); classes],
            links: vec![Link::default(); links],
            heap: BinaryHeap::new(),
            round: 0,
            moved: Vec::new(),
            touched: Vec::new(),
            is_touched: vec![false; links],
        }
    }

    /// Adds a claim without flows.
    pub(crate) fn claim(&mut self, path: u32, class: u32) -> u32 {
        let claim = self.free.pop().unwrap_or(self.claims.len() as u32);
        let hosts = &self.network.paths[path as usize];
        let ends = [self.network.up[hosts.from as usize], self.network.down[hosts.to as usize]];
        let (new, fill) = (Claim { path, class, at: Vec::new() }, Fill { flows: 0.0, rate: 0.0, round: 0, ends });
        if claim as usize == self.claims.len() {
            self.claims.push(new);
            self.fills.push(fill);
        } else {
            (self.claims[claim as usize], self.fills[claim as usize]) = (new, fill);
        }
        self.enter(claim);
        claim
    }

    /// Removes a claim.
    pub(crate) fn release(&mut self, claim: u32) {
        self.leave(claim);
        self.free.push(claim);
    }

    /// Sets the number of flows of a claim.
    pub(crate) fn set_flows(&mut self, claim: u32, flows: usize) {
        let Claim { path, class, .. } = self.claims[claim as usize];
        let (before, flows) = (self.fills[claim as usize].flows, flows as f64);
        for crossing in &self.network.paths[path as usize].links {
            let place = self.place(class, crossing.link);
            self.places[place].flows += (flows - before) * crossing.share;
            if !std::mem::replace(&mut self.is_touched[crossing.link as usize], true) {
                self.touched.push(crossing.link);
            }
        }
        self.fills[claim as usize].flows = flows;
    }

    /// Moves a claim to another class.
    pub(crate) fn set_class(&mut self, claim: u32, class: u32) {
        let flows = self.fills[claim as usize].flows;
        if self.claims[claim as usize].class == class {
            return;
        }
        self.set_flows(claim, 0);
        self.leave(claim);
        self.claims[claim as usize].class = class;
        self.enter(claim);
        self.set_flows(claim, flows as usize);
    }

    /// Returns the rate of each flow of a claim after the last filling; 0 before the first.
    pub(crate) fn rate(&self, claim: u32) -> f64 {
        self.fills[claim as usize].rate
    }

    /// Returns the claims whose rate the last filling changed.
    pub(crate) fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// Forgets which links were touched, and which claims moved.
    fn forget(&mut self) {
        self.moved.clear();
        self.touched.drain(..).for_each(|link| self.is_touched[link as usize] = false);
    }

    /// Divides each link equally among its flows, whether they use their parts or not: the first step of a filling for
    /// each link on its own. For one class.
    pub(crate) fn divide(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        self.forget();
        for &link in &touched {
            self.is_touched[link as usize] = false;
            for &(number, _) in &self.places[link as usize].claims {
                let path = self.claims[number as usize].path;
                let part = |link: u32| level(self.network.rates[link as usize], self.places[link as usize].flows);
                let rate = self.network.least_of(path, part);
                if rate != self.fills[number as usize].rate {
                    self.fills[number as usize].rate = rate;
                    self.moved.push(number);
                }
            }
        }
    }

    /// Computes the rates of all claims that have flows.
    pub(crate) fn fill(&mut self) {
        self.forget();
        self.round += 1;
        for &link in self.used.iter().flatten() {
            self.links[link as usize].left = self.network.rates[link as usize];
        }
        for class in 0..self.used.len() {
            self.fill_class(class as u32);
        }
    }

    fn fill_class(&mut self, class: u32) {
        for &link in &self.used[class as usize] {
            let place = &self.places[self.place(class, link)];
            let of_link = &mut self.links[link as usize];
            (of_link.rising, of_link.open) = (place.flows, place.claims.len() as u32);
            self.heap.push(Reverse((level(of_link.left, place.flows).to_bits(), link)));
        }
        while let Some(Reverse((before, link))) = self.heap.pop() {
            let Link { left, rising, open } = self.links[link as usize];
            if open == 0 {
                continue;
            }
            let level = level(left, rising);
            if level.to_bits() > before && self.heap.peek().is_some_and(|next| next.0.0 < level.to_bits()) {
                self.heap.push(Reverse((level.to_bits(), link)));
                continue;
            }
            self.saturate(class, link, level);
        }
    }

    /// Fixes the rate of all claims that still rise at a link at this level.
    fn saturate(&mut self, class: u32, link: u32, level: f64) {
        let place = self.place(class, link);
        for &(number, _) in &self.places[place].claims {
            let fill = &mut self.fills[number as usize];
            if fill.round == self.round {
                continue;
            }
            if fill.rate != level {
                self.moved.push(number);
            }
            (fill.round, fill.rate) = (self.round, level);
            if self.only_hosts {
                fill.ends.iter().for_each(|&link| self.links[link as usize].fix(fill.flows, level));
                continue;
            }
            for crossing in &self.network.paths[self.claims[number as usize].path as usize].links {
                self.links[crossing.link as usize].fix(fill.flows * crossing.share, level);
            }
        }
        self.links[link as usize].left = 0.0;
    }

    fn place(&self, class: u32, link: u32) -> usize {
        class as usize * self.links.len() + link as usize
    }

    fn enter(&mut self, number: u32) {
        let Claim { path, class, .. } = self.claims[number as usize];
        for (crossing, index) in self.network.paths[path as usize].links.iter().zip(0..) {
            let place = self.place(class, crossing.link);
            let used = &mut self.used[class as usize];
            let place = &mut self.places[place];
            if place.claims.is_empty() {
                place.at = used.len() as u32;
                used.push(crossing.link);
            }
            self.claims[number as usize].at.push(place.claims.len() as u32);
            place.claims.push((number, index));
        }
    }

    fn leave(&mut self, number: u32) {
        let Claim { path, class, .. } = self.claims[number as usize];
        let at = std::mem::take(&mut self.claims[number as usize].at);
        for (crossing, at) in self.network.paths[path as usize].links.iter().zip(at) {
            let place = self.place(class, crossing.link);
            let claims = &mut self.places[place].claims;
            claims.swap_remove(at as usize);
            if let Some(&(moved, index)) = claims.get(at as usize) {
                self.claims[moved as usize].at[index as usize] = at;
            }
            if claims.is_empty() {
                // The last claim removes any rounding remainder of the shares.
                self.places[place].flows = 0.0;
                let (used, at) = (&mut self.used[class as usize], self.places[place].at);
                used.swap_remove(at as usize);
                if let Some(&moved) = used.get(at as usize) {
                    let moved = self.place(class, moved);
                    self.places[moved].at = at;
                }
            }
        }
    }
}

/// Returns the rate per flow if `flows` flows share what is left.
fn level(left: f64, flows: f64) -> f64 {
    if flows > 0.0 { (left / flows).max(0.0) } else { 0.0 }
}
