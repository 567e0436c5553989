//! What a world knows about the tasks that have not ended.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

use super::Live;
use crate::task::Id;

/// Ids are addresses, so they need no more mixing than this.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("an id is one word")
    }

    fn write_usize(&mut self, id: usize) {
        self.0 = (id as u64 >> 4)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(26);
    }
}

pub(super) type Tasks = HashMap<Id, Live, BuildHasherDefault<IdHasher>>;
