//! A walk over the tasks of an executor, for a report of who waits for whom.

use core::ptr::NonNull;

use super::{Registry, RegistryOwner, lock};

impl<K: RegistryOwner> Registry<K> {
    /// Calls `f` with each task that is entered, under the locks of rule 2.
    pub(crate) fn each_task(&self, mut f: impl FnMut(NonNull<()>)) {
        for shard in &self.shards {
            shard.normal.room.with_lock(|room| {
                let _returned = lock(&shard.normal.returned);
                room.each_task(&mut f);
            });
            lock(&shard.high).each_task(&mut f);
            lock(&shard.pinned).each_task(&mut f);
        }
    }
}
