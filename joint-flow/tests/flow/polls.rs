//! A combinator of more than three polls a child once at first, and then once for each time that it
//! was woken: the sum of polls is the number of children plus the number of wake-ups. Of up to
//! three, it polls all that have not ended, and they wait with the waker of the task.

use crate::{common::Wakes, prelude::*};

/// The polls, wakers and ends that the children have seen.
#[derive(Default)]
struct Seen {
    polls: Vec<usize>,
    wakers: Vec<Option<Waker>>,
    ended: Vec<bool>,
}

/// Keeps its waker, and is ready when it is told so.
struct Child {
    index: usize,
    seen: Rc<RefCell<Seen>>,
}

impl Future for Child {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        let mut seen = self.seen.borrow_mut();
        seen.polls.push(self.index);
        if seen.ended[self.index] {
            return Poll::Ready(self.index);
        }
        seen.wakers[self.index] = Some(cx.waker().clone());
        Poll::Pending
    }
}

fn children(count: usize) -> (Vec<Child>, Rc<RefCell<Seen>>) {
    let seen = Rc::new(RefCell::new(Seen {
        wakers: vec![None; count],
        ended: vec![false; count],
        ..Seen::default()
    }));
    let child = |index| Child {
        index,
        seen: seen.clone(),
    };
    ((0..count).map(child).collect(), seen)
}

/// Sizes around those at which the words change.
const SIZES: [usize; 12] = [4, 5, 8, 9, 63, 64, 65, 128, 129, 4096, 4097, 10_000];

#[test]
fn only_woken_children_are_polled_and_from_left_to_right() {
    for count in SIZES {
        let (futures, seen) = children(count);
        let mut all = pin!(all(futures));
        let (wakes, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        assert!(all.as_mut().poll(&mut cx).is_pending());
        assert!(
            seen.borrow_mut().polls.drain(..).eq(0..count),
            "first, all are polled"
        );
        assert!(all.as_mut().poll(&mut cx).is_pending());
        assert_eq!(seen.borrow().polls, [0; 0], "none was woken");

        let mut woken_before = 0;
        for round in 0..60 {
            let mut woken: Vec<_> = (0..=round % 4)
                .map(|n| (round * 37 + n * 1009) % count)
                .collect();
            for &child in &woken {
                // The second wake-up of a child before its poll is the same as the first.
                let waker = seen.borrow().wakers[child].clone().unwrap();
                waker.wake_by_ref();
                waker.wake();
            }
            woken_before += 1;
            assert_eq!(wakes.count(), woken_before, "the task is woken once");
            assert!(all.as_mut().poll(&mut cx).is_pending());
            woken.sort();
            woken.dedup();
            assert_eq!(seen.borrow_mut().polls.split_off(0), woken);
        }

        // All end, the last one first.
        for child in (0..count).rev() {
            let waker = seen.borrow().wakers[child].clone().unwrap();
            seen.borrow_mut().ended[child] = true;
            waker.wake_by_ref();
        }
        let Poll::Ready(outputs) = all.as_mut().poll(&mut cx) else {
            panic!("all have ended");
        };
        assert!(outputs.into_iter().eq(0..count));
        assert!(seen.borrow().polls.iter().copied().eq(0..count));
    }
}

#[test]
fn up_to_three_children_are_polled_with_the_tasks_waker() {
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    for (count, kind) in (1..=3).flat_map(|count| ["all", "race", "quorum"].map(|it| (count, it))) {
        let (futures, seen) = children(count);
        let succeed = |child: Child| async { Ok::<_, ()>(child.await) };
        let mut combinator: Pin<Box<dyn Future<Output = usize>>> = match kind {
            "all" => Box::pin(async { all(futures).await.len() }),
            "race" => Box::pin(async { race(futures).await.1 }),
            _ => Box::pin(async move {
                let futures = futures.into_iter().map(succeed).collect::<Vec<_>>();
                quorum(count, futures).await.unwrap().len()
            }),
        };
        for _ in 0..3 {
            assert!(combinator.as_mut().poll(&mut cx).is_pending());
            let mut seen = seen.borrow_mut();
            assert!(seen.polls.drain(..).eq(0..count), "{kind} of {count}");
            let mut wakers = seen.wakers.iter().flatten();
            assert!(wakers.all(|child| child.will_wake(&waker)));
        }
        seen.take();
    }
    drop(waker);
    let kept = (wakes.wakers(), wakes.count());
    assert_eq!(kept, (0, 0), "a combinator keeps no waker");
}

/// A combinator of many that has ended, or was dropped, holds no waker of its task, even if a waker
/// of a child is still alive.
#[test]
fn the_tasks_waker_is_given_up_at_the_end() {
    for ends in [false, true] {
        let (futures, seen) = children(4);
        let mut race = Box::pin(race(futures));
        let (wakes, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        assert!(race.as_mut().poll(&mut cx).is_pending());
        let child = seen.borrow_mut().wakers[1].take().unwrap();
        if ends {
            seen.borrow_mut().ended[1] = true;
            child.wake_by_ref();
            assert!(race.as_mut().poll(&mut cx).is_ready());
        } else {
            drop(race);
        }
        drop(waker);
        let woken = usize::from(ends);
        assert_eq!((wakes.wakers(), wakes.count()), (0, woken));
        child.wake();
        assert_eq!(wakes.count(), woken);
    }
}

/// The waker of the last poll is woken, and no other.
#[test]
fn another_task_takes_over() {
    for count in [2, 4] {
        let (futures, seen) = children(count);
        let mut all = pin!(all(futures));
        let (first, second) = (Wakes::new(), Wakes::new());
        for wakes in [&first, &second] {
            let waker = wakes.waker();
            assert!(
                all.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        seen.borrow().wakers[0].as_ref().unwrap().wake_by_ref();
        assert_eq!((first.count(), second.count()), (0, 1));
        assert_eq!(first.wakers(), 0);
    }
}
