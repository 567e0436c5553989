//! [`Sources`]: the source of each descriptor that is registered.

use alloc::sync::Arc;
#[cfg(unix)]
use alloc::vec::Vec;

use super::{Raw, Source};

/// Each source has the place of its descriptor's number. A system of Unix opens descriptors under
/// the lowest free number, so few places are empty.
#[cfg(unix)]
#[derive(Default)]
pub(super) struct Sources {
    places: Vec<Option<Arc<Source>>>,
    len: usize,
}

#[cfg(unix)]
impl Sources {
    pub(super) fn get(&self, raw: &Raw) -> Option<&Arc<Source>> {
        self.places.get(*raw as usize)?.as_ref()
    }

    pub(super) fn insert(&mut self, raw: Raw, source: Arc<Source>) {
        let at = raw as usize;
        while self.places.len() <= at {
            self.places.push(None);
        }
        let before = self.places[at].replace(source);
        self.len += usize::from(before.is_none());
    }

    pub(super) fn remove(&mut self, raw: &Raw) {
        let removed = self.places[*raw as usize].take();
        self.len -= usize::from(removed.is_some());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Raw, &Arc<Source>)> {
        let all = self.places.iter().enumerate();
        all.filter_map(|(raw, place)| Some((raw as Raw, place.as_ref()?)))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// Handles of Windows may be any numbers.
#[cfg(windows)]
pub(super) type Sources = std::collections::HashMap<Raw, Arc<Source>>;
