//! The flows of several workloads of one run, in the order of their starts.

use crate::Flow;
use std::iter::Peekable;

/// Flows of several sources, merged into one workload. Each source returns its own in the order of their starts. Flows
/// are numbered anew by their starts; those that start together are in the order of their sources. It ends with the
/// last source, or if numbers run out.
pub struct Merged<I: Iterator<Item = Flow>> {
    sources: Vec<Peekable<I>>,
    next_id: Option<u32>,
}

impl<I: Iterator<Item = Flow>> Merged<I> {
    /// Merges these sources.
    pub fn of(sources: impl IntoIterator<Item = I>) -> Merged<I> {
        Merged { sources: sources.into_iter().map(Iterator::peekable).collect(), next_id: Some(0) }
    }

    /// Whether one of these sources has a flow left.
    pub fn has_more_of(&mut self, sources: impl Fn(usize) -> bool) -> bool {
        let mut numbered = self.sources.iter_mut().enumerate();
        numbered.any(|(number, source)| sources(number) && source.peek().is_some())
    }
}

impl<I: Iterator<Item = Flow>> Iterator for Merged<I> {
    /// The number of a source, and its next flow.
    type Item = (usize, Flow);

    fn next(&mut self) -> Option<(usize, Flow)> {
        let id = self.next_id?;
        let starts = self.sources.iter_mut().enumerate();
        let starts = starts.filter_map(|(number, source)| Some((source.peek()?.start_ps, number)));
        let (_, first) = starts.min()?;
        let flow = self.sources[first].next()?;
        self.next_id = id.checked_add(1);
        Some((first, Flow { id, ..flow }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(starts: &[u64], src: u32) -> Vec<Flow> {
        let flow = |(id, start_ps): (u32, &u64)| Flow {
            id,
            start_ps: *start_ps,
            src,
            dst: 9,
            bytes: u64::from(id) + 1,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        (0..).zip(starts).map(flow).collect()
    }

    #[test]
    fn merged__flows_that_start_together_are_in_the_order_of_their_sources() {
        let sources = [source(&[5, 7], 0), source(&[5, 5, 9], 1)];
        let of: Vec<(usize, u32, u64)> =
            Merged::of(sources.map(Vec::into_iter)).map(|(of, flow)| (of, flow.id, flow.start_ps)).collect();
        assert_eq!(of, [(0, 0, 5), (1, 1, 5), (1, 2, 5), (0, 3, 7), (1, 4, 9)]);
    }

    #[test]
    fn has_more_of__until_the_last_flow_of_these_is_given() {
        let mut merged = Merged::of([source(&[1, 2], 0).into_iter(), source(&[3, 4, 5], 1).into_iter()]);
        assert!(merged.has_more_of(|source| source == 0));
        assert_eq!(merged.by_ref().take(2).count(), 2);
        assert!(!merged.has_more_of(|source| source == 0) && merged.has_more_of(|source| source == 1));
    }

    proptest! {
        #[test]
        fn merged__is_the_union_of_its_sources_in_the_order_of_starts(
            mut starts in prop::collection::vec(prop::collection::vec(0u64..40, 0..30), 1..5)
        ) {
            starts.iter_mut().for_each(|starts| starts.sort_unstable());
            let sources: Vec<Vec<Flow>> = starts.iter().zip(0..).map(|(starts, src)| source(starts, src)).collect();
            let merged: Vec<(usize, Flow)> = Merged::of(sources.iter().map(|source| source.iter().copied())).collect();
            prop_assert!(merged.iter().map(|(_, flow)| flow.start_ps).is_sorted());
            prop_assert!(merged.iter().map(|(_, flow)| flow.id).eq(0..merged.len() as u32));
            for (number, source) in sources.iter().enumerate() {
                let given = merged.iter().filter(|(of, _)| *of == number).zip(0..);
                let given: Vec<Flow> = given.map(|((_, flow), id)| Flow { id, ..*flow }).collect();
                prop_assert_eq!(&given, source);
            }
        }
    }
}
