//! [`Interest`] and [`Ready`]: what a task waits for, and what it finds, as sets.

use core::{
    fmt,
    ops::{BitAnd, BitOr, Sub},
};

use super::source::Way;

/// What to wait for. Sets are joined by `|`.
///
/// # Example
/// ```
/// use joint_executor::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both, Interest::WRITABLE.add(Interest::READABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(Ready);

/// What a descriptor is ready for. Sets are joined by `|`, and `-` removes one set from another.
///
/// # Example
/// ```
/// use joint_executor::io::Ready;
///
/// let ready = Ready::READABLE | Ready::READ_CLOSED;
/// assert!(ready.is_readable() && ready.is_read_closed() && !ready.is_writable());
/// assert_eq!(ready - Ready::READABLE, Ready::READ_CLOSED);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ready(u8);

impl Interest {
    /// Everything that a descriptor can be registered for.
    pub(crate) const ALL: Self = Self(Ready::ALL);
    /// A read does not block, because there is data, the end or an error.
    pub const READABLE: Self = Self(Way::Read.finds());
    /// A write does not block, because there is room or an error.
    pub const WRITABLE: Self = Self(Way::Write.finds());
    /// There is urgent data, as of `MSG_OOB`, or another exceptional condition of `poll(2)`.
    #[cfg(target_os = "linux")]
    pub const PRIORITY: Self = Self(Ready(Ready::PRIORITY.0 | Ready::READ_CLOSED.0));
    /// There is an error, or something in the error queue of a socket. On other systems, an error
    /// ends the wait for [`READABLE`](Self::READABLE) and [`WRITABLE`](Self::WRITABLE) alone.
    #[cfg(target_os = "linux")]
    pub const ERROR: Self = Self(Ready::ERROR);

    /// Returns what is in either set.
    #[must_use]
    pub const fn add(self, other: Self) -> Self {
        Self(Ready(self.0.0 | other.0.0))
    }

    /// Returns whether [`READABLE`](Self::READABLE) is in the set.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0.meets(Ready::READABLE)
    }

    /// Returns whether [`WRITABLE`](Self::WRITABLE) is in the set.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0.meets(Ready::WRITABLE)
    }

    /// Returns whether `PRIORITY` is in the set.
    #[must_use]
    pub const fn is_priority(self) -> bool {
        self.0.is_priority()
    }

    /// Returns whether `ERROR` is in the set.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0.is_error()
    }

    /// Returns what an event of this direction can end the wait for.
    pub(super) fn by(self, way: Way) -> Option<Self> {
        let (asked, besides) = match way {
            Way::Read => (Ready::READABLE, Ready::READ_CLOSED),
            Way::Write => (Ready::WRITABLE, Ready::WRITE_CLOSED),
            Way::Exception => (way.finds(), Ready::READ_CLOSED),
        };
        let part = self.0 & (asked | besides);
        part.meets(asked).then_some(Self(part))
    }

    /// Everything that ends the wait.
    pub(super) fn ready(self) -> Ready {
        self.0
    }
}

impl Ready {
    /// Nothing.
    pub const EMPTY: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self((1 << 6) - 1);
    /// A read is worth trying.
    pub const READABLE: Self = Self(1);
    /// A write is worth trying.
    pub const WRITABLE: Self = Self(1 << 1);
    /// The peer has ended its direction: reads find the end once they have found the data.
    pub const READ_CLOSED: Self = Self(1 << 2);
    /// Nobody will read what is written.
    pub const WRITE_CLOSED: Self = Self(1 << 3);
    /// There is urgent data.
    pub const PRIORITY: Self = Self(1 << 4);
    /// There is an error.
    pub const ERROR: Self = Self(1 << 5);

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether a read is worth trying, also if it will find the end.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.meets(Self::READABLE) || self.is_read_closed()
    }

    /// Returns whether a write is worth trying, also if it will fail because nobody reads.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.meets(Self::WRITABLE) || self.is_write_closed()
    }

    /// Returns whether [`READ_CLOSED`](Self::READ_CLOSED) is in the set.
    #[must_use]
    pub const fn is_read_closed(self) -> bool {
        self.meets(Self::READ_CLOSED)
    }

    /// Returns whether [`WRITE_CLOSED`](Self::WRITE_CLOSED) is in the set.
    #[must_use]
    pub const fn is_write_closed(self) -> bool {
        self.meets(Self::WRITE_CLOSED)
    }

    /// Returns whether [`PRIORITY`](Self::PRIORITY) is in the set.
    #[must_use]
    pub const fn is_priority(self) -> bool {
        self.meets(Self::PRIORITY)
    }

    /// Returns whether [`ERROR`](Self::ERROR) is in the set.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.meets(Self::ERROR)
    }

    const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Way {
    /// What events of this direction are about.
    pub(super) const fn finds(self) -> Ready {
        let (one, other) = match self {
            Self::Read => (Ready::READABLE, Ready::READ_CLOSED),
            Self::Write => (Ready::WRITABLE, Ready::WRITE_CLOSED),
            Self::Exception => (Ready::PRIORITY, Ready::ERROR),
        };
        Ready(one.0 | other.0)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Ready {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Interest {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closed = Ready::READ_CLOSED | Ready::WRITE_CLOSED;
        (self.0 - closed).fmt(f)
    }
}

impl fmt::Debug for Ready {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for (member, name) in [
            (Self::READABLE, "READABLE"),
            (Self::WRITABLE, "WRITABLE"),
            (Self::READ_CLOSED, "READ_CLOSED"),
            (Self::WRITE_CLOSED, "WRITE_CLOSED"),
            (Self::PRIORITY, "PRIORITY"),
            (Self::ERROR, "ERROR"),
        ] {
            if self.meets(member) {
                write!(f, "{before}{name}")?;
                before = " | ";
            }
        }
        match before {
            "" => f.write_str("EMPTY"),
            _ => Ok(()),
        }
    }
}
