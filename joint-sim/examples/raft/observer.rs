//! Watches all servers and clients from outside, and checks the properties of figure 3 of the paper
//! after each step.

use std::{
    cell::{RefCell, RefMut},
    collections::BTreeMap,
    fmt, mem,
    rc::Rc,
    time::{Duration, Instant},
};

use joint::oneshot;
use joint_executor::time;

use crate::{
    chaos::Moment,
    history::{History, LINEARIZABILITY, Shown},
    protocol::{
        Node, Role,
        log::{Entry, Index, Position, Term},
        message::{Id, Operation},
    },
};

/// One thing that has happened, for the picture.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: Duration,
    /// The machine, or `None` for the network.
    pub(crate) who: Option<Id>,
    pub(crate) what: String,
}

/// A property that does not hold, and where.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) property: &'static str,
    what: String,
}

impl Violation {
    fn new(property: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { property, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}

/// The last known state of a server.
#[derive(Clone, Debug, Default)]
struct Seen {
    is_leader: bool,
    term: Term,
    vote: Option<Id>,
    /// The last entry of its log.
    last: Position,
    commit: Index,
    /// Whether it is the leader, and has committed something in this term.
    has_committed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Observer(Rc<RefCell<State>>);

/// The name of the property that all clients are served in the end.
const PROGRESS: &str = "progress";

#[derive(Debug)]
struct State {
    start: Instant,
    seen: BTreeMap<Id, Seen>,
    leaders: BTreeMap<Term, Id>,
    /// Each entry that was ever in a log, and the term of the one before it.
    entries: BTreeMap<Position, (Entry, Term)>,
    /// The committed entries, and the term in which each was committed.
    committed: Vec<(Entry, Term)>,
    history: History<Id>,
    story: Vec<Line>,
    /// To whom this has happened last, unless a fault has been told.
    new: BTreeMap<Moment, Id>,
    /// Told when this happens next.
    waiting: Option<(Moment, oneshot::Sender<Id>)>,
    faults: usize,
    violation: Option<Violation>,
    /// Told of the property that is violated first.
    told: Option<oneshot::Sender<&'static str>>,
}

/// The observations of one or more runs.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) runs: usize,
    pub(crate) elapsed: Duration,
    /// How many faults there were.
    pub(crate) faults: usize,
    /// How many leaders were elected.
    pub(crate) leaders: usize,
    /// How many entries were committed.
    pub(crate) committed: usize,
    /// How many of the clients' operations have returned.
    pub(crate) operations: usize,
    /// The events of the last run, up to the violation if there is one.
    pub(crate) story: Vec<Line>,
    pub(crate) violation: Option<Violation>,
}

impl Summary {
    /// Adds a run.
    pub(crate) fn add(&mut self, run: Self) {
        self.runs += run.runs;
        self.elapsed += run.elapsed;
        self.faults += run.faults;
        self.leaders += run.leaders;
        self.committed += run.committed;
        self.operations += run.operations;
        self.story = run.story;
        self.violation = run.violation;
    }
}

impl Observer {
    /// Creates an observer. The receiver is told of the property that is violated first.
    pub(crate) fn new() -> (Self, oneshot::Receiver<&'static str>) {
        let (sender, receiver) = oneshot::channel();
        let state = State {
            start: time::now(),
            seen: BTreeMap::new(),
            leaders: BTreeMap::new(),
            entries: BTreeMap::new(),
            committed: Vec::new(),
            history: History::default(),
            story: Vec::new(),
            new: BTreeMap::new(),
            waiting: None,
            faults: 0,
            violation: None,
            told: Some(sender),
        };
        (Self(Rc::new(RefCell::new(state))), receiver)
    }

    fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    /// Adds a line to the story.
    pub(crate) fn note(&self, who: Option<Id>, what: impl fmt::Display) {
        self.state().note(who, what);
    }

    /// A server has made a step. Checks all properties that the step may violate.
    pub(crate) fn saw(&self, id: Id, node: &Node, log_has_changed: bool) {
        let mut state = self.state();
        if let Err(violation) = state.saw(id, node, log_has_changed) {
            state.violate(violation);
        }
    }

    /// A server has crashed, and will start with what is on its disk.
    pub(crate) fn crashed(&self, id: Id) {
        let mut state = self.state();
        state.seen.remove(&id);
        state.faults += 1;
        state.note(Some(id), "crashes");
    }

    /// No message passes between these machines and those.
    pub(crate) fn split(&self, these: &[String], those: &[String]) {
        let mut state = self.state();
        state.faults += 1;
        let (these, those) = (these.join(" "), those.join(" "));
        state.note(None, format_args!("network: {these} | {those}"));
    }

    /// The clients have waited for this long, although there were no faults. Returns the property
    /// that this violates.
    pub(crate) fn are_late(&self, waited: Duration) -> &'static str {
        let what = format!("{waited:?} without faults do not suffice");
        self.state().violate(Violation::new(PROGRESS, what));
        PROGRESS
    }

    /// Returns the server to which this has happened last. Nothing is returned twice, so this waits
    /// for the next time if nothing new has happened.
    pub(crate) async fn next(&self, moment: Moment) -> Id {
        let is_new = self.state().new.remove(&moment);
        if let Some(id) = is_new {
            self.state().new.clear();
            return id;
        }
        let (sender, receiver) = oneshot::channel();
        self.state().waiting = Some((moment, sender));
        let id = receiver.await.expect("only one fault waits");
        self.state().new.clear();
        id
    }

    pub(crate) fn called(&self, client: Id, key: u64, operation: Operation) -> usize {
        let mut state = self.state();
        state.note(Some(client), Shown(key, operation));
        let now = state.story.len();
        state.history.call(now, client, key, operation)
    }

    pub(crate) fn returned(&self, client: Id, call: usize, found: u64) {
        let mut state = self.state();
        state.note(Some(client), format_args!("found {found}"));
        let now = state.story.len();
        if let Err(text) = state.history.returned(now, call, Some(found)) {
            state.violate(Violation::new(LINEARIZABILITY, text));
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut state = self.state();
        Summary {
            runs: 1,
            elapsed: time::now() - state.start,
            faults: state.faults,
            violation: state.violation.clone(),
            leaders: state.leaders.len(),
            committed: state.committed.len(),
            operations: state.history.len(),
            story: mem::take(&mut state.story),
        }
    }
}

impl State {
    /// The story ends with the first violation.
    fn violate(&mut self, violation: Violation) {
        if let Some(told) = self.told.take() {
            // The receiver may have gone, at the end of the run.
            let _ = told.send(violation.property);
            self.violation = Some(violation);
        }
    }

    fn note(&mut self, who: Option<Id>, what: impl fmt::Display) {
        if self.violation.is_some() {
            return;
        }
        self.story.push(Line {
            at: time::now() - self.start,
            who,
            what: what.to_string(),
        });
    }

    fn has_come(&mut self, moment: Moment, id: Id) {
        let told = match self.waiting.take_if(|(waited, _)| *waited == moment) {
            // Nobody waits any more if it has taken too long.
            Some((_, waiting)) => waiting.send(id).is_ok(),
            None => false,
        };
        if !told {
            self.new.insert(moment, id);
        }
    }

    fn saw(&mut self, id: Id, node: &Node, log_has_changed: bool) -> Result<(), Violation> {
        let persistent = &node.persistent;
        let mut now = Seen {
            is_leader: matches!(node.role, Role::Leader(_)),
            term: persistent.current_term,
            vote: persistent.voted_for,
            last: persistent.log.last(),
            commit: node.commit_index,
            has_committed: false,
        };
        let before = match self.seen.get(&id) {
            Some(before) => before.clone(),
            None => {
                self.note(Some(id), "starts");
                Seen {
                    last: Position::default(),
                    commit: 0,
                    ..now.clone()
                }
            }
        };
        let is_new_leader = now.is_leader && (!before.is_leader || now.term > before.term);
        let has_new_commit = now.commit > before.commit;
        let had_committed = before.has_committed && !is_new_leader;
        now.has_committed = now.is_leader && (had_committed || has_new_commit);
        self.seen.insert(id, now.clone());
        if now.vote.is_some() && (now.vote != before.vote || now.term > before.term) {
            match now.vote.filter(|&vote| vote != id) {
                Some(candidate) => self.note(Some(id), format_args!("votes {candidate}")),
                None => self.note(Some(id), format_args!("asks, term {}", now.term)),
            }
        }
        if before.is_leader && !now.is_leader {
            self.note(Some(id), "follows");
        }
        if log_has_changed {
            self.check_log(id, node, before.last)?;
        }
        if is_new_leader {
            self.note(Some(id), format_args!("LEADS, term {}", now.term));
            self.check_leader(id, node)?;
        }
        if now.commit > before.commit {
            self.note(Some(id), format_args!("commits {}", now.commit));
            self.check_commit(id, node, before.commit)?;
            if now.has_committed && !had_committed {
                self.has_come(Moment::Commits, id);
            }
        }
        Ok(())
    }

    /// "Log Matching: if two logs contain an entry with the same index and term, then the logs are
    /// identical in all entries up through the given index." By induction it is enough that such
    /// entries are equal, and that those before them are of the same term.
    fn check_log(&mut self, id: Id, node: &Node, before: Position) -> Result<(), Violation> {
        let log = &node.persistent.log;
        // Up to an entry that was there before, nothing has changed.
        let from = if log.contains(before) {
            before.index
        } else {
            0
        };
        let mut previous = log.position(from).term;
        for (index, entry) in (from + 1..).zip(log.after(from, usize::MAX)) {
            let term = entry.term;
            let here = Position { term, index };
            let known = self.entries.entry(here).or_insert((*entry, previous));
            if *known != (*entry, previous) {
                let what = format!("entry {index} of term {term} differs on {id}");
                return Err(Violation::new("log matching", what));
            }
            previous = term;
        }
        Ok(())
    }

    fn check_leader(&mut self, id: Id, node: &Node) -> Result<(), Violation> {
        self.has_come(Moment::Elected, id);
        let persistent = &node.persistent;
        let term = persistent.current_term;
        // "Election Safety: at most one leader can be elected in a given term."
        let leader = *self.leaders.entry(term).or_insert(id);
        if leader != id {
            let what = format!("{leader} and {id} lead term {term}");
            return Err(Violation::new("election safety", what));
        }
        // "Leader Completeness: if a log entry is committed in a given term, then that entry will
        // be present in the logs of the leaders for all higher-numbered terms."
        for (index, (entry, committed_in)) in (1..).zip(&self.committed) {
            if *committed_in < term && persistent.log.get(index) != Some(entry) {
                let what = format!(
                    "{id} leads term {term} without entry {index}, which was committed in term \
                     {committed_in}"
                );
                return Err(Violation::new("leader completeness", what));
            }
        }
        Ok(())
    }

    /// "State Machine Safety: if a server has applied a log entry at a given index to its state
    /// machine, no other server will ever apply a different log entry for the same index."
    fn check_commit(&mut self, id: Id, node: &Node, before: Index) -> Result<(), Violation> {
        let persistent = &node.persistent;
        for index in before + 1..=node.commit_index {
            let entry = *persistent.log.get(index).expect("it has been applied");
            match self.committed.get(index as usize - 1) {
                None => self.committed.push((entry, persistent.current_term)),
                Some((other, _)) if *other == entry => {}
                Some(_) => {
                    let what =
                        format!("{id} applies another entry {index} than was committed before");
                    return Err(Violation::new("state machine safety", what));
                }
            }
        }
        Ok(())
    }
}
