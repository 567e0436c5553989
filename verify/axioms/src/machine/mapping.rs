//! The instructions that each access becomes. The mappings are those of
//! <https://www.cl.cam.ac.uk/~pes20/cpp/cpp0xmappings.html>, for RISC-V those of its manual,
//! table A.6, and for Alpha those of GCC, whose only barrier is `mb`.

use super::Machine;
use crate::{Event, Ordering, program::Kind};

/// A barrier: which earlier accesses it keeps before which later ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Barrier {
    /// All before all: `mfence`, `dmb ish`, `sync`, `fence rw,rw`, `mb`.
    Full,
    /// All but writes before reads: `lwsync`, `fence.tso`.
    Light,
    /// Reads before all: `dmb ishld`, `fence r,rw`.
    AfterReads,
    /// All before writes: `fence rw,w`.
    BeforeWrites,
    /// The reads of the access itself before all: `isync`, after a branch on what they found or, in
    /// an exchange, on its success.
    AfterBranch,
}

/// The barriers around an access, or the one that a fence becomes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Barriers {
    pub(super) before: Option<Barrier>,
    pub(super) after: Option<Barrier>,
}

pub(super) fn barriers(machine: Machine, event: &Event) -> Barriers {
    let Some(ordering) = event.ordering else {
        return Barriers::default();
    };
    let (before, after) = match (machine, event.kind) {
        (_, Kind::Fence) => (fence(machine, ordering), None),
        (Machine::X86, _) => (None, x86(event.kind, ordering)),
        (Machine::Armv8, _) => (None, None),
        (Machine::Power, _) => power(event.kind, ordering),
        (Machine::RiscV, kind) => riscv(kind, ordering),
        (Machine::Alpha, _) => alpha(ordering),
    };
    Barriers { before, after }
}

fn fence(machine: Machine, ordering: Ordering) -> Option<Barrier> {
    match (machine, ordering) {
        (_, Ordering::Relaxed) => None,
        (_, Ordering::SeqCst) => Some(Barrier::Full),
        (Machine::X86, _) => None,
        (Machine::Armv8 | Machine::RiscV, Ordering::Acquire) => Some(Barrier::AfterReads),
        (Machine::Armv8 | Machine::Alpha, _) => Some(Barrier::Full),
        (Machine::RiscV, Ordering::Release) => Some(Barrier::BeforeWrites),
        (Machine::Power | Machine::RiscV, _) => Some(Barrier::Light),
    }
}

/// A store is a plain store and a fence. Exchanges are locked, which is a fence already.
fn x86(kind: Kind, ordering: Ordering) -> Option<Barrier> {
    (kind == Kind::Store && ordering == Ordering::SeqCst).then_some(Barrier::Full)
}

fn power(kind: Kind, ordering: Ordering) -> (Option<Barrier>, Option<Barrier>) {
    let before = match ordering {
        Ordering::SeqCst => Some(Barrier::Full),
        _ if ordering.releases() => Some(Barrier::Light),
        _ => None,
    };
    let after = (kind.reads() && ordering.acquires()).then_some(Barrier::AfterBranch);
    (before, after)
}

/// Exchanges carry their ordering in the instruction. One that fails is a load.
fn riscv(kind: Kind, ordering: Ordering) -> (Option<Barrier>, Option<Barrier>) {
    match kind {
        Kind::Load | Kind::FailedExchange if ordering == Ordering::SeqCst => {
            (Some(Barrier::Full), Some(Barrier::AfterReads))
        }
        Kind::Load | Kind::FailedExchange if ordering.acquires() => {
            (None, Some(Barrier::AfterReads))
        }
        Kind::Store if ordering.releases() => (Some(Barrier::BeforeWrites), None),
        _ => (None, None),
    }
}

fn alpha(ordering: Ordering) -> (Option<Barrier>, Option<Barrier>) {
    let barrier = |half: bool| half.then_some(Barrier::Full);
    (barrier(ordering.releases()), barrier(ordering.acquires()))
}

impl Machine {
    /// Whether an exchange is a read and then a write. Other accesses can come between the two, but
    /// not accesses to its location.
    pub(super) fn splits_exchanges(self) -> bool {
        matches!(self, Self::Armv8 | Self::Power | Self::Alpha)
    }

    /// The instructions that a swap with this ordering becomes.
    pub fn swap(self, ordering: Ordering) -> String {
        let (acquires, releases) = (ordering.acquires(), ordering.releases());
        match self {
            Self::X86 => "xchg".to_owned(),
            Self::Armv8 => {
                let load = if acquires { "ldaxr" } else { "ldxr" };
                let store = if releases { "stlxr" } else { "stxr" };
                format!("{load}, {store}, loop")
            }
            Self::Power => {
                let (before, after) = power(Kind::Swap, ordering);
                let before = match before {
                    Some(Barrier::Full) => "sync, ",
                    Some(_) => "lwsync, ",
                    None => "",
                };
                let after = after.map_or("", |_| ", isync");
                format!("{before}lwarx, stwcx., loop{after}")
            }
            Self::RiscV => {
                let suffix = match (acquires, releases) {
                    (true, true) => ".aqrl",
                    (true, false) => ".aq",
                    (false, true) => ".rl",
                    (false, false) => "",
                };
                format!("amoswap.w{suffix}")
            }
            Self::Alpha => {
                let barrier = |half, text| if half { text } else { "" };
                let (before, after) = (barrier(releases, "mb, "), barrier(acquires, ", mb"));
                format!("{before}ldl_l, stl_c, loop{after}")
            }
        }
    }
}
