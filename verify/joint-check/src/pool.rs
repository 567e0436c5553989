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
    run::{Ended, Failure, Limits, Places, run},
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
    /// Where the counts were made whose changes have an order.
    ordered: Places,
}

#[derive(Default)]
struct State {
    pending: Vec<Graph>,
    busy: usize,
    runs: usize,
    count: Count,
    /// The bound that has ended the exploration.
    reached: Option<String>,
    seen: HashSet<Vec<u64>>,
    failure: Option<Failure>,
    /// Where a count was made at which an execution looks.
    looked: Option<&'static Location<'static>>,
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
        changed: Condvar::new(),
        bounds,
        started: Instant::now(),
        ordered: Places::new(),
    };
    let state = loop {
        pool.state = Mutex::new(State {
            pending: vec![Graph::new()],
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
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match state.looked {
            Some(made) if state.failure.is_none() => pool.ordered.push(made),
            _ => break state,
        }
    };
    let count = state.count;
    let failure = state.failure.or_else(|| {
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
        while let Some(graph) = self.next() {
            let model = model.clone();
            let (ended, graph, more) = run(graph, limits, &self.ordered, None, model);
            self.done(ended, &graph, more);
        }
    }

    /// Waits for a graph. Returns nothing if none is left, or the exploration is over.
    fn next(&self) -> Option<Graph> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() || state.looked.is_some() {
                return None;
            }
            if let Some(graph) = state.pending.pop() {
                let Bounds { runs, duration, .. } = self.bounds;
                let duration = duration.filter(|&most| self.started.elapsed() > most);
                let duration = duration.map(|most| format!("`max_duration` of {most:?}"));
                let runs = runs.filter(|&most| state.runs >= most);
                let runs = runs.map(|most| format!("`max_permutations` of {most}"));
                if let Some(bound) = duration.or(runs) {
                    state.pending.clear();
                    state.count.is_cut = true;
                    state.reached = Some(bound);
                    return None;
                }
                state.runs += 1;
                state.busy += 1;
                return Some(graph);
            }
            if state.busy == 0 {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, ended: Ended, graph: &Graph, more: Vec<Graph>) {
        let mut state = self.lock();
        state.busy -= 1;
        state.pending.extend(more);
        let count = &mut state.count;
        count.events = count.events.max(graph.events().count());
        count.is_cut |= graph.is_cut;
        let is_dead = matches!(ended, Ended::Dead);
        match ended {
            Ended::Complete => count.complete += 1,
            Ended::Blocked => count.blocked += 1,
            Ended::Dead => count.dead += 1,
            Ended::Again(made) => state.looked = Some(made),
            Ended::Failed(failure) => _ = state.failure.get_or_insert(failure),
        }
        if self.bounds.finds_duplicates && !is_dead {
            let is_new = state.seen.insert(graph.canonical());
            state.count.duplicates += u64::from(!is_new);
        }
        drop(state);
        self.changed.notify_all();
    }
}
