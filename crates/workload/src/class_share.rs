//! A share of the flows that has class 1, independent of their other properties.

use crate::Flow;
use crate::random::{Purpose, stream, uniform01};

/// The share, drawn for each flow by its number: the flows of a smaller share are among those of a larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassShare {
    /// In expectation, 0 to 1.
    pub share: f64,
}

impl ClassShare {
    /// The flow with its class.
    pub fn put_on(self, flow: Flow, seed: u64) -> Flow {
        let drawn = uniform01(&mut stream(seed, Purpose::Classes, flow.id.into()));
        Flow { class: u8::from(drawn < self.share), ..flow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_class_1(share: f64) -> Vec<u32> {
        let flow = |id| Flow { id, start_ps: 0, src: 0, dst: 1, bytes: 1, class: 0, deadline_ps: None, coflow: None };
        (0..10_000).filter(|&id| ClassShare { share }.put_on(flow(id), 7).class == 1).collect()
    }

    #[test]
    fn put_on__a_share_of_the_flows_within_those_of_a_larger_one() {
        let (fewer, more) = (of_class_1(0.2), of_class_1(0.4));
        // Five standard deviations are 200 and 245.
        assert!(fewer.len().abs_diff(2_000) < 200 && more.len().abs_diff(4_000) < 245);
        assert!(fewer.iter().all(|id| more.contains(id)));
        assert_eq!((of_class_1(0.0).len(), of_class_1(1.0).len()), (0, 10_000));
    }
}
