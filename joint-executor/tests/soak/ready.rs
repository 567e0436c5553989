//! Doors into polls: deadlines, and sources that are always ready.

#[cfg(all(unix, feature = "io"))]
use crate::others::socket;
use crate::prelude::*;
#[cfg(all(unix, feature = "io"))]
use joint_executor::io;

/// Ticks, and then a body that has time until a deadline.
pub(crate) async fn deadline(node: &Node, here: &Here) {
    let (executor, inside) = fresh(1, here);
    let (place, body) = (here.clone(), body(node, inside));
    let n = node.n % 4;
    let handle = executor.spawn(async move {
        let start = Instant::now();
        let mut ticks = interval_at(start, SHORT);
        for i in 0..3 {
            let due = ticks.tick().await;
            let is_right = due == start + i * SHORT && due <= Instant::now();
            place.demand(is_right, "time: a tick");
        }
        let outcome = match n {
            0 => timeout(Duration::ZERO, body).await,
            1 => timeout_at(start, body).await,
            2 => timeout(SHORT, body).await,
            _ => timeout(Duration::MAX, body).await,
        };
        outcome.ok()
    });
    match handle.result().await.transpose() {
        Some(result) => check_result(here, node, result),
        None => here.demand(n < 3, "time: a timeout without an end"),
    }
    end(executor, node.n, here);
}

/// What is always ready, and takes from the budget.
enum Source {
    Ticks(Interval),
    /// A timeout that is over, of what is never ready.
    Late,
    /// A timeout that is over, of another source.
    Within(Box<Source>),
    #[cfg(all(unix, feature = "io"))]
    Socket(io::UdpSocket),
}

impl Source {
    fn new(choice: &mut Choice) -> Self {
        let now = Instant::now();
        match choice.below(4) {
            0 => Self::Ticks(interval_at(now, Duration::from_nanos(1))),
            1 => Self::Late,
            #[cfg(all(unix, feature = "io"))]
            2 => Self::Socket(socket()),
            _ => Self::Within(Box::new(Self::new(choice))),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Ticks(ticks) => ticks.poll_tick(cx).map(drop),
            Self::Late => over(|_| Poll::Pending, cx),
            Self::Within(source) => over(|cx| source.poll(cx), cx),
            #[cfg(all(unix, feature = "io"))]
            Self::Socket(socket) => {
                let own = socket.local_addr().unwrap();
                socket.poll_send_to(cx, &[7], own).map(drop)
            }
        }
    }
}

/// Polls within a timeout that is over.
fn over(poll: impl FnMut(&mut Context<'_>) -> Poll<()>, cx: &mut Context<'_>) -> Poll<()> {
    let over = pin!(timeout(Duration::ZERO, poll_fn(poll)));
    over.poll(cx).map(drop)
}

/// More operations than a task or a signal may have to wait.
const MOST: usize = 100_000;

/// Loops over sources that are always ready, in one task: what each has done, and its stop signal.
struct Loops {
    all: Vec<(AtomicUsize, Mutex<Sleep>)>,
    /// The operations of all when somebody else began to wait.
    waits_since: AtomicUsize,
}

impl Loops {
    fn done(&self) -> usize {
        self.all.iter().map(|(done, _)| done.load(Relaxed)).sum()
    }

    async fn run(self: Arc<Self>, i: usize, mut sources: Vec<Source>, before: usize, here: Here) {
        let (own, stop) = &self.all[i];
        // Looks as a biased select does. Returns whether it has stopped.
        let mut look = |cx: &mut Context<'_>| {
            for i in 0..=sources.len() {
                if i == before && Pin::new(&mut *stop.lock().unwrap()).poll(cx).is_ready() {
                    return Poll::Ready(true);
                }
                let source = sources.get_mut(i);
                if source.is_some_and(|source| source.poll(cx).is_ready()) {
                    return Poll::Ready(false);
                }
            }
            Poll::Pending
        };
        while !poll_fn(&mut look).await {
            let waited = self.done().saturating_sub(self.waits_since.load(Relaxed));
            here.demand(waited < MOST, "budget: another task, or a signal, waits");
            let is_only = self.all.iter().any(|(done, _)| done.load(Relaxed) == 0);
            let is_fair = own.fetch_add(1, Relaxed) != MOST || !is_only;
            here.demand(is_fair, "budget: another loop waits");
        }
    }
}

/// Stops the loops when it is dropped.
struct Stops(Arc<Loops>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.waits_since.store(self.0.done(), Relaxed);
        for (_, stop) in &self.0.all {
            stop.lock().unwrap().reset(Instant::now());
        }
    }
}

/// Each poll of a task looks at sources that are always ready, and at signals. On the same thread
/// is a sibling, which must have its turns, and which sends the signals.
pub(crate) async fn busy(node: &Node, here: &Here) {
    let mut choice = Choice::new((node.n + 32 * here.path.len()) as u64);
    let one = |_| (AtomicUsize::new(0), Mutex::new(sleep(LONG)));
    let loops = Arc::new(Loops {
        all: (0..=choice.below(5)).map(one).collect(),
        waits_since: AtomicUsize::new(0),
    });
    let (executor, mut inside) = fresh(1, here);
    let mut running: Vec<Boxed<'_>> = Vec::new();
    executor.enter(|| {
        for i in 0..loops.all.len() {
            let most = 1 + choice.below(4);
            let sources = (0..most).map(|_| Source::new(&mut choice)).collect();
            let before = choice.below(most + 1);
            let run = loops.clone().run(i, sources, before, here.clone());
            running.push(Box::pin(run));
        }
    });
    let work = poll_fn(move |cx| {
        running.retain_mut(|one| one.as_mut().poll(cx).is_pending());
        match running.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    let is_local = choice.below(3) == 0;
    if is_local {
        inside = in_local(here, here.world.number());
    }
    let (stops, body) = (Stops(loops), body(node, inside.clone()));
    let sibling = async move {
        // A turn after the loops have begun.
        while stops.0.done() == 0 {
            yield_now().await;
        }
        stops.0.waits_since.store(usize::MAX, Relaxed);
        let output = body.await;
        drop(stops);
        output
    };
    if is_local {
        let local = LocalExecutor::new();
        driving(&inside, || {
            let sibling = local.spawn(sibling);
            local.block_on(work);
            local.block_on(settle(sibling, node, &inside));
            drop(local);
        });
    } else {
        let (sibling, work) = (executor.spawn(sibling), executor.spawn(work));
        settle(sibling, node, here).await;
        work.await;
    }
    end(executor, node.n, here);
}
