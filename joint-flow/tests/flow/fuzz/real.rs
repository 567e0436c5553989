//! The program as futures of this package.

use joint_flow::{
    Closed, Collection, any,
    choice::try_choose,
    lock::TryTakeError,
    retry::retry,
    spawn,
    stream::{self, StreamExt},
};

use super::{
    Event, Out, TASKS, code, folded, optional,
    program::{Expression, Fails, GATES, Group, Kind, LOCKS, SLOTS, STREAMS, Shape, Start, Take},
};
use crate::prelude::*;

/// Failures that the program does not ask for.
pub(super) const CLOSED: u8 = 100;
pub(super) const CANCELLED: u8 = 101;
pub(super) const TAKEN: u8 = 102;
pub(super) const REFUSED: u8 = 103;

type Boxed = Pin<Box<dyn Future<Output = Out> + Send>>;

struct Failed(u8);

impl From<Closed> for Failed {
    fn from(_: Closed) -> Self {
        Self(CLOSED)
    }
}

/// The two ends, until they are dropped.
type Stream = (
    Mutex<Option<stream::Sender<u8, Failed>>>,
    Mutex<Option<stream::Receiver<u8, Failed>>>,
);

struct World {
    events: Mutex<Vec<Event>>,
    tasks: AtomicUsize,
    senders: [Mutex<Option<promise::Sender<Out>>>; GATES],
    gates: [promise::Shared<Out>; GATES],
    locks: [FlowLock; 2],
    streams: [Stream; STREAMS],
    variable: AsyncVar<u8>,
    slots: [Mutex<Option<Task<Out>>>; SLOTS],
}

impl World {
    fn new() -> Arc<Self> {
        let gates = [(); GATES].map(|()| promise::channel());
        Arc::new(Self {
            events: Mutex::default(),
            tasks: AtomicUsize::new(0),
            gates: gates.each_ref().map(|gate| gate.1.clone()),
            senders: gates.map(|gate| Mutex::new(Some(gate.0))),
            locks: LOCKS.map(FlowLock::new),
            streams: [(); STREAMS].map(|()| {
                let (outlet, inlet) = stream::channel();
                (Mutex::new(Some(outlet)), Mutex::new(Some(inlet)))
            }),
            variable: AsyncVar::new(0),
            slots: Default::default(),
        })
    }

    /// A sender of a stream, unless it was dropped.
    fn sender(&self, stream: usize) -> Result<stream::Sender<u8, Failed>, u8> {
        self.streams[stream].0.lock().unwrap().clone().ok_or(TAKEN)
    }

    fn add(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

/// An expression that records what becomes of it.
struct Recorded {
    world: Arc<World>,
    number: usize,
    future: Boxed,
    has_ended: bool,
}

impl Future for Recorded {
    type Output = Out;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Out> {
        self.world.add(Event::Polled(self.number));
        let polled = self.future.as_mut().poll(cx);
        if let Poll::Ready(out) = polled {
            self.world.add(Event::Ended(self.number, out));
            self.has_ended = true;
        }
        polled
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.world.add(match self.has_ended {
            true => Event::Dropped(self.number),
            false => Event::Cancelled(self.number),
        });
    }
}

fn recorded(world: &Arc<World>, number: usize, future: Boxed) -> Recorded {
    Recorded {
        world: world.clone(),
        number,
        future,
        has_ended: false,
    }
}

fn child(world: &Arc<World>, expression: &Arc<Expression>) -> Recorded {
    recorded(world, expression.number, future(world, expression))
}

/// The body of a task.
#[expect(
    clippy::redundant_async_block,
    reason = "it drops the expression once that has ended"
)]
fn body(world: &Arc<World>, expression: &Arc<Expression>) -> Recorded {
    let number = TASKS + world.tasks.fetch_add(1, Relaxed);
    let child = child(world, expression);
    recorded(world, number, Box::pin(async { child.await }))
}

fn start(world: &Arc<World>, start: Start, expression: &Arc<Expression>) -> Task<Out> {
    let body = body(world, expression);
    match start {
        Start::Cancellable => spawn(body),
        Start::Uncancellable => uncancellable(body),
    }
}

fn ended(output: Result<Out, TaskError>) -> Out {
    output.unwrap_or(Err(CANCELLED))
}

fn list(codes: impl IntoIterator<Item = Option<u8>>) -> u8 {
    folded(codes.into_iter().map(optional))
}

/// Runs something on children in the shape of a list.
macro_rules! list {
    ($shape:expr, $children:expr, $list:ident => $run:expr) => {
        list!(@ $shape, $children, $list => $run; 1 2 3 4 5 6 7 8 9)
    };
    (@ $shape:expr, $children:expr, $list:ident => $run:expr; $($count:literal)*) => {
        match ($shape, $children.len()) {
            $((Shape::Array, $count) => {
                let $list: [Recorded; $count] = $children.try_into().ok().unwrap();
                Box::pin(async move { $run }) as Boxed
            })*
            _ => {
                let $list = $children;
                Box::pin(async move { $run }) as Boxed
            }
        }
    };
}

fn group(group: Group, shape: Shape, children: Vec<Recorded>) -> Boxed {
    match group {
        Group::Race => list!(shape, children, all => race(all).await.1),
        Group::All => {
            list!(shape, children, them => Ok(folded(all(them).await.into_iter().map(code))))
        }
        Group::TryAll => list!(shape, children, them => Ok(folded(try_all(them).await?))),
        Group::AllReady => {
            list!(shape, children, them => Ok(folded(all_ready(them).await.into_iter().map(code))))
        }
        Group::Any => list!(shape, children, them => match any(them).await {
            Ok((child, value)) => Ok(folded([child as u8, value])),
            Err(errors) => Err(folded(errors)),
        }),
        Group::Quorum(n) => {
            list!(shape, children, them => quorum(n, them).await.map(list).map_err(list))
        }
        Group::Strict(n) => {
            list!(shape, children, them => quorum(n, them).strict().await.map(list))
        }
    }
}

/// Adds the branches to a choice, and awaits it.
macro_rules! chosen {
    ($world:expr, $branches:expr, $choice:expr, $output:expr) => {{
        let make = |branch: usize| {
            let (world, branch) = ($world.clone(), $branches[branch].clone());
            move || child(&world, &branch)
        };
        let handler = |branch: u8| move |output| Ok(folded([branch, $output(output)]));
        match $branches.len() {
            1 => $choice.when(make(0), handler(0)).await,
            2 => {
                $choice
                    .when(make(0), handler(0))
                    .when(make(1), handler(1))
                    .await
            }
            _ => {
                let choice = $choice.when(make(0), handler(0)).when(make(1), handler(1));
                choice.when(make(2), handler(2)).await
            }
        }
    }};
}

/// Returns the future of an expression. The children of a group are made at once, and all others
/// when they are polled first.
fn future(world: &Arc<World>, expression: &Arc<Expression>) -> Boxed {
    if let Kind::Group(kind, shape, children) = &expression.kind {
        let children = children.iter().map(|it| child(world, it)).collect();
        return group(*kind, *shape, children);
    }
    let (world, expression) = (world.clone(), expression.clone());
    Box::pin(async move { evaluated(&world, &expression).await })
}

async fn evaluated(world: &Arc<World>, expression: &Expression) -> Out {
    let child = |it| child(world, it);
    match &expression.kind {
        Kind::Value(out) => *out,
        Kind::Pause(polls) => after(usize::from(*polls), Ok(*polls)).await,
        Kind::Wait(gate) if expression.number % 2 == 0 => {
            world.gates[*gate].clone().await.unwrap_or(Err(CLOSED))
        }
        Kind::Wait(gate) => world.gates[*gate]
            .wait()
            .await
            .copied()
            .unwrap_or(Err(CLOSED)),
        Kind::Open(gate, out) => {
            let sender = world.senders[*gate].lock().unwrap().take();
            if let (Some(sender), Some(out)) = (sender, *out) {
                sender.send(out);
            }
            Ok(1)
        }
        Kind::Group(..) => unreachable!("it is made elsewhere"),
        Kind::Choose(Fails::None, branches) => chosen!(world, branches, choose(), code),
        Kind::Choose(Fails::Any, branches) => {
            chosen!(world, branches, try_choose(), |value| value)
        }
        Kind::Sequence(children) => {
            let mut values = Vec::new();
            for it in children {
                values.push(child(it).await?);
            }
            Ok(folded(values))
        }
        Kind::Lock(Take::Wait, lock, amount, body) => {
            let permit = world.locks[*lock].take(*amount).await;
            let _permit = permit.map_err(|Closed| CLOSED)?;
            child(body).await
        }
        Kind::Lock(Take::Try, lock, amount, body) => {
            let permit = world.locks[*lock].try_take(*amount);
            let _permit = permit.map_err(|error| match error {
                TryTakeError::Empty => REFUSED,
                TryTakeError::Closed => CLOSED,
            })?;
            child(body).await
        }
        Kind::Close(lock) => {
            world.locks[*lock].close();
            Ok(2)
        }
        Kind::Send(stream, value) => {
            let sent = world.sender(*stream)?.send(*value);
            sent.map(|()| 3).map_err(|error| error.into_inner())
        }
        Kind::End(stream, None) => Ok(u8::from(world.sender(*stream)?.end())),
        Kind::End(stream, Some(error)) => {
            let failed = world.sender(*stream)?.fail(Failed(*error));
            failed.map(|()| 4).map_err(|error| error.into_inner().0)
        }
        Kind::Break(stream) => {
            drop(world.streams[*stream].0.lock().unwrap().take());
            Ok(10)
        }
        Kind::Receive(stream, count) => {
            let inlet = world.streams[*stream].1.lock().unwrap().take();
            let mut inlet = inlet.ok_or(TAKEN)?;
            let mut values = Vec::new();
            for _ in 0..*count {
                match inlet.next().await {
                    Some(item) => values.push(code(item.map_err(|Failed(error)| error))),
                    None => break,
                }
            }
            *world.streams[*stream].1.lock().unwrap() = Some(inlet);
            Ok(folded(values))
        }
        Kind::Set(value) => Ok(u8::from(world.variable.set(*value))),
        Kind::Reach(least) => Ok(world.variable.wait_for(|value| value >= least).await),
        Kind::Change => {
            let changed = world.variable.on_change().await;
            changed.map(|()| 11).map_err(|Closed| CLOSED)
        }
        Kind::Retry(tries, body) => {
            let mut left = *tries;
            let policy = |error| {
                left -= 1;
                let result = if left == 0 { Err(error) } else { Ok(()) };
                after(usize::from(left > 0), result)
            };
            retry(policy, || child(body)).await
        }
        Kind::Join(how, body, beside) => {
            let task = start(world, *how, body);
            let beside = child(beside).await;
            Ok(folded([code(beside), code(ended(task.await))]))
        }
        Kind::Start(slot, how, body) => {
            let task = start(world, *how, body);
            let before = world.slots[*slot].lock().unwrap().replace(task);
            drop(before);
            Ok(5)
        }
        Kind::Cancel(slot) => {
            let task = world.slots[*slot].lock().unwrap().clone();
            task.inspect(Task::cancel);
            Ok(6)
        }
        Kind::Settle => {
            settled().await;
            Ok(9)
        }
        Kind::Drop(slot) => {
            let task = world.slots[*slot].lock().unwrap().take();
            drop(task);
            Ok(7)
        }
        Kind::Await(slot) => {
            let task = world.slots[*slot].lock().unwrap().clone();
            ended(task.ok_or(TAKEN)?.await)
        }
        Kind::Collect(until_empty, children) => {
            let collection = match until_empty {
                true => Collection::until_empty(),
                false => Collection::new(),
            };
            for it in children {
                let body = body(world, it);
                collection.add(async move { body.await.map(|_| ()) });
            }
            collection.await.map(|()| 8)
        }
    }
}

/// Runs a program, and returns what has happened.
pub(super) fn run(program: &Arc<Expression>) -> impl Future<Output = Vec<Event>> + use<> {
    let world = World::new();
    let program = child(&world, program);
    async move {
        program.await.expect("no part of it fails");
        std::mem::take(&mut *world.events.lock().unwrap())
    }
}
