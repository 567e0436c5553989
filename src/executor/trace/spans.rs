//! [`Span`]: the records of a trace, put together to what took time.

use alloc::{string::String, vec::Vec};
use core::{fmt::Write as _, panic::Location, time::Duration};

use super::{Event, Record, Trace};
use crate::{executor::task_info::TaskEnd, task::Id};

/// What took a worker's time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Span<'a> {
    /// Whose, from 0.
    pub worker: usize,
    /// When it began, from the executor's start on.
    pub begins: Duration,
    /// When it ended. What has not ended yet lasts until the trace was taken.
    pub ends: Duration,
    /// What it was.
    pub kind: SpanKind<'a>,
}

/// What took a worker's time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SpanKind<'a> {
    /// A run of a task.
    #[non_exhaustive]
    Poll {
        /// Whose.
        task: Id,
        /// Its name, if it was given one.
        name: Option<&'a str>,
        /// Where it was spawned.
        spawned: &'static Location<'static>,
        /// How this run has ended it, if it has.
        end: Option<TaskEnd>,
        /// It was woken while it ran, and is due again.
        woken: bool,
        /// It has not ended yet.
        open: bool,
    },
    /// Nothing to do.
    Park,
}

impl Span<'_> {
    /// What to call it: the task's name, or else where it was spawned.
    pub fn label(&self) -> String {
        let mut label = String::new();
        match &self.kind {
            SpanKind::Park => label.push_str("parked"),
            SpanKind::Poll {
                name: Some(name), ..
            } => label.push_str(name),
            SpanKind::Poll { spawned, .. } => {
                let file = spawned.file().rsplit(['/', '\\']).next();
                // A `String` takes all that is written to it.
                let _ = write!(label, "{}:{}", file.unwrap_or_default(), spawned.line());
            }
        }
        label
    }
}

impl Trace {
    /// What took the workers' time: worker by worker, each in order. Of what began before the
    /// oldest record that is kept, there is nothing.
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
                    *end = Some(TaskEnd::of(*how));
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
