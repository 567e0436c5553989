//! [`Counterexample`]: an execution that failed, and what is to be said about it.

use std::{collections::BTreeSet, sync::atomic::Ordering};

use super::{
    analysis::{Analysis, analyse},
    event::{Event, Step, Trace},
    svg, text,
    verdict::{self, Missed, Missing, Verdict},
};

/// The execution in which a model failed.
#[derive(Debug)]
pub struct Counterexample {
    pub(super) message: String,
    pub(super) trace: Trace,
    pub(super) known: Analysis,
    pub(super) verdict: Verdict,
}

impl Counterexample {
    pub(super) fn new(message: String, mut trace: Trace) -> Self {
        let (known, verdict) = judge(&message, &mut trace);
        Self {
            message,
            trace,
            known,
            verdict,
        }
    }

    /// What the model said when it failed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether two accesses that the recorder knows of race.
    pub fn is_race(&self) -> bool {
        matches!(self.verdict, Verdict::Race { .. })
    }

    /// The names of the operations that lack an ordering, such as `completion::complete`, each with the half that it lacks:
    /// `release`, `acquire`, or `SeqCst fence`. Where an operation has no name, its place in the source.
    pub fn missing(&self) -> Vec<(String, &'static str)> {
        match &self.verdict {
            Verdict::Handshake(missed) => (missed.iter().filter(|missed| !missed.fenced))
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

    /// Why it failed, and which half of which operation would have prevented it.
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
            Verdict::Unknown => format!(
                "Nothing that was recorded lacks an order, as far as the recorder sees; the model says: {}",
                self.first_line()
            ),
        }
    }

    /// The execution as text: one lane for each thread, time downward, who read from where at the left, the places at the
    /// right.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// The execution as a picture, with its text alternative inside. Each picture of a page needs an `id` of its own.
    pub fn svg(&self, id: &str) -> String {
        svg::render(self, id)
    }

    pub(super) fn first_line(&self) -> &str {
        self.message.trim().lines().next().unwrap_or_default()
    }

    fn race_sentence(&self, first: usize, second: usize, missing: &[Missing]) -> String {
        let race = format!(
            "{} is not ordered before {}.",
            capital(&self.access(first)),
            self.access(second)
        );
        if missing.is_empty() {
            return format!("{race} {}", self.unread_sentence(second));
        }
        format!("{race} {}", self.edge_sentences(missing))
    }

    /// Nothing leads from the first of two accesses to the second: then perhaps the second should never have come about.
    fn unread_sentence(&self, second: usize) -> String {
        let events = &self.trace.events;
        let thread = self.thread(events[second].lane);
        let unread = format!(
            "No read leads from the one to the other: {thread} has read nothing that was written after the first."
        );
        match verdict::stale(events, &self.known, second) {
            Some(Verdict::Stale {
                store,
                read,
                missing,
            }) => format!("{unread} {}", self.stale_sentence(store, read, &missing)),
            _ => unread,
        }
    }

    fn stale_sentence(&self, store: usize, read: usize, missing: &[Missing]) -> String {
        format!(
            "{} did not see {}, which is not ordered before it. {}",
            capital(&self.operation(read)),
            self.operation(store),
            self.edge_sentences(missing)
        )
    }

    fn edge_sentences(&self, missing: &[Missing]) -> String {
        let edges = missing.iter().map(|edge| self.edge_sentence(edge));
        edges.collect::<Vec<_>>().join(" ")
    }

    fn edge_sentence(&self, edge: &Missing) -> String {
        let (writer, reader) = (self.operation(edge.writer), self.operation(edge.reader));
        let unsure = if self.known.unsure[edge.reader] {
            ", or another store of the same value"
        } else {
            ""
        };
        let lacking = match (edge.release, edge.acquire) {
            (true, true) => format!(
                "the release half of the first ({}) and the acquire half of the second ({})",
                self.step_up(edge.writer, true),
                self.step_up(edge.reader, false)
            ),
            (true, false) => format!(
                "the release half of the first ({})",
                self.step_up(edge.writer, true)
            ),
            _ => format!(
                "the acquire half of the second ({})",
                self.step_up(edge.reader, false)
            ),
        };
        format!(
            "{} was read by {reader}{unsure}: with {lacking} it would be.",
            capital(&writer)
        )
    }

    fn handshake_sentence(&self, missed: &[Missed; 2]) -> String {
        let part = |one: &Missed| {
            let thread = self.thread(self.trace.events[one.read].lane);
            let (store, read) = (self.operation(one.store), self.operation(one.read));
            let fence = if one.fenced { "a fence" } else { "no fence" };
            format!("{thread} made {store}, then {fence}, then {read}")
        };
        let bare = missed.iter().filter(|one| !one.fenced);
        let bare: Vec<_> = bare
            .map(|one| self.thread(self.trace.events[one.read].lane))
            .collect();
        let cure = if bare.is_empty() {
            "Both have a SeqCst fence in between, so it is not these reads that went wrong."
                .to_owned()
        } else {
            format!(
                "A SeqCst fence between the store and the read is missing in {}; acquire and release do not order a store before a later read of another place.",
                bare.join(" and in ")
            )
        };
        format!(
            "Each thread missed the other's store: {}; {}. {cure}",
            part(&missed[0]),
            part(&missed[1])
        )
    }

    pub(super) fn thread(&self, lane: usize) -> String {
        let name = self.trace.names.get(lane).cloned().flatten();
        let main = if lane == 0 { "main" } else { "" };
        match name.as_deref().unwrap_or(main) {
            "" => format!("thread {lane}"),
            name => name.to_owned(),
        }
    }

    fn access(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let what = match event.step {
            Step::Made(_) => "creation",
            Step::Read => "read",
            Step::Write => "write",
            Step::Exclusive(_) => "exclusive access",
            _ => "atomic access",
        };
        format!(
            "the {what} of {} by {} ({})",
            text::place(&self.trace, event.place),
            self.thread(event.lane),
            text::source(event.source)
        )
    }

    fn operation(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let name = event
            .site
            .map(|site| format!("{site}, "))
            .unwrap_or_default();
        format!(
            "{}'s {} ({name}{:?}, {})",
            self.thread(event.lane),
            text::verb(event),
            event.order,
            text::source(event.source)
        )
    }

    /// The ordering of an operation with one half more.
    fn step_up(&self, step: usize, release: bool) -> String {
        let event = &self.trace.events[step];
        let (has_release, has_acquire) =
            (event.releases() || release, event.acquires() || !release);
        let better = match (has_release, has_acquire) {
            (true, true) => Ordering::AcqRel,
            (true, false) => Ordering::Release,
            _ => Ordering::Acquire,
        };
        format!("{:?} instead of {:?}", better, event.order)
    }

    /// The steps worth showing: what more than one thread uses, what happens beside all places, and what failed.
    pub(super) fn shown(&self) -> Vec<usize> {
        let shared = self.shared_places();
        let events = self.trace.events.iter().enumerate();
        let shown = events.filter(|(_, event)| match (event.place, event.step) {
            (Some(place), Step::Made(_)) => {
                shared.contains(&place) && self.is_atomic(place) || self.races_on(place)
            }
            (Some(place), _) => shared.contains(&place),
            (None, _) => true,
        });
        shown.map(|(index, _)| index).collect()
    }

    fn is_atomic(&self, place: usize) -> bool {
        self.trace.places[place].kind.starts_with("Atomic")
    }

    fn races_on(&self, place: usize) -> bool {
        match self.verdict {
            Verdict::Race { first, .. } => self.trace.events[first].place == Some(place),
            _ => false,
        }
    }

    fn shared_places(&self) -> BTreeSet<usize> {
        let events = &self.trace.events;
        let used_by = |place: usize| -> BTreeSet<usize> {
            let uses = events.iter().filter(|event| event.place == Some(place));
            uses.map(|event| event.lane).collect()
        };
        (0..self.trace.places.len())
            .filter(|&place| used_by(place).len() > 1)
            .collect()
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Finds what failed among what was begun, and adds it to the steps.
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
    let known = analyse(&trace.events);
    if says_race(message) {
        return (known, Verdict::Unknown);
    }
    let found = verdict::stale(&trace.events, &known, trace.events.len());
    let found = found.or_else(|| verdict::handshake(&trace.events, &known));
    (known, found.unwrap_or(Verdict::Unknown))
}

/// Whether the model failed by an access that was not ordered: the words of loom's, and of joint's checks of memory.
fn says_race(message: &str) -> bool {
    [
        "Causality violation",
        "use after free",
        "currently ",
        "is in `with_mut`",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// The steps that an edge or a failure touches, for pictures.
impl Counterexample {
    pub(super) fn missing_edges(&self) -> &[Missing] {
        self.verdict.missing()
    }

    /// Whether a step is one of the two that race, or a read that missed a store.
    pub(super) fn failed_at(&self, step: usize) -> bool {
        match &self.verdict {
            Verdict::Race { first, second, .. } => step == *first || step == *second,
            Verdict::Stale { store, read, .. } => step == *store || step == *read,
            Verdict::Handshake(missed) => missed.iter().any(|one| one.read == step),
            Verdict::Unknown => false,
        }
    }

    /// The reads of other threads' stores that are shown, without those of a first value: from, to, and whether more than one
    /// store fits.
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
