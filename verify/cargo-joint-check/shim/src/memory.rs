//! The memory of a model. What an execution frees is kept until the execution ends, so that a later
//! use is found, and no address means two things. Memory of the heap has a name that is the same in
//! each execution: the thread that allocated it, its size, and a number.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    panic::Location,
};
use real::{alloc::System, collections::BTreeMap};

use joint_check::alloc::{is_in_model, outside};

/// A piece of memory that the code under test has allocated in this execution.
#[derive(Clone, Copy)]
struct Piece {
    layout: Layout,
    thread: u64,
    number: u32,
    /// Where the thread that freed it was.
    freed: Option<&'static Location<'static>>,
}

#[derive(Default)]
struct Pieces {
    all: BTreeMap<usize, Piece>,
    counts: BTreeMap<(u64, usize), u32>,
}

real::thread_local! {
    static PIECES: ManuallyDrop<RefCell<Pieces>> = const {
        ManuallyDrop::new(RefCell::new(Pieces {
            all: BTreeMap::new(),
            counts: BTreeMap::new(),
        }))
    };
    /// Where the last step of the model was.
    static LAST: Cell<&'static Location<'static>> = const { Cell::new(Location::caller()) };
    static TWICE: Cell<Option<Piece>> = const { Cell::new(None) };
    /// What to do before the next step of a thread.
    static LATER: RefCell<Vec<(u64, Later)>> = const { RefCell::new(Vec::new()) };
}

/// An action on an address, and a number.
type Later = (fn(usize, u64), usize, u64);

/// Comes before each step of the model.
pub(crate) fn before_step(at: &'static Location<'static>) {
    if !real::thread::panicking() {
        check();
    }
    LAST.set(at);
    if LATER.with_borrow(|later| !later.is_empty()) {
        let thread = crate::threads::number();
        let now = |&mut (whose, _): &mut (u64, Later)| whose == thread;
        let now = || LATER.with_borrow_mut(|later| later.extract_if(.., now).next());
        while let Some((_, (f, address, number))) = now() {
            f(address, number);
        }
    }
}

/// Does this before the next step of this thread.
pub(crate) fn later(f: fn(usize, u64), address: usize, number: u64) {
    let _outside = outside();
    let thread = crate::threads::number();
    LATER.with_borrow_mut(|all| all.push((thread, (f, address, number))));
}

/// Where the last step of the model was.
pub(crate) fn last() -> &'static Location<'static> {
    LAST.get()
}

/// Fails if memory was freed twice and nothing has happened since.
pub(crate) fn check() {
    if let Some(piece) = TWICE.take() {
        panic!(
            "memory of {} bytes is freed twice: before {}, after {}",
            piece.layout.size(),
            LAST.get(),
            piece.freed.expect("it was freed"),
        );
    }
}

/// Frees what the last execution has freed, and forgets the rest.
pub(crate) fn begin() {
    TWICE.set(None);
    LATER.take();
    let pieces = PIECES.with(|pieces| pieces.take());
    for (address, piece) in pieces.all {
        if piece.freed.is_some() {
            // SAFETY: it was allocated with this layout, and was only kept.
            unsafe { System.dealloc(address as *mut u8, piece.layout) };
        }
    }
}

fn piece_at(address: usize) -> Option<(usize, Piece)> {
    PIECES.with(|pieces| {
        let pieces = pieces.borrow();
        let (&start, &piece) = pieces.all.range(..=address).next_back()?;
        (address < start + piece.layout.size()).then_some((start, piece))
    })
}

/// The name of a place of the heap: thread, size, number, offset.
pub(crate) fn name(address: usize) -> Option<[u64; 4]> {
    let (start, piece) = piece_at(address)?;
    let (size, offset) = (piece.layout.size() as u64, (address - start) as u64);
    Some([piece.thread, size, piece.number.into(), offset])
}

/// Fails if the memory was freed.
#[track_caller]
pub(crate) fn assert_alive(what: &str, address: usize) {
    let freed = piece_at(address).and_then(|(_, piece)| piece.freed);
    if let Some(at) = freed
        && !real::thread::panicking()
    {
        panic!("{what} is used after its memory was freed, which came after {at}");
    }
}

/// The heap of the test program.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: all memory is the system's, and is freed at most once.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { self.alloc_zeroed(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Atomics and cells in memory that was never written are made at their first use.
        // SAFETY: as the caller says.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if is_in_model() {
            let _outside = outside();
            let thread = crate::threads::number();
            PIECES.with(|pieces| {
                let mut pieces = pieces.borrow_mut();
                let number = pieces.counts.entry((thread, layout.size())).or_default();
                *number += 1;
                let piece = Piece {
                    layout,
                    thread,
                    number: *number,
                    freed: None,
                };
                pieces.all.insert(memory as usize, piece);
            });
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let is_kept = PIECES.with(|pieces| {
            // The checker frees nothing of the code under test while it looks at the pieces.
            let Ok(mut pieces) = pieces.try_borrow_mut() else {
                return false;
            };
            let Some(piece) = pieces.all.get_mut(&(memory as usize)) else {
                return false;
            };
            if piece.freed.is_some() {
                TWICE.set(Some(*piece));
            }
            piece.freed.get_or_insert(LAST.get());
            true
        });
        if !is_kept {
            // SAFETY: as the caller says.
            unsafe { System.dealloc(memory, layout) };
        }
    }
}
