//! The interpreter: the program on one thread, without wakers. Whatever is polled looks at the
//! state of the world, and at nothing else.

mod evaluate;
mod group;
mod lock;

use std::{mem, sync::Arc};

use self::{evaluate::Node, lock::Lock};
use super::{
    Event, Out, TASKS,
    program::{Expression, GATES, SLOTS, STREAMS, Start},
    real::CANCELLED,
};

type Step<T = ()> = Result<T, Stop>;

/// Why the interpreter does not go on as usual.
enum Stop {
    Difference(String),
    /// The program panics, with this code.
    Panic(u8),
}

fn difference<T>(what: impl Into<String>) -> Step<T> {
    Err(Stop::Difference(what.into()))
}

#[derive(Default)]
struct Stream {
    items: std::collections::VecDeque<u8>,
    /// How it ends, once that is known: without an error, or with one that nobody has seen.
    end: Option<Option<u8>>,
    /// Whether the receiver has seen the end.
    is_over: bool,
    is_taken: bool,
    /// Whether its sender was dropped.
    is_broken: bool,
}

struct Task {
    node: Option<Node>,
    handles: usize,
    start: Start,
    output: Option<Out>,
    /// Cancelled while it is polled.
    is_cancelled: bool,
    /// The collection that it belongs to.
    owner: Option<usize>,
}

struct Collection {
    children: Vec<usize>,
    left: usize,
    until_empty: bool,
    /// How it ends: with an output, or with the panic of a child.
    decision: Option<Result<Out, u8>>,
}

#[derive(Default)]
struct World<'a> {
    events: &'a [Event],
    place: usize,
    /// Polls to find out whether something could go on, which it must not.
    is_settled: bool,
    gates: [Option<Option<Out>>; GATES],
    locks: [Lock; 2],
    streams: [Stream; STREAMS],
    variable: u8,
    /// How often the variable has changed.
    changes: usize,
    slots: [Option<usize>; SLOTS],
    tasks: Vec<Task>,
    collections: Vec<Collection>,
}

/// Compares what has happened with what the program means.
///
/// # Errors
/// The first difference.
pub(super) fn check(program: &Arc<Expression>, events: &[Event]) -> Result<(), String> {
    match interpret(program, events) {
        Ok(()) => Ok(()),
        Err(Stop::Difference(difference)) => Err(difference),
        Err(Stop::Panic(_)) => Err("the main future panics".to_owned()),
    }
}

fn interpret(program: &Arc<Expression>, events: &[Event]) -> Step {
    let mut world = World {
        events,
        ..World::default()
    };
    let mut main = Node::new(program);
    while let Some(event) = events.get(world.place) {
        match *event {
            Event::Polled(number) if number >= TASKS => world.run(number - TASKS)?,
            _ => _ = world.poll(&mut main)?,
        }
    }
    Ok(())
}

impl World<'_> {
    fn expect(&mut self, event: Event) -> Step {
        match event {
            Event::Polled(_) if self.is_settled => Ok(()),
            _ if self.is_settled => difference(format!("{event:?} could happen, unwoken")),
            _ if self.is_next(event) => {
                self.place += 1;
                Ok(())
            }
            _ => {
                let found = self.events.get(self.place);
                difference(format!(
                    "event {} is {found:?} instead of {event:?}",
                    self.place
                ))
            }
        }
    }

    fn is_next(&self, event: Event) -> bool {
        self.events.get(self.place) == Some(&event)
    }

    /// Polls everything that waits.
    fn settle(&mut self) -> Step {
        self.is_settled = true;
        for task in 0..self.tasks.len() {
            if let Some(mut node) = self.tasks[task].node.take() {
                self.poll(&mut node)?;
                self.tasks[task].node = Some(node);
            }
        }
        self.is_settled = false;
        Ok(())
    }

    fn open(&mut self, gate: usize, out: Option<Out>) {
        self.gates[gate].get_or_insert(out);
    }

    fn spawn(&mut self, start: Start, body: &Arc<Expression>, owner: Option<usize>) -> Step<usize> {
        let task = self.tasks.len();
        self.tasks.push(Task {
            node: Some(Node::new(body)),
            handles: 1,
            start,
            output: None,
            is_cancelled: false,
            owner,
        });
        // It runs on the caller's stack, or later.
        if owner.is_none() && self.is_next(Event::Polled(TASKS + task)) {
            self.run(task)?;
        }
        Ok(task)
    }

    fn run(&mut self, task: usize) -> Step {
        self.expect(Event::Polled(TASKS + task))?;
        let node = self.tasks[task].node.take();
        let Some(mut node) = node else {
            return difference(format!("task {task} is polled after its end"));
        };
        let mut polled = self.poll(&mut node);
        // Some are polled twice in a row.
        while matches!(polled, Ok(None)) && self.is_next(Event::Polled(TASKS + task)) {
            self.place += 1;
            polled = self.poll(&mut node);
        }
        let end = match polled {
            Ok(None) if self.tasks[task].is_cancelled => return self.abandon(task, node),
            Ok(None) => {
                self.tasks[task].node = Some(node);
                return Ok(());
            }
            Ok(Some(out)) => {
                self.expect(Event::Ended(TASKS + task, out))?;
                self.expect(Event::Dropped(TASKS + task))?;
                Ok(out)
            }
            Err(Stop::Panic(code)) => {
                self.cancel(node)?;
                self.expect(Event::Cancelled(TASKS + task))?;
                Err(code)
            }
            Err(difference) => return Err(difference),
        };
        self.tasks[task].output = Some(end.unwrap_or_else(Err));
        self.report(task, end);
        Ok(())
    }

    /// Tells the collection of a child that has ended.
    fn report(&mut self, task: usize, end: Result<Out, u8>) {
        if let Some(owner) = self.tasks[task].owner {
            let owner = &mut self.collections[owner];
            owner.left -= 1;
            let succeeds = matches!(end, Ok(Ok(_)));
            if !succeeds || (owner.left == 0 && owner.until_empty) {
                owner.decision.get_or_insert(end.map(|out| out.map(|_| 8)));
            }
        }
    }

    fn abandon(&mut self, task: usize, node: Node) -> Step {
        self.expect(Event::Cancelled(TASKS + task))?;
        self.cancel(node)?;
        self.tasks[task].output = Some(Err(CANCELLED));
        Ok(())
    }

    fn cancel_task(&mut self, task: usize) -> Step {
        let it = &mut self.tasks[task];
        if it.start == Start::Uncancellable {
            return Ok(());
        }
        it.is_cancelled = true;
        let node = it.node.take();
        node.map_or(Ok(()), |node| self.abandon(task, node))
    }

    /// Drops a handle.
    fn release(&mut self, task: usize) -> Step {
        self.tasks[task].handles -= 1;
        match self.tasks[task].handles {
            0 => self.cancel_task(task),
            _ => Ok(()),
        }
    }

    fn cancel_slot(&mut self, slot: usize) -> Step {
        self.slots[slot].map_or(Ok(()), |task| self.cancel_task(task))
    }

    fn drop_slot(&mut self, slot: usize) -> Step {
        (self.slots[slot].take()).map_or(Ok(()), |task| self.release(task))
    }

    fn cancel_children(&mut self, collection: usize) -> Step {
        let children = mem::take(&mut self.collections[collection].children);
        children.into_iter().try_for_each(|task| self.release(task))
    }
}
