//! What holds of all buckets at any time.

use super::*;

impl Far {
    #[track_caller]
    pub(in super::super) fn assert_whole(&self, mut each: impl FnMut(&Entry, Stand)) {
        let mut earliest = None;
        for (at, bucket) in self.buckets.iter().enumerate() {
            let (level, digit) = (at / DIGITS, at % DIGITS);
            let is_occupied = self.occupied[level] & (1 << digit) != 0;
            assert_eq!(is_occupied, !bucket.entries.is_empty());
            assert!(!is_occupied || self.levels & (1 << level) != 0);
            for (index, entry) in bucket.entries.iter().enumerate() {
                assert!(entry.deadline > self.base);
                assert_eq!(self.bucket_of(entry.deadline), (level as u32, digit));
                let (bucket, index) = (at as u32, index as u32);
                each(entry, Stand { bucket, index });
            }
            let lowest = bucket.entries.iter().map(|entry| entry.deadline).min();
            let Some(lowest) = lowest else { continue };
            match bucket.holder {
                END => assert!(bucket.lowest <= lowest),
                place => {
                    let is_it = |entry: &Entry| (entry.place, entry.deadline) == (place, lowest);
                    assert!(bucket.lowest == lowest && bucket.entries.iter().any(is_it));
                }
            }
            assert_eq!(self.bucket_of(bucket.lowest), (level as u32, digit));
            earliest.get_or_insert(bucket.lowest);
        }
        assert_eq!(self.earliest, earliest.unwrap_or(NEVER));
        assert_eq!(self.is_empty(), earliest.is_none());
    }

    pub(in super::super) fn len(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.entries.len()).sum()
    }

    /// The memory of all entries, in entries.
    pub(in super::super) fn capacity(&self) -> usize {
        let buckets = self.buckets.iter().map(|bucket| bucket.entries.capacity());
        buckets.sum::<usize>() + self.spares.iter().map(Vec::capacity).sum::<usize>()
    }
}
