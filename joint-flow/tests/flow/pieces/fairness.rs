//! Whoever is refused by the budget is served, and every poll ends: random trees of sources, loops
//! and combinators, in every kind of executor.

use std::slice;

use joint_executor::{
    spawn_detached,
    time::{Interval, interval_at, now, timeout, timeout_at},
    yield_now,
};
use joint_flow::{
    Closed,
    stream::{self, Stream},
};

use crate::prelude::*;

type Tree = Pin<Box<dyn Future<Output = ()> + Send>>;

/// More operations than a poll of these trees may do: a budget, one for each turn, and some
/// newcomers.
const MOST: usize = 150;

/// The first two keep their turn in an object, and the others in a future or nowhere.
enum Kind {
    Stream(
        stream::Sender<(), Closed>,
        Mutex<stream::Receiver<(), Closed>>,
    ),
    Ticks(Mutex<Interval>),
    Lock(FlowLock),
    Point,
    Plain,
}

struct Source {
    kind: Kind,
    /// How many operations one item takes.
    cost: usize,
    /// It has something to give in one of so many polls.
    rarity: usize,
    served: AtomicUsize,
    seen: Mutex<Seen>,
}

/// What a source has seen in this poll, and in how many polls in a row it was only refused.
#[derive(Default)]
struct Seen {
    is_refused: bool,
    is_served: bool,
    streak: usize,
}

#[derive(Clone)]
enum Shape {
    Leaf(usize),
    Loop(Box<Shape>),
    Or(Vec<Shape>),
    Join(Vec<Shape>),
    Race(Box<[Shape; 2]>),
    Choose(Box<[Shape; 2]>),
    Try(Box<Shape>, bool),
}

impl Shape {
    /// Returns how many leaves there are, and how many loops.
    fn sizes(&self) -> (usize, usize) {
        let all = match self {
            Shape::Leaf(_) => return (1, 0),
            Shape::Loop(one) | Shape::Try(one, _) => slice::from_ref(&**one),
            Shape::Or(all) | Shape::Join(all) => all,
            Shape::Race(two) | Shape::Choose(two) => two.as_slice(),
        };
        let add = |(leaves, loops), (more, others)| (leaves + more, loops + others);
        let sizes = all.iter().map(Self::sizes).fold((0, 0), add);
        add(sizes, (0, usize::from(matches!(self, Self::Loop(_)))))
    }

    /// Returns more steps than one poll may do. An operation is a step, and may begin a round of
    /// each loop. If there are more than 64 leaves, as many may be refused in a row, which refills
    /// the budget.
    fn most_steps(&self) -> usize {
        let (leaves, loops) = self.sizes();
        MOST * (1 + loops) * (1 + leaves / 64)
    }
}

/// A step of Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % limit
    }

    fn shapes<const N: usize>(&mut self, depth: usize, sources: usize) -> Box<[Shape; N]> {
        Box::new(std::array::from_fn(|_| self.shape(depth - 1, sources)))
    }

    fn shape(&mut self, depth: usize, sources: usize) -> Shape {
        match if depth == 0 { 0 } else { self.below(9) } {
            0..3 => Shape::Leaf(self.below(sources)),
            3 => Shape::Loop(Box::new(self.shape(depth - 1, sources))),
            4 => Shape::Or(self.shapes::<3>(depth, sources).to_vec()),
            5 => Shape::Join(self.shapes::<3>(depth, sources).to_vec()),
            6 => Shape::Race(self.shapes(depth, sources)),
            7 => Shape::Choose(self.shapes(depth, sources)),
            _ => Shape::Try(Box::new(self.shape(depth - 1, sources)), self.below(2) == 0),
        }
    }

    fn source(&mut self) -> Source {
        let kind = match self.below(5) {
            0 => {
                let (sender, receiver) = stream::channel();
                Kind::Stream(sender, Mutex::new(receiver))
            }
            1 => {
                let begin = now().checked_sub(Duration::from_secs(1)).unwrap();
                Kind::Ticks(Mutex::new(interval_at(begin, Duration::from_nanos(1))))
            }
            2 => Kind::Lock(FlowLock::new(1)),
            3 => Kind::Point,
            _ => Kind::Plain,
        };
        Source {
            kind,
            cost: [1, 3][self.below(2)],
            rarity: [1, 1, 2, 7][self.below(4)],
            served: AtomicUsize::new(0),
            seen: Mutex::default(),
        }
    }
}

/// One task.
struct Run {
    sources: Vec<Source>,
    polls: AtomicUsize,
    /// The number of operations and of rounds of loops in this poll.
    steps: AtomicUsize,
    most_steps: usize,
}

impl Run {
    fn step(&self) {
        let steps = self.steps.fetch_add(1, Relaxed);
        assert!(steps < self.most_steps, "a poll does not end");
    }

    /// Polls for one operation of a source.
    fn poll_source(&self, i: usize, op: &mut Option<Tree>, cx: &mut Context<'_>) -> Poll<()> {
        let source = &self.sources[i];
        if (self.polls.load(Relaxed) + i) % source.rarity != 0 {
            return Poll::Pending;
        }
        let polled = match &source.kind {
            Kind::Stream(sender, receiver) => {
                let mut receiver = receiver.lock().unwrap();
                if receiver.is_empty() {
                    sender.send(()).unwrap();
                }
                Pin::new(&mut *receiver).poll_next(cx).map(drop)
            }
            Kind::Ticks(ticks) => ticks.lock().unwrap().poll_tick(cx).map(drop),
            Kind::Lock(lock) => {
                let take = op.get_or_insert_with(|| {
                    let take = lock.take(1);
                    Box::pin(async move { drop(take.await) })
                });
                take.as_mut().poll(cx)
            }
            Kind::Point => op
                .get_or_insert_with(|| Box::pin(point()))
                .as_mut()
                .poll(cx),
            Kind::Plain => budget::poll_proceed(cx).map(|()| budget::spend()),
        };
        let mut seen = source.seen.lock().unwrap();
        match polled {
            Poll::Pending => seen.is_refused = true,
            Poll::Ready(()) => {
                seen.is_served = true;
                source.served.fetch_add(1, Relaxed);
                self.step();
            }
        }
        polled
    }

    fn build(self: &Arc<Self>, shape: &Shape) -> Tree {
        let run = self.clone();
        let all = |shapes: &[Shape]| shapes.iter().map(|one| run.build(one)).collect::<Vec<_>>();
        match shape.clone() {
            Shape::Leaf(i) => Box::pin(async move {
                for _ in 0..run.sources[i].cost {
                    let mut op = None;
                    poll_fn(|cx| run.poll_source(i, &mut op, cx)).await;
                }
            }),
            Shape::Loop(body) => Box::pin(async move {
                loop {
                    run.step();
                    run.build(&body).await;
                }
            }),
            Shape::Or(shapes) => {
                let mut all = all(&shapes);
                Box::pin(poll_fn(move |cx| {
                    let mut each = all.iter_mut().map(|one| one.as_mut().poll(cx));
                    each.find(Poll::is_ready).unwrap_or(Poll::Pending)
                }))
            }
            Shape::Join(shapes) => {
                let mut all = all(&shapes);
                Box::pin(poll_fn(move |cx| {
                    all.retain_mut(|one| one.as_mut().poll(cx).is_pending());
                    match all.is_empty() {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                }))
            }
            Shape::Race(shapes) => {
                let [first, second] = shapes.map(|one| run.build(&one));
                Box::pin(async { _ = race((first, second)).await })
            }
            Shape::Choose(shapes) => {
                let [first, second] = shapes.map(|one| run.build(&one));
                Box::pin(choose().when(|| first, |()| ()).when(|| second, |()| ()))
            }
            Shape::Try(tried, true) => {
                let tried = timeout(Duration::ZERO, run.build(&tried));
                Box::pin(async { _ = tried.await })
            }
            Shape::Try(tried, false) => {
                let tried = timeout_at(now(), run.build(&tried));
                Box::pin(async { _ = tried.await })
            }
        }
    }

    /// Polls a tree again and again, and checks after each poll that nobody starves.
    async fn polls(self: &Arc<Self>, shape: &Shape, polls: usize) {
        let mut tree = self.build(shape);
        poll_fn(|cx| {
            self.steps.store(0, Relaxed);
            assert_eq!(tree.as_mut().poll(cx), Poll::Pending);
            for source in &self.sources {
                let mut seen = source.seen.lock().unwrap();
                let streak = match (seen.is_served, seen.is_refused) {
                    (true, _) => 0,
                    (false, is_refused) => seen.streak + usize::from(is_refused),
                };
                *seen = Seen {
                    streak,
                    ..Seen::default()
                };
                let is_kept = matches!(source.kind, Kind::Stream(..) | Kind::Ticks(_));
                assert!(streak <= 1 || !is_kept, "refused twice in a row");
            }
            cx.waker().wake_by_ref();
            match self.polls.fetch_add(1, Relaxed) < polls {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }
}

/// Runs a random tree.
async fn tree(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let sources: Vec<_> = (0..2 + random.below(6)).map(|_| random.source()).collect();
    let tops = 1 + random.below(5);
    let one = |_| Shape::Loop(Box::new(random.shape(3, sources.len())));
    let shape = Shape::Join((0..tops).map(one).collect());
    let run = Run {
        sources,
        polls: AtomicUsize::new(0),
        steps: AtomicUsize::new(0),
        most_steps: shape.most_steps(),
    };
    Arc::new(run).polls(&shape, 60).await;
}

/// Runs a program in every kind of executor. On one thread, another task has its turns meanwhile.
fn everywhere<F: Future<Output = ()> + Send + 'static>(
    program: impl Fn() -> F + Copy + Send + 'static,
) {
    async fn with_another(program: impl Future<Output = ()>) {
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        spawn_detached(async move {
            loop {
                counted.fetch_add(1, Relaxed);
                yield_now().await;
            }
        });
        program.await;
        assert!(turns.load(Relaxed) > 10, "{turns:?}");
    }
    for workers in [1, 2] {
        let executor = Executor::builder().workers(workers).build().unwrap();
        block_on(executor.spawn(async move {
            match workers {
                1 => with_another(program()).await,
                _ => program().await,
            }
        }));
        block_on(executor.spawn(async move { block_on(program()) }));
        executor.block_on(program());
    }
    let local = LocalExecutor::new();
    local.block_on(program());
    local.block_on(local.spawn(program()));
    block_on(local.run(program()));
    let (executor, mut worker) = Executor::builder().build_current_thread().unwrap();
    worker.block_on(with_another(program()));
    worker.block_on(executor.spawn(program()));
    joint_sim::run(1, with_another(program()));
    let faults = Faults::none().extra_yields(1.0);
    let small = joint_sim::Builder::new(1).faults(faults);
    small.run(program()).unwrap();
}

#[test]
fn no_source_is_refused_in_two_polls_in_a_row() {
    everywhere(|| async {
        for seed in 1..=5 {
            tree(seed).await;
        }
    });
}

/// Some of which keep no turn: it is chance that lets them through.
#[test]
fn of_five_loops_of_ready_work_each_makes_progress() {
    everywhere(|| async {
        let kinds: [fn(&Source) -> bool; 3] = [
            |source| matches!(source.kind, Kind::Plain),
            |source| matches!(source.kind, Kind::Lock(_)),
            |source| matches!(source.kind, Kind::Stream(..)),
        ];
        for is_kind in kinds {
            let mut random = Random(7);
            let all = std::iter::repeat_with(|| random.source());
            let always = all.filter(|source| source.rarity == 1 && is_kind(source));
            let one = |i| Shape::Loop(Box::new(Shape::Leaf(i)));
            let shape = Shape::Join((0..5).map(one).collect());
            let run = Arc::new(Run {
                sources: always.take(5).collect(),
                polls: AtomicUsize::new(0),
                steps: AtomicUsize::new(0),
                most_steps: shape.most_steps(),
            });
            run.polls(&shape, 200).await;
            for source in &run.sources {
                assert!(source.served.load(Relaxed) > 10);
            }
        }
    });
}

/// An executor of another crate polls again at once, and knows nothing of budgets.
#[test]
fn a_wait_that_never_returns_makes_progress() {
    let refused = |mut turn: Option<budget::Turn>, operations: usize| {
        let _outer = budget::save();
        budget::refill();
        let (mut polls, mut done) = (0_usize, 0);
        let mut cx = Context::from_waker(Waker::noop());
        while done < operations {
            polls += 1;
            let polled = match &mut turn {
                Some(turn) => turn.poll_proceed(&mut cx),
                None => budget::poll_proceed(&mut cx),
            };
            if polled.is_ready() {
                budget::spend();
                done += 1;
            }
        }
        polls
    };
    for turn in [None, Some(budget::Turn::new())] {
        let polls = refused(turn, 100_000);

        assert!(polls < 1_000_000, "{polls}");
    }
}
