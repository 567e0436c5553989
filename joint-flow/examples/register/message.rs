//! The messages between clients and replicas.

/// The order of the writes. The higher of two tags is that of the later write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) count: u64,
    /// Decides between writers that have counted to the same number. No two writers share one.
    pub(crate) writer: u64,
}

/// A value, and the tag of the write that wrote it. The default is the value before all writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) tag: Tag,
    pub(crate) value: u64,
}

/// A client's request to a replica. The answer is the version that the replica has after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Query,
    /// Stores a version, unless the replica has a later one.
    Store(Version),
}

/// A message: numbers of 8 bytes, the lowest byte first.
pub(crate) type Bytes<const NUMBERS: usize> = [[u8; 8]; NUMBERS];

impl Version {
    pub(crate) fn encode(self) -> Bytes<3> {
        [self.tag.count, self.tag.writer, self.value].map(u64::to_le_bytes)
    }

    pub(crate) fn decode(bytes: Bytes<3>) -> Self {
        let [count, writer, value] = bytes.map(u64::from_le_bytes);
        let tag = Tag { count, writer };
        Self { tag, value }
    }
}

impl Request {
    pub(crate) fn encode(self) -> Bytes<4> {
        let (kind, version) = match self {
            Self::Query => (0_u64, Version::default()),
            Self::Store(version) => (1, version),
        };
        let [count, writer, value] = version.encode();
        [kind.to_le_bytes(), count, writer, value]
    }

    /// Returns `None` if it is not a request.
    pub(crate) fn decode([kind, count, writer, value]: Bytes<4>) -> Option<Self> {
        match u64::from_le_bytes(kind) {
            0 => Some(Self::Query),
            1 => Some(Self::Store(Version::decode([count, writer, value]))),
            _ => None,
        }
    }
}
