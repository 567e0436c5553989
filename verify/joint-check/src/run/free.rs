//! The end of atomics and cells. It is no step, but all accesses have to happen before it.
//!
//! What std's `Arc` orders is not seen here, so a value that threads share through one may seem to
//! be dropped too early. A trial decides: the run is repeated up to the drop, with nothing of the
//! other threads but what leads to it. If the value is dropped there as well, all accesses that the
//! trial has left out come too late. One that leads to the drop does not if an `Arc` may order it:
//! if there was an `Arc` with two handles at the access that has at most one at the drop.

use core::{cell::RefCell, ops::Range, panic::Location};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{
    Attempt, Ended, Fault, Limits, Phase, Places, Request, Run, before_step, drive::run, perform,
    with,
};
use crate::{
    explore::Choice,
    graph::{Event, Graph, Id, Kind, MAX_THREADS},
};

/// The location of an atomic or a cell of a model, which ends with it.
#[derive(Debug)]
pub(crate) struct Owned {
    place: Id,
    run: u32,
}

impl Owned {
    /// Creates a location. `name` is that of the type to which it belongs.
    #[track_caller]
    pub(crate) fn new(name: &'static str, kind: Kind, value: u64) -> Self {
        let place = perform(name, Request::Make { kind, value }).id;
        let run = with(|run| run.number);
        Self { place, run }
    }

    /// Returns the location, for an access.
    #[track_caller]
    pub(crate) fn id(&self) -> Id {
        before_step(Location::caller());
        let (address, place) = (core::ptr::from_ref(self).addr(), self.place);
        with(|run| {
            let access = run.next_step();
            run.lane().touch = (address, access.index);
            run.touched.push(Touched {
                address,
                place,
                access,
            });
        });
        place
    }
}

impl Drop for Owned {
    #[track_caller]
    fn drop(&mut self) {
        // What a failed model has left may be dropped while none runs, or another one does.
        if super::number() == Some(self.run) {
            perform("drop", Request::Free(self.place));
        }
    }
}

/// Records memory that the model has allocated.
pub(crate) fn allocated(address: usize, size: usize) {
    let record = |run: &RefCell<Option<Run>>| {
        let mut run = run.try_borrow_mut().ok()?;
        let run = run.as_mut()?;
        let before = run.next_step();
        run.pieces.push((address, before, size));
        Some(())
    };
    if size >= size_of::<Owned>() {
        _ = super::RUN.try_with(record);
    }
}

/// Frees memory of the model.
pub(crate) fn dealloc(address: usize, size: usize) {
    if size >= size_of::<Owned>() && super::number().is_some() {
        perform("dealloc", Request::Dealloc(address, size));
    }
}

/// An access to a location: the address of the location in this run, and the step of the access.
pub(super) struct Touched {
    address: usize,
    place: Id,
    access: Id,
}

/// Memory that was allocated in this run. Its address may differ when the run is repeated.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct Piece {
    /// The step of its thread that would have come next.
    before: Id,
    size: usize,
    /// How many of that size its thread had allocated there before.
    nth: usize,
}

/// A location that has ended.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(crate) struct Freed {
    pub(super) place: Id,
    /// The step of its thread that would have come next.
    pub(super) before: Id,
    /// The memory that was freed with it, unless it was dropped.
    piece: Option<Piece>,
}

/// What leads to a drop: what is dropped where, the spawns of the threads, and what they have done.
type Way = (Freed, [Option<Id>; MAX_THREADS], Vec<u64>);

std::thread_local! {
    /// The accesses that std's `Arc` orders before the drops that have been tried. None if a trial
    /// has not come to the drop, which is then in time.
    static TRIED: RefCell<HashMap<Way, Option<Vec<Id>>>> = RefCell::default();
}

/// Forgets the trials of another model.
pub(crate) fn forget_trials() {
    TRIED.take();
}

/// Repeats a run up to a drop.
pub(crate) struct Trial {
    freed: Freed,
    graph: Graph,
    /// The accesses that lead to the drop, but do not happen before it.
    asked: Vec<Id>,
}

impl Trial {
    fn way(&self) -> Way {
        let (freed, graph) = (self.freed, &self.graph);
        (freed, graph.spawned, graph.canonical())
    }

    /// The accesses that are ordered before the drop, if that has been tried.
    fn verdict(&self) -> Option<Option<Vec<Id>>> {
        TRIED.with_borrow(|tried| tried.get(&self.way()).cloned())
    }

    pub(super) fn asks(&self, access: Id) -> bool {
        self.asked.contains(&access)
    }

    pub(super) fn thread(&self) -> u8 {
        self.freed.before.thread
    }

    /// Whether a thread has done what leads to the drop.
    pub(super) fn stops(&self, graph: &Graph, thread: u8, at: u16) -> bool {
        let is_last = usize::from(at) == graph.threads[usize::from(thread)].len();
        let starts_another = || {
            let last = graph.threads[usize::from(thread)].last();
            last.is_some_and(|event| matches!(event.kind, Kind::Spawn(_)))
        };
        thread != self.thread() && is_last && !starts_another()
    }
}

impl Run {
    /// What has freed the memory, or the location, of an access that is not in the graph yet.
    pub(super) fn freed_before(&self, access: Id, place: Id) -> Option<Freed> {
        let ended = self.dropped(place);
        let (address, step) = self.lanes[usize::from(access.thread)].touch;
        let mut gone = self.gone.iter().filter(|_| step == access.index);
        let gone = gone.find(|(memory, _)| memory.contains(&address));
        let gone = gone.map(|&(_, freed)| Freed { place, ..freed });
        ended.or(gone)
    }

    /// Returns the drop that ended an atomic or a cell, if any.
    fn dropped(&self, place: Id) -> Option<Freed> {
        let made = &self.lanes[usize::from(place.thread)].freed;
        *made.get(usize::from(place.index))?
    }

    pub(super) fn next_step(&self) -> Id {
        let thread = self.current;
        let index = self.lanes[usize::from(thread)].at;
        Id { thread, index }
    }

    /// Ends a location.
    pub(super) fn free(&mut self, place: Id) -> Attempt {
        let known = self.graph.known_before(self.next_step());
        // An exchange is an access by its read.
        let writes_again = |event: &Event| matches!(event.kind, Kind::Write { is_exchange: true });
        let is_other = |event: &&Event| event.kind.is_access() && !writes_again(event);
        let others = self.graph.unknown(place, known).filter(is_other);
        let others = others.map(|other| (place, other.id)).collect();
        let freed = match self.is_in_time(place, others, None) {
            Ok(freed) => freed,
            Err(attempt) => return attempt,
        };
        let made = &mut self.lanes[usize::from(place.thread)].freed;
        made.resize(made.len().max(usize::from(place.index) + 1), None);
        made[usize::from(place.index)] = Some(freed);
        super::spin::PASS
    }

    /// Frees memory, and with it the locations that are there and have not ended. One that has
    /// moved was last used elsewhere.
    pub(super) fn dealloc(&mut self, memory: Range<usize>) -> Attempt {
        let known = self.graph.known_before(self.next_step());
        // Of one that has not been done yet, its own step says so.
        let is_unordered = |it: &&Touched| {
            memory.contains(&it.address)
                && self.graph.holds(it.access)
                && !it.access.is_in(&known)
                && self.dropped(it.place).is_none()
        };
        let others = self.touched.iter().filter(is_unordered);
        let mut others: Vec<_> = others.map(|other| (other.place, other.access)).collect();
        let is_asked = !others.is_empty() || matches!(self.phase, Phase::Trying(_));
        let piece = is_asked.then(|| self.piece(&memory)).flatten();
        // A trial would not know memory again that is kept from one execution to the next.
        others.retain(|_| piece.is_some());
        match self.is_in_time(Id::ROOT, others, piece) {
            Err(attempt) => return attempt,
            Ok(freed) => self.gone.push((memory, freed)),
        }
        super::spin::PASS
    }

    /// Returns the name of memory, if it was allocated in this run.
    fn piece(&self, memory: &Range<usize>) -> Option<Piece> {
        let is_this = |&(address, _, size): &(usize, Id, usize)| {
            address == memory.start && size == memory.len()
        };
        let at = self.pieces.iter().rposition(is_this)?;
        let (_, before, size) = self.pieces[at];
        let others = self.pieces[..at].iter();
        let nth = others.filter(|other| (other.1, other.2) == (before, size));
        Some(Piece {
            before,
            size,
            nth: nth.count(),
        })
    }

    /// Whether what a thread frees may be freed now, although there are perhaps other accesses
    /// which do not happen before that.
    fn is_in_time(
        &mut self,
        place: Id,
        others: Vec<(Id, Id)>,
        piece: Option<Piece>,
    ) -> Result<Freed, Attempt> {
        let before = self.next_step();
        let place = others.first().map_or(place, |&(place, _)| place);
        let freed = Freed {
            place,
            before,
            piece,
        };
        if let Phase::Trying(trial) = &self.phase {
            let tried = &trial.freed;
            let is_same = piece.is_some() || tried.place == place;
            if (tried.before, tried.piece) == (before, piece) && is_same {
                self.phase = Phase::Tried(self.ordered_by_arcs(trial));
                return Err(Attempt::Wait);
            }
        } else if !others.is_empty() {
            let trial = self.trial(freed, &others);
            let Some(verdict) = trial.verdict() else {
                return Err(self.doubt(trial));
            };
            let is_ordered = |access: Id| verdict.as_ref().is_none_or(|all| all.contains(&access));
            let late = others.into_iter().find(|&(_, access)| !is_ordered(access));
            if let Some((place, access)) = late {
                return Err(self.fail(Fault::Freed(Freed { place, ..freed }, access)));
            }
        }
        Ok(freed)
    }

    /// Ends the run until a trial has decided. It is then repeated, from the beginning of a loop
    /// whose end decides what else is explored.
    fn doubt(&mut self, trial: Trial) -> Attempt {
        if let Some(spin) = self.phase.spin() {
            self.graph = core::mem::take(&mut spin.before);
        }
        self.phase = Phase::Doubtful(Box::new(trial));
        Attempt::Wait
    }

    /// The trial of a drop that may be too early.
    fn trial(&self, freed: Freed, others: &[(Id, Id)]) -> Trial {
        let mut graph = self.graph.clone();
        graph.truncate(0, &self.graph.reached_before(freed.before)[1]);
        let asked = others.iter().map(|&(_, access)| access);
        let asked = asked.filter(|&access| graph.holds(access)).collect();
        Trial {
            freed,
            graph,
            asked,
        }
    }

    /// Notes the `Arc`s of std's which have two handles at an access that a trial asks for.
    pub(super) fn see_arcs(&mut self, access: Id) {
        let arcs = self.pieces.iter().filter(|&&(address, _, size)| {
            let is_ours = self.counts.range(address..address + size).next().is_some();
            !is_ours && size >= size_of::<Handles>() && is_shared(handles(address))
        });
        let arcs = arcs.map(|&(address, ..)| (access, address, handles(address)));
        self.arcs.extend(arcs);
    }

    /// The accesses that an `Arc` may order before the drop of a trial.
    fn ordered_by_arcs(&self, trial: &Trial) -> Vec<Id> {
        if !cfg!(feature = "delayed-frees") {
            return match is_in_an_arc() {
                true => trial.asked.clone(),
                false => Vec::new(),
            };
        }
        // Other memory may begin with such numbers, but these do not change.
        let has_ended = |before: Handles, now: Handles| now[0] <= 1 && now != before;
        let arcs = self.arcs.iter();
        let ended = arcs.filter(|&&(_, address, before)| has_ended(before, handles(address)));
        ended.map(|&(access, ..)| access).collect()
    }
}

/// The two counts at the beginning of the memory of an `Arc`: how many handles keep the value, and
/// how many the memory, where all of the first count as one.
pub(super) type Handles = [usize; 2];

/// Reads the beginning of memory of the model, which need not be an `Arc`.
fn handles(address: usize) -> Handles {
    let handles: *const Handles = core::ptr::with_exposed_provenance(address);
    if !handles.is_aligned() {
        return [0; 2];
    }
    // SAFETY: the memory has this size, was zero at first, and is kept until the trial ends. No
    // other thread of the system uses it.
    unsafe { handles.read_volatile() }
}

/// Whether an `Arc` may have these counts, and has two handles.
fn is_shared([strong, weak]: Handles) -> bool {
    const MOST: usize = 1 << 16;
    (1..MOST).contains(&strong) && (1..MOST).contains(&weak) && strong + weak > 2
}

/// Whether std's `Arc` drops what is being dropped. In an optimized build, it is not seen where it
/// frees its memory. Used where the allocator is not the checker's.
fn is_in_an_arc() -> bool {
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    let mut lines = trace.lines();
    lines.any(|line| line.contains("sync::Arc<") && line.contains("drop_slow"))
}

/// Runs a model along a graph and on from there, or along the line of a failure. Returns the graphs
/// that are left to explore.
pub(crate) fn run_model(
    mut graph: Graph,
    limits: Limits,
    ordered: &Places,
    line: Option<VecDeque<(u8, Choice)>>,
    model: &(impl Fn() + Clone + 'static),
) -> (Ended, Graph, Vec<Graph>) {
    let mut pending = Vec::new();
    loop {
        let phase = line.clone().map_or(Phase::Replaying, Phase::Following);
        let mut statics = graph.statics.clone();
        let (ended, last, others) = run(graph, limits, ordered, phase, model.clone());
        pending.extend(others);
        match ended {
            Ended::Doubtful(trial) => {
                let (way, graph) = (trial.way(), trial.graph.clone());
                let phase = Phase::Trying(trial);
                let (tried, ..) = run(graph, limits, ordered, phase, model.clone());
                let ordered = match tried {
                    Ended::Tried(ordered) => Some(ordered),
                    _ => None,
                };
                TRIED.with_borrow_mut(|tried| tried.insert(way, ordered));
            }
            Ended::Discovered(key) if line.is_some() => {
                Arc::make_mut(&mut statics).push(key);
            }
            ended => return (ended, last, pending),
        }
        graph = match line {
            Some(_) => Graph::with(statics),
            None => last,
        };
    }
}
