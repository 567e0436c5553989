//! Models of the memory that a combinator shares with the wakers of its children, on its real
//! source: children are woken in threads of their own, against a poll, a poll with another waker,
//! and the drop of the combinator.
//!
//! Under the model a word has 2 bits, so 2 children have one word, and 3 have leaves.

use joint_flow::{All, Kept, all};
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

/// A future that hands out its waker at the first poll, and is ready at the second, where it reads
/// the mark that a thread has made before it woke the child.
struct Child {
    mark: Arc<Mark>,
    waker: Rc<RefCell<Option<Waker>>>,
    polled: bool,
}

impl Future for Child {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.polled {
            self.mark.read();
            return Poll::Ready(());
        }
        self.polled = true;
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

struct Polled {
    all: Pin<Box<All<Kept<Vec<Child>>>>>,
    wakers: Vec<(Arc<Mark>, Waker)>,
}

fn poll(all: &mut Pin<Box<All<Kept<Vec<Child>>>>>, wakes: &Arc<Wakes>) -> bool {
    let polled = all.as_mut().poll(&mut Context::from_waker(&wakes.waker()));
    polled.is_ready()
}

fn polled(children: usize, wakes: &Arc<Wakes>) -> Polled {
    let (mut futures, mut handed) = (Vec::new(), Vec::new());
    for _ in 0..children {
        let mark = Arc::new(Mark::named("mark"));
        let waker = Rc::default();
        handed.push((mark.clone(), Rc::clone(&waker)));
        futures.push(Child {
            mark,
            waker,
            polled: false,
        });
    }
    let mut all = Box::pin(all(futures));
    assert!(!poll(&mut all, wakes));
    let take = |(mark, waker): (_, Rc<RefCell<Option<Waker>>>)| (mark, waker.take().unwrap());
    Polled {
        all,
        wakers: handed.into_iter().map(take).collect(),
    }
}

fn wake((mark, waker): (Arc<Mark>, Waker), by_ref: bool) -> Thread<()> {
    thread::spawn(move || {
        mark.write();
        if by_ref {
            waker.wake_by_ref();
            drop(waker);
        } else {
            waker.wake();
        }
    })
}

/// All children but the last two are woken beforehand. Those two are woken at once, against polls
/// with one waker after another. A pending poll must be followed by a wake-up of the last waker.
fn wakes_against_polls(children: usize) {
    let first = Wakes::new();
    let Polled { mut all, wakers } = polled(children, &first);
    let mut threads = Vec::new();
    for (child, waker) in wakers.into_iter().enumerate() {
        let thread = wake(waker, child % 2 == 0);
        if child + 2 < children {
            thread.join().unwrap();
        } else {
            threads.push(thread);
        }
    }
    let mut wakes = Wakes::new();
    let mut ready = poll(&mut all, &wakes);
    if !ready && wakes.count() > 0 {
        wakes = Wakes::new();
        ready = poll(&mut all, &wakes);
    }
    join_all(threads);
    if !ready {
        assert!(
            wakes.count() > 0,
            "children were woken, and the task was not"
        );
        assert!(
            poll(&mut all, &Wakes::new()),
            "all children have been woken"
        );
    }
    drop(all);
    assert_eq!((first.wakers(), wakes.wakers()), (0, 0));
}

/// Polls until all are ready, so that no wake-up of the task and no join makes an edge.
fn looks(children: usize) {
    model_bounded(3, move || {
        let wakes = Wakes::new();
        let Polled {
            mut all,
            mut wakers,
        } = polled(children, &wakes);
        // The last two are in one word with three children too: the first is woken here.
        let (mark, waker) = wakers.swap_remove(if children == 3 { 2 } else { 0 });
        mark.write();
        waker.wake();
        let threads: Vec<_> = wakers.into_iter().map(|waker| wake(waker, false)).collect();
        while !poll(&mut all, &wakes) {
            thread::yield_now();
        }
        drop(all);
        join_all(threads);
        assert_eq!(wakes.wakers(), 0);
    });
}

/// The combinator is dropped against a wake-up. The last of the two frees the block.
fn gone(by_ref: bool) {
    model(move || {
        let wakes = Wakes::new();
        let Polled { all, mut wakers } = polled(2, &wakes);
        wakers.truncate(1);
        let thread = wake(wakers.remove(0), by_ref);
        drop(all);
        thread.join().unwrap();
        assert!(wakes.count() <= 1);
        assert_eq!(wakes.wakers(), 0);
    });
}

/// Cell: all: a waker's last reference against the drop of the combinator.
#[test]
fn the_last_reference_frees_the_block() {
    model_bounded(3, || {
        let wakes = Wakes::new();
        let Polled { all, wakers } = polled(2, &wakes);
        let threads: Vec<_> = wakers
            .into_iter()
            .map(|(_, waker)| thread::spawn(move || drop(waker.clone())))
            .collect();
        drop(all);
        join_all(threads);
        assert_eq!((wakes.count(), wakes.wakers()), (0, 0));
    });
}

models! {
    /// Cell: all: only children that were woken are polled, and no wake-up is lost.
    two_wake_ups_against_polls: model_bounded(4, || wakes_against_polls(2));
    /// Cell: all: only children that were woken are polled, and no wake-up is lost.
    two_wake_ups_of_two_words_against_polls: model_bounded(3, || wakes_against_polls(3));
    /// Cell: all: a child's poll sees what happened before its wake-up.
    wake_ups_against_looks: looks(2);
    /// Cell: all: a child's poll sees what happened before its wake-up.
    two_wake_ups_of_a_leaf_against_looks: looks(3);
    /// Cell: all: a wake-up against the drop of the combinator.
    a_wake_up_against_the_drop: gone(false);
    /// Cell: all: a wake-up against the drop of the combinator.
    a_wake_up_by_reference_against_the_drop: gone(true);
}
