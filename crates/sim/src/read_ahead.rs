//! Prefetches the data of coming events in large fabrics.
//!
//! If links and packets exceed the caches, an event waits for memory twice: for the link, and for the packet that
//! arrives. The event queue knows the coming links long before, so that the processor can fetch them. Results do not
//! depend on it, and a processor without such an instruction does nothing.

use prefetch_index::prefetch_index;

use crate::event::Key;
use crate::network::Network;

impl<K: Key> Network<K> {
    /// Fetches the data of coming events near the link `near` in the event queue.
    #[inline(always)]
    pub(crate) fn read_ahead(&self, near: u32) {
        if self.events.is_large() {
            self.fetch(near);
        }
    }

    #[inline(never)]
    fn fetch(&self, near: u32) {
        let [soon, later] = self.events.soon(near);
        let (metas, bodies) = (&self.slab.metas, &self.slab.bodies);
        prefetch_index(&self.links, later as usize);
        if let Some(link) = self.links.get(soon as usize) {
            prefetch_index(metas, link.first as usize);
            if link.to.get().is_err() {
                prefetch_index(bodies, link.first as usize);
            }
        }
    }
}
