//! The messages between clients and replicas, which are versions.
//!
//! A replica stores the version of a request, unless it has a later one. Its answer is the version
//! that it has after that. A query is a request with the version before all writes, which changes
//! nothing.

/// The order of the writes. The higher of two tags is that of the later write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) count: u64,
    /// Decides between writers that have counted to the same number. No two writers share one.
    pub(crate) writer: u64,
}

/// A value, and the tag of the write that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) tag: Tag,
    pub(crate) value: u64,
}

/// A message: numbers of 8 bytes, the lowest byte first.
pub(crate) type Bytes = [[u8; 8]; 3];

impl Version {
    pub(crate) fn encode(self) -> Bytes {
        [self.tag.count, self.tag.writer, self.value].map(u64::to_le_bytes)
    }

    pub(crate) fn decode(bytes: Bytes) -> Self {
        let [count, writer, value] = bytes.map(u64::from_le_bytes);
        let tag = Tag { count, writer };
        Self { tag, value }
    }
}
