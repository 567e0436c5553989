//! [`Span`]: the records of a trace, combined into intervals of a worker's time.

use alloc::{string::String, vec::Vec};
use core::{fmt::Write as _, panic::Location, time::Duration};

use super::{Event, Record, Trace};
use joint::task::{Id, TaskEnd};

/// An interval of a worker's time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Span<'a> {
    /// The worker's index, from 0.
    pub worker: usize,
    /// When it began, measured from the executor's start.
    pub begins: Duration,
    /// When it ended, measured in the same way. A span that has not ended yet lasts until the trace
    /// was taken.
    pub ends: Duration,
    /// What the worker did.
    pub kind: SpanKind<'a>,
}

/// What a worker did in a [`Span`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SpanKind<'a> {
    /// A run of a task.
    #[non_exhaustive]
    Poll {
        /// The task.
        task: Id,
        /// The task's name, if it was given one.
        name: Option<&'a str>,
        /// Where the task was spawned.
        spawned: &'static Location<'static>,
        /// How this run has ended the task, if it has.
        end: Option<TaskEnd>,
        /// Whether the task was woken while it ran, and is due again.
        woken: bool,
        /// Whether the run has not ended yet.
        open: bool,
    },
    /// The worker was parked.
    Park,
}

impl Span<'_> {
    /// Returns a label: the task's name, or else where the task was spawned.
    pub fn label(&self) -> String {
        let mut label = String::new();
        match &self.kind {
            SpanKind::Park => label.push_str("parked"),
            SpanKind::Poll {
                name: Some(name), ..
            } => label.push_str(name),
            SpanKind::Poll { spawned, .. } => {
                let file = spawned.file().rsplit(['/', '\\']).next();
                // Writing to a `String` does not fail.
                let _ = write!(label, "{}:{}", file.unwrap_or_default(), spawned.line());
            }
        }
        label
    }
}

impl Trace {
    /// Returns what the workers did, worker by worker, each in order. What began before the oldest
    /// record that is kept is left out.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        let workers = self.tracks[..self.workers()].iter().enumerate();
        workers.flat_map(|(worker, records)| self.spans_of(worker, records))
    }

    pub(super) fn spans_of<'a>(&self, worker: usize, records: &'a [Record]) -> Vec<Span<'a>> {
        let mut spans = Vec::new();
        let mut open: Option<Span<'a>> = None;
        let mut close = |open: &mut Option<Span<'a>>, at| {
            if let Some(mut span) = open.take() {
                span.ends = Duration::from_nanos(at);
                spans.push(span);
            }
        };
        for Record { at, event } in records {
            match (event, open.as_mut().map(|span| &mut span.kind)) {
                (Event::Begin(task, name, spawned), _) => {
                    open = Some(Span::new(
                        worker,
                        *at,
                        SpanKind::Poll {
                            task: *task,
                            name: name.as_deref(),
                            spawned,
                            end: None,
                            woken: false,
                            open: true,
                        },
                    ));
                }
                (Event::Park, _) => open = Some(Span::new(worker, *at, SpanKind::Park)),
                (Event::Gone(gone, how), Some(SpanKind::Poll { task, end, .. }))
                    if gone == task =>
                {
                    *end = Some(*how);
                }
                (
                    Event::End(again),
                    Some(SpanKind::Poll {
                        woken,
                        open: is_open,
                        ..
                    }),
                ) => {
                    *woken = *again;
                    *is_open = false;
                    close(&mut open, *at);
                }
                (Event::Unpark, Some(SpanKind::Park)) => close(&mut open, *at),
                _ => {}
            }
        }
        close(&mut open, self.taken);
        spans
    }
}

impl<'a> Span<'a> {
    fn new(worker: usize, at: u64, kind: SpanKind<'a>) -> Self {
        let begins = Duration::from_nanos(at);
        Self {
            worker,
            begins,
            ends: begins,
            kind,
        }
    }
}
