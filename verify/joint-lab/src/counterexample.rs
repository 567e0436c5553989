//! [`Counterexample`]: an execution that failed, and its explanation.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    analysis::{Analysis, analyse},
    event::{Event, Step, Trace},
    fold, html, svg, text,
    verdict::{self, Missing, Verdict},
};

/// The execution in which a model failed.
#[derive(Debug)]
pub struct Counterexample {
    pub(super) message: String,
    pub(super) trace: Trace,
    pub(super) known: Analysis,
    pub(super) verdict: Verdict,
    /// The steps to show, each with the number of steps of a library that it stands for.
    rows: BTreeMap<usize, usize>,
}

impl Counterexample {
    pub(super) fn new(message: String, mut trace: Trace) -> Self {
        let (known, verdict) = judge(&message, &mut trace);
        let mut made = Self {
            message,
            trace,
            known,
            verdict,
            rows: BTreeMap::new(),
        };
        made.rows = fold::folded(&made, &made.all_shown());
        made
    }

    /// Returns the message with which the model failed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether two recorded accesses race.
    pub fn is_race(&self) -> bool {
        matches!(self.verdict, Verdict::Race { .. })
    }

    /// Returns the names of the operations that lack an ordering, such as `completion::complete`,
    /// each with the half that it lacks: `release`, `acquire`, or `SeqCst fence`. An operation
    /// without a name is given by its place in the source.
    pub fn missing(&self) -> Vec<(String, &'static str)> {
        match &self.verdict {
            Verdict::Handshake(missed) => (missed.iter().filter(|missed| !missed.ordered))
                .map(|missed| (self.short_name(missed.read), "SeqCst fence"))
                .collect(),
            other => {
                let edges = other.missing().iter();
                edges.flat_map(|edge| self.halves(edge)).collect()
            }
        }
    }

    fn halves(&self, edge: &Missing) -> Vec<(String, &'static str)> {
        let release = edge
            .release
            .then(|| (self.short_name(edge.writer), "release"));
        let acquire = edge
            .acquire
            .then(|| (self.short_name(edge.reader), "acquire"));
        release.into_iter().chain(acquire).collect()
    }

    fn short_name(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        event
            .site
            .map_or_else(|| text::source(event.source), str::to_owned)
    }

    /// Says why the model failed, and which half of which operation would have prevented it.
    pub fn sentence(&self) -> String {
        match &self.verdict {
            Verdict::Race {
                first,
                second,
                missing,
            } => self.race_sentence(*first, *second, missing),
            Verdict::Stale {
                store,
                read,
                missing,
            } => self.stale_sentence(*store, *read, missing),
            Verdict::Handshake(missed) => self.handshake_sentence(missed),
            Verdict::Stuck(steps) => self.stuck_sentence(steps),
            Verdict::Leak(made) => self.leak_sentence(made),
            Verdict::Unknown => format!(
                "Nothing that was recorded lacks an order, as far as the recorder sees; the model says: {}",
                self.first_line()
            ),
        }
    }

    /// Returns the execution as text: one lane for each thread, time downward, arrows from stores
    /// to reads on the left, places in the source on the right.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// Returns [`text`](Self::text) without the sentence.
    pub(super) fn picture(&self) -> String {
        text::picture(self) + "\nThe model: " + self.message.trim()
    }

    /// Returns the execution as a picture, with its text alternative inside. Each picture of a page
    /// needs its own `id`.
    pub fn svg(&self, id: &str) -> String {
        svg::render(self, id)
    }

    /// Returns the execution as a page: the sentence, the picture and the text.
    pub fn html(&self) -> String {
        html::render(self)
    }

    pub(super) fn first_line(&self) -> &str {
        self.message.trim().lines().next().unwrap_or_default()
    }

    pub(super) fn shown(&self) -> Vec<usize> {
        self.rows.keys().copied().collect()
    }

    /// The number of steps of a library that the row of this step stands for.
    pub(super) fn steps_in_row(&self, step: usize) -> usize {
        self.rows.get(&step).copied().unwrap_or(1)
    }

    /// The number of the row of a step, from 1.
    pub(super) fn row(&self, step: usize) -> usize {
        self.rows.range(..=step).count()
    }

    /// All steps to show, without folding: those at locations that several threads use, those that
    /// involve no location, and those that failed.
    fn all_shown(&self) -> Vec<usize> {
        let shared = self.shared_places();
        let events = self.trace.events.iter().enumerate();
        let (mut races, mut leaks, mut blocks) = (&[][..], &[][..], &[][..]);
        match &self.verdict {
            Verdict::Race { first, .. } => races = std::slice::from_ref(first),
            Verdict::Leak(steps) => leaks = steps,
            Verdict::Stuck(steps) => blocks = steps,
            _ => {}
        }
        let shown = events.filter(|(_, event)| match (event.place, event.step) {
            (Some(place), _) if self.trace.places[place].kind == "Arc" => {
                self.is_place_of(leaks, place)
            }
            (Some(place), step) if self.is_place_of(blocks, place) => {
                !matches!(step, Step::Made(_))
            }
            (Some(place), Step::Made(_)) => {
                shared.contains(&place) && self.is_atomic(place) || self.is_place_of(races, place)
            }
            (Some(place), _) => shared.contains(&place),
            (None, _) => true,
        });
        shown.map(|(index, _)| index).collect()
    }

    fn is_atomic(&self, place: usize) -> bool {
        self.trace.places[place].kind.starts_with("Atomic")
    }

    /// Whether one of these steps is at this place.
    fn is_place_of(&self, steps: &[usize], place: usize) -> bool {
        let mut steps = steps.iter().map(|&step| &self.trace.events[step]);
        steps.any(|event| event.place == Some(place))
    }

    fn shared_places(&self) -> BTreeSet<usize> {
        let events = &self.trace.events;
        let is_shared = |place: &usize| {
            let mut lanes = events.iter().filter(|event| event.place == Some(*place));
            let first = lanes.next().map(|event| event.lane);
            lanes.any(|event| Some(event.lane) != first)
        };
        (0..self.trace.places.len()).filter(is_shared).collect()
    }
}

/// Finds the operation that failed among those that had begun, and appends it to the steps.
fn judge(message: &str, trace: &mut Trace) -> (Analysis, Verdict) {
    if says_race(message) {
        for event in std::mem::take(&mut trace.begun) {
            trace.events.push(event);
            let known = analyse(&trace.events);
            let last = trace.events.len() - 1;
            if let Some(first) = verdict::rival(&trace.events, &known, last) {
                let verdict = verdict::race(&trace.events, &known, first, last);
                return (known, verdict);
            }
            trace.events.pop();
        }
    }
    if message.starts_with("deadlock") {
        return stuck(trace);
    }
    let known = analyse(&trace.events);
    let says_leak = message.starts_with("Arc leaked") || message.starts_with("leak: Arc");
    if let (true, Some(leak)) = (says_leak, verdict::leak(trace)) {
        return (known, leak);
    }
    let found = verdict::stale(&trace.events, &known, trace.events.len());
    let found = found.or_else(|| verdict::handshake(&trace.events, &known));
    (known, found.unwrap_or(Verdict::Unknown))
}

/// Appends the steps that never return.
fn stuck(trace: &mut Trace) -> (Analysis, Verdict) {
    let first = trace.events.len();
    let blocked = std::mem::take(&mut trace.begun).into_iter().rev();
    trace
        .events
        .extend(blocked.filter(Event::blocks).map(|event| Event {
            stuck: true,
            ..event
        }));
    let steps: Vec<_> = (first..trace.events.len()).collect();
    let known = analyse(&trace.events);
    (known, Verdict::Stuck(steps))
}

/// Whether the model failed because of an unordered access, judged by the messages of loom, of
/// joint-check and of joint's memory checks.
fn says_race(message: &str) -> bool {
    [
        "Causality violation",
        "data race: ",
        "use after free",
        "currently ",
        "is in `with_mut`",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// The steps that an edge or a failure involves, for pictures.
impl Counterexample {
    pub(super) fn missing_edges(&self) -> &[Missing] {
        self.verdict.missing()
    }

    /// Whether a step is one of two that race, or a read that missed a store.
    pub(super) fn failed_at(&self, step: usize) -> bool {
        match &self.verdict {
            Verdict::Race { first, second, .. } => step == *first || step == *second,
            Verdict::Stale { store, read, .. } => step == *store || step == *read,
            Verdict::Handshake(missed) => missed.iter().any(|one| one.read == step),
            Verdict::Stuck(steps) | Verdict::Leak(steps) => steps.contains(&step),
            Verdict::Unknown => false,
        }
    }

    /// Whether the explanation names a step.
    pub(super) fn names(&self, step: usize) -> bool {
        let edges = self.missing_edges().iter();
        let of_edge = edges
            .clone()
            .any(|edge| step == edge.writer || step == edge.reader);
        let of_stuck = match &self.verdict {
            Verdict::Stuck(steps) => steps.iter().any(|&stuck| self.cause(stuck) == Some(step)),
            _ => false,
        };
        of_edge || of_stuck || self.failed_at(step)
    }

    /// The reads of other threads' stores to show, without reads of initial values: from, to, and
    /// whether several stores fit.
    pub(super) fn reads(&self) -> Vec<(usize, usize, bool)> {
        let events: &[Event] = &self.trace.events;
        let reads = self.known.reads_from.iter().enumerate();
        let reads = reads.filter_map(|(to, from)| Some(((*from)?, to, self.known.unsure[to])));
        reads
            .filter(|&(from, to, _)| events[from].lane != events[to].lane)
            .filter(|&(from, _, _)| !matches!(events[from].step, Step::Made(_)))
            .collect()
    }
}
