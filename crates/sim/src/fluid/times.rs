//! Times by number, with the earliest at hand.

use flowsieve_core::units::Time;

/// A tournament of times: a change or a search costs the logarithm of their number.
#[derive(Debug)]
pub(crate) struct Times {
    /// A binary tree, its root at 1: each inner node is the earlier of its two. The leaves are its second half.
    nodes: Vec<Time>,
}

impl Times {
    /// Builds it with [`Time::NEVER`] for each number.
    pub(crate) fn new() -> Times {
        Times { nodes: vec![Time::NEVER; 2] }
    }

    pub(crate) fn set(&mut self, number: u32, time: Time) {
        while number as usize >= self.leaves() {
            self.grow();
        }
        let mut node = self.leaves() + number as usize;
        self.nodes[node] = time;
        while node > 1 {
            let earlier = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == earlier {
                return;
            }
            self.nodes[node] = earlier;
        }
    }

    /// Returns the earliest time.
    pub(crate) fn first(&self) -> Time {
        self.nodes[1]
    }

    /// Adds the numbers of all times up to `to`, ascending.
    pub(crate) fn up_to(&self, to: Time, numbers: &mut Vec<u32>) {
        if to != Time::NEVER {
            self.search(1, to, numbers);
        }
    }

    fn search(&self, node: usize, to: Time, numbers: &mut Vec<u32>) {
        if self.nodes[node] > to {
            return;
        }
        match node.checked_sub(self.leaves()) {
            Some(number) => numbers.push(number as u32),
            None => (2 * node..2 * node + 2).for_each(|node| self.search(node, to, numbers)),
        }
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Doubles the number of leaves.
    fn grow(&mut self) {
        let more = vec![Time::NEVER; 2 * self.nodes.len()];
        let before = std::mem::replace(&mut self.nodes, more);
        let leaves = before.len() / 2;
        for (number, &time) in before[leaves..].iter().enumerate() {
            self.set(number as u32, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to__in_order_of_number_after_each_change() {
        let mut times = Times::new();
        assert_eq!(times.first(), Time::NEVER);
        let mut all = vec![Time::NEVER; 40];
        for step in 0..400u64 {
            let (number, time) = ((step * 7 % 40) as usize, Time(step * step % 97));
            let time = if step % 5 == 0 { Time::NEVER } else { time };
            all[number] = time;
            times.set(number as u32, time);
            assert_eq!(times.first(), *all.iter().min().unwrap());
            for to in [Time(0), Time(30), Time(96)] {
                let mut found = Vec::new();
                times.up_to(to, &mut found);
                let expected: Vec<u32> = (0..40).filter(|&number| all[number as usize] <= to).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
