//! [`Reached`]: what the runs of a check have come to.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use super::faults::Fault;

/// How often each thing was reached, by its name.
pub(super) type Counts = BTreeMap<Cow<'static, str>, u64>;

/// Something that the faults of hosts, links and disks lead to, which a check counts in all of its
/// runs.
///
/// [`Checked::reached`](super::Checked::reached) has the counts, and [`Check::wants`] demands one.
/// A program counts more by [`reached`](super::reached()).
///
/// [`Check::wants`]: super::Check::wants
///
/// # Example
/// ```
/// use joint_sim::Reached;
///
/// let text = Reached::CrashBeforeSync.to_string();
/// assert_eq!(text, "a crash between a write and its sync");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reached {
    /// A host was killed.
    Crash,
    /// A host was killed when it had written to a file that was not synced yet.
    CrashBeforeSync,
    /// A host was killed when a file was created, renamed or removed, and its folder not synced
    /// yet.
    CrashBeforeDirSync,
    /// A power cut lost something that was not synced.
    LostWrites,
    /// An operation of a disk failed.
    DiskError,
    /// A disk was full.
    FullDisk,
    /// A fault paused a host.
    Pause,
    /// A fault set the clocks of a host.
    Clock,
    /// A fault cut links.
    Cut,
    /// A datagram was lost on its way.
    Loss,
    /// A datagram was held back, so that later ones overtook it.
    Late,
    /// A datagram arrived twice.
    Duplicate,
    /// A connection was reset.
    Reset,
}

impl Reached {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Crash => "a crash",
            Self::CrashBeforeSync => "a crash between a write and its sync",
            Self::CrashBeforeDirSync => {
                "a crash between a change of a name and the sync of its folder"
            }
            Self::LostWrites => "a power cut that lost writes",
            Self::DiskError => "an operation of a disk that failed",
            Self::FullDisk => "a disk that was full",
            Self::Pause => "a host that was paused",
            Self::Clock => "a host whose clocks were set",
            Self::Cut => "a link that was cut",
            Self::Loss => "a datagram that was lost",
            Self::Late => "a datagram that was late",
            Self::Duplicate => "a datagram that arrived twice",
            Self::Reset => "a connection that was reset",
        }
    }

    pub(super) fn of(fault: Fault) -> Option<Self> {
        Some(match fault {
            Fault::Pause => Self::Pause,
            Fault::DiskError => Self::DiskError,
            Fault::FullDisk => Self::FullDisk,
            Fault::Clock => Self::Clock,
            Fault::Cut => Self::Cut,
            Fault::LostWrites => Self::LostWrites,
            _ => return None,
        })
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}
