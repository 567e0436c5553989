//! Random trees of combinators, with leaves that are woken from outside, by themselves, by each
//! other's polls and by each other's destructors. The waker and the thread change with each poll,
//! only the last waker counts, and nothing but a wake-up leads to the next poll. So a lost wake-up
//! is seen at once.

use std::sync::{
    PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use crate::prelude::*;

const SEEDS: u64 = if cfg!(miri) { 20 } else { 3_000 };

/// SplitMix64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }
}

type Outcome = Result<usize, usize>;
type Tree = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Data shared by the leaves of one tree.
#[derive(Default)]
struct World {
    leaves: Mutex<Vec<Arc<Event>>>,
    alive: AtomicUsize,
}

#[derive(Default)]
struct Event {
    has_come: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Event {
    fn fire(&self) {
        self.has_come.store(true, SeqCst);
        let waker = self.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

enum Kind {
    /// Is ready after the event.
    Outside,
    /// Wakes itself so many times.
    Itself(usize),
    /// Fires another leaf's event whenever it is polled and when it is dropped, and is ready after
    /// its own.
    Other(usize),
}

struct Leaf {
    world: Arc<World>,
    event: Arc<Event>,
    kind: Kind,
    output: Outcome,
    has_ended: bool,
}

impl Leaf {
    fn fire_other(&self, other: usize) {
        let event = {
            let leaves = self
                .world
                .leaves
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            leaves[other % leaves.len()].clone()
        };
        event.fire();
    }
}

impl Future for Leaf {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        assert!(!self.has_ended, "a leaf was polled after its end");
        match &mut self.kind {
            Kind::Itself(0) => self.has_ended = true,
            Kind::Itself(left) => {
                *left -= 1;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            &mut Kind::Other(other) => self.fire_other(other),
            Kind::Outside => {}
        }
        if !self.has_ended {
            // The waker first, so that no event is missed.
            *self.event.waker.lock().unwrap() = Some(cx.waker().clone());
            self.has_ended = self.event.has_come.load(SeqCst);
        }
        if self.has_ended {
            Poll::Ready(self.output)
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Kind::Other(other) = self.kind {
            self.fire_other(other);
        }
        self.world.alive.fetch_sub(1, SeqCst);
    }
}

fn leaf(random: &mut Random, world: &Arc<World>) -> Tree {
    let event = Arc::new(Event::default());
    let mut leaves = world.leaves.lock().unwrap();
    leaves.push(event.clone());
    world.alive.fetch_add(1, SeqCst);
    Box::pin(Leaf {
        world: world.clone(),
        event,
        kind: match random.below(4) {
            0 => Kind::Itself(random.below(4)),
            1 => Kind::Other(random.below(1000)),
            _ => Kind::Outside,
        },
        output: if random.below(3) == 0 {
            Err(leaves.len())
        } else {
            Ok(leaves.len())
        },
        has_ended: false,
    })
}

fn tree(random: &mut Random, world: &Arc<World>, depth: usize) -> Tree {
    if depth == 0 || random.below(6) == 0 {
        return leaf(random, world);
    }
    // Beyond 8 and 64, where the words change.
    let count = match random.below(20) {
        0 => 9 + random.below(70),
        1 => 1,
        _ => 2 + random.below(4),
    };
    let depth = if count > 8 { 0 } else { depth - 1 };
    let mut children: Vec<_> = (0..count).map(|_| tree(random, world, depth)).collect();
    let n = 1 + random.below(count);
    match random.below(8) {
        0 => Box::pin(async {
            all(children)
                .await
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .map(|all| all.len())
        }),
        1 => Box::pin(async { race(children).await.1 }),
        2 => Box::pin(async { try_all(children).await.map(|all| all.len()) }),
        3 => Box::pin(async { all_ready(children).await.into_iter().last().unwrap() }),
        4 => Box::pin(async {
            any(children)
                .await
                .map(|(_, value)| value)
                .map_err(|errors| errors.len())
        }),
        5 => Box::pin(async move {
            let (result, losers) = quorum(n, children).keep_losers().await;
            let count = losers.await.len();
            result.map(|_| count).map_err(|_| count)
        }),
        6 => Box::pin(async move {
            quorum(n, children)
                .strict()
                .await
                .map(|values| values.len())
        }),
        _ => {
            let (first, rest) = (children.remove(0), children);
            if rest.is_empty() {
                return first;
            }
            Box::pin(async {
                choose()
                    .when(|| first, |output| output)
                    .when(|| race(rest), |(_, output)| output)
                    .await
            })
        }
    }
}

struct Flag(AtomicBool, thread::Thread);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
        self.1.unpark();
    }
}

fn flag(is_woken: bool) -> Arc<Flag> {
    Arc::new(Flag(AtomicBool::new(is_woken), thread::current()))
}

/// Polls once with a waker of its own, which wakes this thread.
fn poll(tree: &mut Tree, waker: &Arc<Flag>) -> Poll<Outcome> {
    let waker = Waker::from(waker.clone());
    tree.as_mut().poll(&mut Context::from_waker(&waker))
}

#[test]
fn one_thread() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let world = Arc::new(World::default());
        let mut tree = tree(&mut random, &world, 3);
        let mut events = world.leaves.lock().unwrap().clone();
        let (mut last, mut polls) = (flag(true), 0);
        loop {
            if last.0.load(SeqCst) || random.below(10) == 0 {
                polls += 1;
                assert!(polls < 10_000, "{seed}: it is woken without end");
                last = flag(false);
                if poll(&mut tree, &last).is_ready() {
                    break;
                }
            } else if random.below(400) == 0 {
                // Cancelled.
                break;
            } else {
                assert!(!events.is_empty(), "{seed}: a wake-up was lost");
                events.swap_remove(random.below(events.len())).fire();
            }
        }
        drop(tree);
        assert_eq!(world.alive.load(SeqCst), 0, "{seed}");
        drop(events);
        world.leaves.lock().unwrap().clear();
        assert_eq!(Arc::strong_count(&last), 1, "{seed}: a waker leaks");
    }
}

/// Two threads fire the events, while the tree moves to another thread with each poll.
#[test]
fn several_threads() {
    for seed in 0..SEEDS / 10 {
        let mut random = Random(seed);
        let world = Arc::new(World::default());
        let mut tree = tree(&mut random, &world, 3);
        let mut events = world.leaves.lock().unwrap().clone();
        for at in (1..events.len()).rev() {
            events.swap(at, random.below(at + 1));
        }
        let moves = seed % 4 == 0;
        thread::scope(|scope| {
            let half = events.len() / 2;
            for part in [&events[..half], &events[half..]] {
                scope.spawn(move || part.iter().for_each(|event| event.fire()));
            }
            let mut last = flag(true);
            loop {
                while !last.0.load(SeqCst) {
                    thread::park();
                }
                last = flag(false);
                let mut poll_it = || poll(&mut tree, &last);
                let polled = if moves {
                    thread::scope(|scope| scope.spawn(poll_it).join().unwrap())
                } else {
                    poll_it()
                };
                if polled.is_ready() {
                    break;
                }
            }
            // The rest of the events comes while it is dropped.
            drop(tree);
        });
        assert_eq!(world.alive.load(SeqCst), 0, "{seed}");
    }
}
