//! The program as futures of this package.

use std::ops::ControlFlow;

use joint_flow::{
    Closed, Collection, any,
    choice::try_choose,
    generator::Slot,
    lock::TryTakeError,
    retry::{Backoff, Policy, retry},
    spawn,
    stream::{self, StreamExt},
    task::from_future,
    time::now,
    variable::Trigger,
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
    senders: Vec<Mutex<Option<promise::Sender<Out>>>>,
    gates: Vec<promise::Shared<Out>>,
    /// The handles that their channels were made with, until they are waited for.
    firsts: Vec<Mutex<Option<promise::Shared<Out>>>>,
    locks: [FlowLock; 2],
    streams: [Stream; STREAMS],
    variable: AsyncVar<u8>,
    /// Fires at each change of the variable.
    trigger: Trigger,
    slots: [Mutex<Option<Task<Out>>>; SLOTS],
}

impl World {
    fn new() -> Arc<Self> {
        let (senders, firsts): (Vec<_>, Vec<_>) = (0..GATES).map(|_| promise::channel()).unzip();
        Arc::new(Self {
            events: Mutex::default(),
            tasks: AtomicUsize::new(0),
            gates: firsts.clone(),
            senders: senders.into_iter().map(|it| Mutex::new(Some(it))).collect(),
            firsts: firsts.into_iter().map(|it| Mutex::new(Some(it))).collect(),
            locks: LOCKS.map(FlowLock::new),
            streams: [(); STREAMS].map(|()| {
                let (outlet, inlet) = stream::channel();
                (Mutex::new(Some(outlet)), Mutex::new(Some(inlet)))
            }),
            variable: AsyncVar::new(0),
            trigger: Trigger::new(),
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
        // Some polls come with a waker that wakes nobody. The waker of the next one counts.
        if self.number >= TASKS && self.world.events.lock().unwrap().len() % 4 == 0 {
            let polled = self.poll_once(&mut Context::from_waker(Waker::noop()));
            if polled.is_ready() {
                return polled;
            }
        }
        self.poll_once(cx)
    }
}

impl Recorded {
    fn poll_once(&mut self, cx: &mut Context<'_>) -> Poll<Out> {
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
        Start::Cancellable if expression.number % 4 == 0 => {
            let (driver, task) = from_future(body);
            joint_executor::spawn_now(driver).detach();
            task
        }
        Start::Cancellable => spawn(body),
        Start::Uncancellable => uncancellable(body),
    }
}

fn ended(output: Result<Out, TaskError>) -> Out {
    output.unwrap_or_else(|error| match error {
        TaskError::Cancelled => Err(CANCELLED),
        TaskError::Panicked(payload) => {
            assert!(payload.spawned().file().ends_with("real.rs"));
            Err(payload.message().unwrap().parse().unwrap())
        }
    })
}

/// Keeps a combinator after its end, which shows what it has dropped by then.
fn kept<F>(combinator: F, output: impl FnOnce(F::Output) -> Out + Send + 'static) -> Boxed
where
    F: Future + Send + 'static,
{
    let (mut combinator, mut output) = (Box::pin(combinator), Some(output));
    Box::pin(poll_fn(move |cx| {
        let polled = combinator.as_mut().poll(cx);
        polled.map(|ended| output.take().unwrap()(ended))
    }))
}

/// Waits, and records how long.
struct Recording(Arc<World>, usize, Backoff);

impl Policy<u8> for Recording {
    async fn next(&mut self, error: u8) -> Result<(), u8> {
        let before = now();
        self.2.next(error).await?;
        self.0
            .add(Event::Waited(self.1, (now() - before).as_secs()));
        Ok(())
    }
}

/// The output of a combinator that waits for all.
fn coded(outs: impl IntoIterator<Item = Out>) -> Out {
    Ok(folded(outs.into_iter().map(code)))
}

fn list(codes: impl IntoIterator<Item = Option<u8>>) -> u8 {
    folded(codes.into_iter().map(optional))
}

/// Runs a combinator on children in the shape of a list.
macro_rules! list {
    ($shape:expr, $children:expr, $combinator:expr, $output:expr) => {
        list!(@ $shape, $children, $combinator, $output; 1 2 3 4 5 6 7 8 9)
    };
    (@ $shape:expr, $children:expr, $combinator:expr, $output:expr; $($count:literal)*) => {
        match ($shape, $children.len()) {
            $((Shape::Array, $count) => {
                let children: [Recorded; $count] = $children.try_into().ok().unwrap();
                kept($combinator(children), $output)
            })*
            _ => kept($combinator($children), $output),
        }
    };
}

/// The combinators that take children in the shape of a tuple.
macro_rules! tuple {
    ($group:expr, $children:expr; $($count:literal: $($child:ident)+;)+) => {
        match $children.len() {
            $($count => {
                let children: [Recorded; $count] = $children.try_into().ok().unwrap();
                let [$($child),+] = children;
                let children = ($($child,)+);
                match $group {
                    Group::Race => kept(race(children), |one| one.into_inner()),
                    Group::TryAll => kept(try_all(children), |values| {
                        values.map(|($($child,)+)| folded([$($child),+]))
                    }),
                    Group::All => kept(all(children), |($($child,)+)| coded([$($child),+])),
                    _ => kept(all_ready(children), |($($child,)+)| coded([$($child),+])),
                }
            })+
            _ => unreachable!("there are 2 to 8"),
        }
    };
}

fn group(group: Group, shape: Shape, children: Vec<Recorded>) -> Boxed {
    match (group, shape) {
        (Group::Race | Group::All | Group::TryAll | Group::AllReady, Shape::Tuple)
            if (2..=8).contains(&children.len()) =>
        {
            tuple!(
                group, children;
                2: a b; 3: a b c; 4: a b c d; 5: a b c d e; 6: a b c d e f; 7: a b c d e f g;
                8: a b c d e f g h;
            )
        }
        (Group::Race, _) => list!(shape, children, race, |(_, out)| out),
        (Group::All, _) => list!(shape, children, all, coded),
        (Group::TryAll, _) => list!(shape, children, try_all, |values| values.map(folded)),
        (Group::AllReady, _) => list!(shape, children, all_ready, coded),
        (Group::Any, _) => list!(shape, children, any, |first| match first {
            Ok((child, value)) => Ok(folded([child as u8, value])),
            Err(errors) => Err(folded(errors)),
        }),
        (Group::Quorum(n), _) => {
            list!(shape, children, |them| quorum(n, them), |result| {
                result.map(list).map_err(list)
            })
        }
        (Group::Strict(n), _) => {
            list!(shape, children, |them| quorum(n, them).strict(), |result| {
                result.map(list)
            })
        }
    }
}

/// Adds the branches to a choice.
macro_rules! chosen {
    ($world:expr, $branches:expr, $choice:expr, $output:expr) => {{
        let make = |branch: usize| {
            let (world, branch) = ($world.clone(), $branches[branch].clone());
            move || child(&world, &branch)
        };
        let handlers = Arc::new(());
        let handler = |branch: u8| {
            let held = handlers.clone();
            move |output| {
                drop(held);
                Ok(folded([branch, $output(output)]))
            }
        };
        let choice = $choice.when(make(0), handler(0));
        let choice = match $branches.len() {
            1 => kept(choice, |out| out),
            2 => kept(choice.when(make(1), handler(1)), |out| out),
            _ => {
                let choice = choice.when(make(1), handler(1));
                kept(choice.when(make(2), handler(2)), |out| out)
            }
        };
        kept(choice, move |out| {
            assert_eq!(Arc::strong_count(&handlers), 1, "a loser's handler is kept");
            out
        })
    }};
}

/// Returns the future of an expression. The children of a group are made at once, and all others
/// when they are polled first.
fn future(world: &Arc<World>, expression: &Arc<Expression>) -> Boxed {
    match &expression.kind {
        Kind::Group(kind, shape, children) => {
            let children = children.iter().map(|it| child(world, it)).collect();
            group(*kind, *shape, children)
        }
        Kind::Choose(Fails::None, branches) => chosen!(world, branches, choose(), code),
        Kind::Choose(Fails::Any, branches) => {
            chosen!(world, branches, try_choose(), |value| value)
        }
        _ => {
            let (world, expression) = (world.clone(), expression.clone());
            Box::pin(async move { evaluated(&world, &expression).await })
        }
    }
}

async fn evaluated(world: &Arc<World>, expression: &Expression) -> Out {
    let child = |it| child(world, it);
    match &expression.kind {
        Kind::Value(out) => *out,
        Kind::Panic(code) => resume_unwind(Box::new(code.to_string())),
        Kind::Delay(seconds) => {
            delay(Duration::from_secs(u64::from(*seconds))).await;
            Ok(*seconds)
        }
        Kind::Pause(polls) if expression.number % 2 == 0 => {
            let mut left = *polls;
            poll_fn(|cx| {
                if left == 0 {
                    return Poll::Ready(Ok(*polls));
                }
                left -= 1;
                let waker = cx.waker().clone();
                joint_executor::spawn_detached(async move { waker.wake_by_ref() });
                Poll::Pending
            })
            .await
        }
        Kind::Pause(polls) => after(usize::from(*polls), Ok(*polls)).await,
        Kind::Wait(gate) if expression.number % 2 == 0 => {
            let first = world.firsts[*gate].lock().unwrap().take();
            let shared = first.unwrap_or_else(|| world.gates[*gate].clone());
            shared.await.unwrap_or(Err(CLOSED))
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
        Kind::Group(..) | Kind::Choose(..) => unreachable!("it is made elsewhere"),
        Kind::Sequence(children) if expression.number % 2 == 0 => {
            let mut slot = Slot::new();
            let mut values = pin!(slot.generate(async |mut lender| {
                for it in children {
                    let value = child(it).await?;
                    assert_eq!(lender.lend(value).await, !value, "what was lent is changed");
                }
                Ok(())
            }));
            let mut all = Vec::new();
            loop {
                match values.as_mut().next().await {
                    ControlFlow::Continue(value) => {
                        all.push(*value);
                        *value = !*value;
                    }
                    ControlFlow::Break(end) => return end.map(|()| folded(all)),
                }
            }
        }
        Kind::Sequence(children) => {
            let mut values = Vec::new();
            for it in children {
                let (driver, output) = promise::from_future(child(it));
                driver.await;
                values.push(output.await.expect("the child has ended")?);
            }
            Ok(folded(values))
        }
        Kind::Lock(Take::Wait, lock, amount, body) => {
            let permit = world.locks[*lock].take(*amount).await;
            let mut permit = permit.map_err(|Closed| CLOSED)?;
            permit.give_back(amount / 2);
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
        Kind::Set(value) => {
            let modify = |it: &mut u8| std::mem::replace(it, *value) != *value;
            let is_change = match expression.number % 3 {
                0 => world.variable.set(*value),
                1 => world.variable.send_if_modified(modify),
                _ => world.variable.modify(modify),
            };
            if is_change || expression.number % 3 == 2 {
                world.trigger.fire();
            }
            Ok(u8::from(is_change))
        }
        Kind::Reach(least) => Ok(world.variable.wait_for(|value| value >= least).await),
        Kind::Change => {
            let changed = match expression.number % 2 {
                0 => world.variable.on_change(),
                _ => world.trigger.on_fire(),
            };
            changed.await.map(|()| 11).map_err(|Closed| CLOSED)
        }
        Kind::Retry(tries, body) if expression.number % 2 == 0 => {
            let policy = Backoff::new(Duration::from_secs(1)).factor(3);
            let policy = policy.max(Duration::from_secs(2)).tries((*tries).into());
            let policy = Recording(world.clone(), expression.number, policy);
            retry(policy.only_if(|error| error % 4 != 0), || child(body)).await
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
            let task = task.ok_or(TAKEN)?;
            match expression.number % 2 {
                0 => ended(task.await),
                _ => ended(task.wait().await.copied()),
            }
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
            let adder = collection.adder();
            let result = collection.await;
            assert!(
                adder.enter(ready(Ok(()))).is_none(),
                "the collection is gone"
            );
            result.map(|()| 8)
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
