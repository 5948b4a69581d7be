//! Fetching ahead what events of large fabrics need.
//!
//! Where links and packets exceed the caches, an event waits for memory twice: for the link, and for the packet that
//! arrives. The event queue knows long before which links will be next, so that the processor can be told. Nothing of a
//! result depends on it, and a processor that knows no such fetch does nothing.

use prefetch_index::prefetch_index;

use crate::event::Key;
use crate::network::Network;

impl<K: Key> Network<K> {
    /// Fetches what events need that come soon near those of the link `near` in the event queue.
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
