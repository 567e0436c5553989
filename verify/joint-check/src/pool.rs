//! The graphs that are left to explore, and the workers that take them.

use core::panic::Location;
use std::{
    collections::HashSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    graph::Graph,
    model::Count,
    run::{Ended, Failure, Limits, Places, forget_trials, run_model},
};

/// Upper bounds of an exploration.
pub(crate) struct Bounds {
    pub(crate) runs: Option<usize>,
    pub(crate) duration: Option<Duration>,
    pub(crate) finds_duplicates: bool,
}

/// An exploration. Each graph can be continued on its own, so workers share only this.
struct Pool {
    state: Mutex<State>,
    /// Graphs were added, or a worker has become idle.
    changed: Condvar,
    bounds: Bounds,
    started: Instant,
    workers: usize,
    /// Where the counts were made whose changes have an order.
    ordered: Places,
}

/// Where a graph is in the order in which one worker takes them: as many numbers as steps lead to
/// it. One worker needs none.
type Key = Vec<u32>;

/// What ends an exploration.
enum Stop {
    Failed(Failure),
    /// An execution looks at a count that was made here.
    Looked(&'static Location<'static>),
    /// An execution uses a lazy static, whose address this is.
    Discovered(usize),
}

/// After this time, the user is told once what to do.
const LONG: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    pending: Vec<(Key, Graph)>,
    busy: usize,
    runs: usize,
    count: Count,
    /// The bound that has ended the exploration.
    reached: Option<String>,
    seen: HashSet<Vec<u64>>,
    /// The first that one worker would have come to, of those that were found.
    stop: Option<(Key, Stop)>,
    has_advised: bool,
}

impl State {
    /// Whether one worker would not have come to a graph.
    fn is_behind_the_stop(&self, key: &Key) -> bool {
        self.stop.as_ref().is_some_and(|(stop, _)| stop <= key)
    }
}

/// Explores all executions of a model, and counts them.
///
/// # Errors
/// If one fails.
pub(crate) fn explore(
    model: &(impl Fn() + Clone + Send + Sync + 'static),
    workers: usize,
    limits: Limits,
    bounds: Bounds,
) -> Result<Count, Failure> {
    let mut pool = Pool {
        state: Mutex::default(),
        workers,
        changed: Condvar::new(),
        bounds,
        started: Instant::now(),
        ordered: Places::new(),
    };
    let (mut has_advised, mut statics) = (false, Vec::new());
    let (state, failure) = loop {
        let graph = Graph::with(statics.clone().into());
        pool.state = Mutex::new(State {
            pending: vec![(Key::new(), graph)],
            has_advised,
            ..State::default()
        });
        if workers <= 1 {
            pool.work(limits, model);
        } else {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| pool.work(limits, model));
                }
            });
        }
        let state = core::mem::take(&mut pool.state).into_inner();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        has_advised = state.has_advised;
        match state.stop.take() {
            Some((_, Stop::Looked(made))) => pool.ordered.push(made),
            Some((_, Stop::Discovered(key))) => statics.push(key),
            Some((_, Stop::Failed(failure))) => break (state, Some(failure)),
            None => break (state, None),
        }
    };
    let count = state.count;
    let failure = failure.or_else(|| {
        (count.complete == 0).then(|| Failure {
            text: none_ends(count, state.reached, limits),
            panic: None,
        })
    });
    failure.map_or(Ok(count), Err)
}

/// Says which bound leaves out all executions that end, and with them all that a model asserts.
fn none_ends(count: Count, reached: Option<String>, limits: Limits) -> String {
    let deviations = limits.deviations.filter(|_| count.is_cut);
    let bound = match (reached, deviations) {
        (Some(bound), _) => format!("within {bound}"),
        (None, Some(most)) => format!("with `JOINT_CHECK_DEVIATIONS` of {most}"),
        (None, None) => {
            "because a loop that counts its rounds waits for more of them than are explored".into()
        }
    };
    let Count { blocked, dead, .. } = count;
    format!("no execution ends {bound}: {blocked} are blocked, and {dead} had no place for a write")
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, limits: Limits, model: &(impl Fn() + Clone + 'static)) {
        forget_trials();
        while let Some((key, graph)) = self.next() {
            let (ended, graph, more) = run_model(graph, limits, &self.ordered, None, model);
            self.done(key, ended, &graph, more);
        }
    }

    /// Waits for a graph. Returns nothing if none is left, or the exploration is over.
    fn next(&self) -> Option<(Key, Graph)> {
        let Bounds { runs, duration, .. } = self.bounds;
        let mut state = self.lock();
        loop {
            // Each of those that are being explored may end, and a blocked one does not count.
            let complete = state.count.complete as usize;
            let may_be_last = runs.is_some_and(|most| complete + state.busy >= most);
            let waits = may_be_last && state.busy > 0;
            let next = if waits { None } else { self.take(&mut state) };
            if let Some((key, graph)) = next {
                if state.is_behind_the_stop(&key) {
                    continue;
                }
                let duration = duration.filter(|&most| self.started.elapsed() > most);
                let duration = duration.map(|most| format!("`max_duration` of {most:?}"));
                let runs = runs.filter(|&most| complete >= most);
                let runs = runs.map(|most| format!("`max_permutations` of {most}"));
                if let Some(bound) = duration.or(runs) {
                    state.pending.clear();
                    state.count.is_cut = true;
                    state.reached = Some(bound);
                    return None;
                }
                state.runs += 1;
                state.busy += 1;
                self.advise(&mut state);
                return Some((key, graph));
            }
            if state.busy == 0 {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a graph, the last one first. Under a bound, those with the fewest deviations come
    /// first until an execution has ended, because the bound may leave out whatever comes later.
    fn take(&self, state: &mut State) -> Option<(Key, Graph)> {
        let Bounds { runs, duration, .. } = self.bounds;
        let is_bounded = runs.is_some() || duration.is_some();
        if !is_bounded || state.count.complete > 0 {
            return state.pending.pop();
        }
        let graphs = state.pending.iter().enumerate().rev();
        let first = graphs.min_by_key(|(_, (_, graph))| graph.deviations)?.0;
        Some(state.pending.remove(first))
    }

    /// Says what to do about a model that takes long.
    fn advise(&self, state: &mut State) {
        if state.has_advised || self.started.elapsed() < LONG {
            return;
        }
        state.has_advised = true;
        let name = std::thread::current();
        let name = name.name().unwrap_or("a model").to_owned();
        let (runs, left, events) = (state.runs, state.pending.len(), state.count.events);
        let seconds = LONG.as_secs();
        eprintln!(
            "joint-check: {name} has not ended after {seconds} seconds, {runs} executions of up to \
             {events} events. At least {left} are left. To make it end:\n\
             * fewer threads, or fewer operations in each;\n\
             * `hint::spin_loop` or `thread::yield_now` in each loop that waits, also in one that \
             repeats an exchange;\n\
             * JOINT_CHECK_WORKERS=all, to explore on all processors;\n\
             * JOINT_CHECK_DEVIATIONS=2, or less or more, to explore only what is near to the first \
             execution;\n\
             * LOOM_MAX_DURATION=60, to end after so many seconds."
        );
    }

    fn done(&self, key: Key, ended: Ended, graph: &Graph, more: Vec<Graph>) {
        let mut state = self.lock();
        state.busy -= 1;
        let keys = (0..more.len() as u32)
            .rev()
            .map(|number| match self.workers {
                0 | 1 => Key::new(),
                _ => [&*key, &[number]].concat(),
            });
        state.pending.extend(keys.zip(more));
        let count = &mut state.count;
        count.events = count.events.max(graph.events().count());
        count.is_cut |= graph.is_cut;
        let is_dead = matches!(ended, Ended::Dead);
        let mut stop = None;
        match ended {
            Ended::Complete => count.complete += 1,
            Ended::Blocked => count.blocked += 1,
            Ended::Dead => count.dead += 1,
            Ended::Again(made) => stop = Some(Stop::Looked(made)),
            Ended::Discovered(key) => stop = Some(Stop::Discovered(key)),
            Ended::Failed(failure) => stop = Some(Stop::Failed(failure)),
            Ended::Doubtful(_) | Ended::Tried(_) => unreachable!("a trial has decided"),
        }
        if let Some(stop) = stop.filter(|_| !state.is_behind_the_stop(&key)) {
            state.stop = Some((key, stop));
        }
        if self.bounds.finds_duplicates && !is_dead {
            let is_new = state.seen.insert(graph.canonical());
            state.count.duplicates += u64::from(!is_new);
        }
        drop(state);
        self.changed.notify_all();
    }
}
