//! [`List`]: values by key, linked in the order in which they were added. Every operation is O(1).

use slab::Slab;

/// Not a key, because a slab cannot be that large.
const NONE: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct List<T> {
    entries: Slab<Entry<T>>,
    first: usize,
    last: usize,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    before: usize,
    after: usize,
}

impl<T> List<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Slab::new(),
            first: NONE,
            last: NONE,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The key of the value that is pushed next.
    pub(super) fn next_key(&self) -> usize {
        self.entries.vacant_key()
    }

    pub(super) fn push(&mut self, value: T) {
        let key = self.entries.insert(Entry {
            value,
            before: self.last,
            after: NONE,
        });
        *self.link_after(self.last) = key;
        self.last = key;
    }

    pub(super) fn remove(&mut self, key: usize) -> Option<T> {
        let Entry {
            value,
            before,
            after,
        } = self.entries.try_remove(key)?;
        *self.link_after(before) = after;
        *self.link_before(after) = before;
        Some(value)
    }

    /// Removes the value that was added first.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.remove(self.first)
    }

    fn link_after(&mut self, key: usize) -> &mut usize {
        match self.entries.get_mut(key) {
            Some(entry) => &mut entry.after,
            None => &mut self.first,
        }
    }

    fn link_before(&mut self, key: usize) -> &mut usize {
        match self.entries.get_mut(key) {
            Some(entry) => &mut entry.before,
            None => &mut self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn a_list_keeps_the_order_of_insertion_although_keys_are_reused() {
        let mut list = List::new();
        let push = |list: &mut List<_>, value| {
            let key = list.next_key();
            list.push(value);
            key
        };
        let keys: Vec<_> = (0..5).map(|n| push(&mut list, n)).collect();
        for gone in [1, 0, 4] {
            assert_eq!(list.remove(keys[gone]), Some(gone));
        }
        assert_eq!(list.remove(keys[1]), None);
        push(&mut list, 5);
        push(&mut list, 6);
        assert_eq!(list.len(), 4);
        let rest: Vec<_> = std::iter::from_fn(|| list.pop()).collect();
        assert_eq!(rest, [2, 3, 5, 6]);
        assert_eq!(list.len(), 0);
    }
}
