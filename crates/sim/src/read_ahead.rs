//! Fetching ahead what events of large fabrics need.
//!
//! Where links and packets exceed the caches, an event waits for memory three times: for the link, for the packet that
//! arrives, and for the packet behind it, whose instant is the link's next event. The event queue knows long before which
//! links will be next, so that the processor can be told. Nothing of a result depends on it, and a processor that knows no
//! such fetch does nothing.

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
        let [next, soon, later] = self.events.soon(near);
        let (metas, bodies) = (&self.slab.metas, &self.slab.bodies);
        prefetch_index(&self.links, later as usize);
        if let Some(link) = self.links.get(soon as usize) {
            prefetch_index(metas, link.first as usize);
            if link.to.get().is_err() {
                prefetch_index(bodies, link.first as usize);
            }
        }
        if let Some(link) = self.links.get(next as usize)
            && let Some(first) = metas.get(link.first as usize)
        {
            prefetch_index(metas, first.next as usize);
        }
    }
}
