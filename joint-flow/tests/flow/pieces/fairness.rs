//! The budget ends every poll, and a child that it refuses has its turn later: each source of work,
//! in each combinator and on each executor.

use joint_executor::{
    spawn_detached,
    time::{Interval, interval_at, now, timeout},
    yield_now,
};
use joint_flow::{
    Closed,
    stream::{self, Stream},
};

use crate::prelude::*;

type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

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

impl Kind {
    fn stream() -> Self {
        let (sender, receiver) = stream::channel();
        Self::Stream(sender, Mutex::new(receiver))
    }

    fn ticks() -> Self {
        let begin = now().checked_sub(Duration::from_secs(1)).unwrap();
        Self::Ticks(Mutex::new(interval_at(begin, Duration::from_nanos(1))))
    }

    fn lock() -> Self {
        Self::Lock(FlowLock::new(1))
    }
}

/// The combinator in which a loop awaits each item.
#[derive(Clone, Copy)]
enum In {
    None,
    Race,
    Choose,
    Timeout,
}

struct Source {
    kind: Kind,
    combinator: In,
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

/// The number of the poll of the task, and how many rounds its loops have made in it.
#[derive(Default)]
struct Progress {
    polls: AtomicUsize,
    rounds: AtomicUsize,
}

impl Source {
    fn new(kind: Kind, combinator: In, rarity: usize) -> Self {
        Self {
            kind,
            combinator,
            rarity,
            served: AtomicUsize::new(0),
            seen: Mutex::default(),
        }
    }

    /// Polls for an item, of which `op` is what is left of the poll before.
    fn poll(&self, op: &mut Option<Boxed<'static>>, cx: &mut Context<'_>) -> Poll<()> {
        match &self.kind {
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
            Kind::Point => (op.get_or_insert_with(|| Box::pin(point())).as_mut()).poll(cx),
            Kind::Plain => budget::poll_proceed(cx).map(|()| budget::spend()),
        }
    }

    async fn item(&self, progress: &Progress) {
        let mut op = None;
        poll_fn(|cx| {
            if progress.polls.load(Relaxed) % self.rarity != 0 {
                return Poll::Pending;
            }
            let polled = self.poll(&mut op, cx);
            let mut seen = self.seen.lock().unwrap();
            match polled {
                Poll::Pending => seen.is_refused = true,
                Poll::Ready(()) => {
                    seen.is_served = true;
                    self.served.fetch_add(1, Relaxed);
                }
            }
            polled
        })
        .await;
    }

    async fn repeat(&self, progress: &Progress) {
        loop {
            let rounds = progress.rounds.fetch_add(1, Relaxed);
            assert!(rounds < 10_000, "a poll does not end");
            let item = self.item(progress);
            match self.combinator {
                In::None => item.await,
                In::Race => _ = race((item, pending::<()>())).await,
                In::Choose => {
                    let choice = choose().when(|| item, |()| ());
                    choice.when(pending::<()>, |()| ()).await;
                }
                In::Timeout => _ = timeout(Duration::ZERO, item).await,
            }
        }
    }

    /// Checks after a poll that this does not starve.
    fn check(&self) {
        let mut seen = self.seen.lock().unwrap();
        let streak = match (seen.is_served, seen.is_refused) {
            (true, _) => 0,
            (false, is_refused) => seen.streak + usize::from(is_refused),
        };
        *seen = Seen {
            streak,
            ..Seen::default()
        };
        let is_kept = matches!(self.kind, Kind::Stream(..) | Kind::Ticks(_));
        assert!(streak <= 1 || !is_kept, "refused twice in a row");
    }
}

/// Polls a loop for each source in one task again and again.
async fn repeat_all(sources: &[Source], polls: usize) {
    let progress = Progress::default();
    let mut loops: Vec<Boxed<'_>> = Vec::new();
    for source in sources {
        loops.push(Box::pin(source.repeat(&progress)));
    }
    poll_fn(|cx| {
        progress.rounds.store(0, Relaxed);
        for one in &mut loops {
            assert!(one.as_mut().poll(cx).is_pending());
        }
        sources.iter().for_each(Source::check);
        cx.waker().wake_by_ref();
        match progress.polls.fetch_add(1, Relaxed) < polls {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    })
    .await;
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
        let kinds = || {
            [
                Kind::stream(),
                Kind::ticks(),
                Kind::lock(),
                Kind::Point,
                Kind::Plain,
            ]
        };
        let mut sources = Vec::new();
        for combinator in [In::None, In::Race, In::Choose, In::Timeout] {
            for rarity in [1, 2, 7] {
                let all = kinds().map(|kind| Source::new(kind, combinator, rarity));
                sources.extend(all);
            }
        }
        repeat_all(&sources, 60).await;
    });
}

/// Some of which keep no turn: it is chance that lets them through.
#[test]
fn of_five_loops_of_ready_work_each_makes_progress() {
    everywhere(|| async {
        for kind in [|| Kind::Plain, Kind::lock, Kind::stream] {
            let sources = [(); 5].map(|()| Source::new(kind(), In::None, 1));
            repeat_all(&sources, 200).await;
            for source in &sources {
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
