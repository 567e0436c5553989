//! `all`, `try_all` and `all_ready`.

use std::{
    future::ready,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use joint::oneshot;
use joint_executor::{spawn, yield_now};
use joint_flow::{all, all_ready, try_all};

use crate::common::{Log, after, check, holding, panics_when_polled_twice};

#[test]
fn values_come_in_input_order() {
    check(|| async {
        assert_eq!(
            all((after(3, 1), after(1, "two"), after(2, '3'))).await,
            (1, "two", '3')
        );
        assert_eq!(
            all([after(2, 'a'), after(0, 'b'), after(1, 'c')]).await,
            ['a', 'b', 'c']
        );
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                spawn(async move {
                    yield_now().await;
                    number
                })
            })
            .collect();
        let numbers = all(tasks).await;
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        assert_eq!(all(Vec::<std::future::Ready<u8>>::new()).await, [0; 0]);
        assert_eq!(
            all((after(1, Err::<u8, _>(1)), ready(2))).await,
            (Err(1), 2)
        );
    });
}

/// More children than a word has bits.
#[test]
fn many_values_come_in_input_order() {
    check(|| async {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..150).map(|_| oneshot::channel::<usize>()).unzip();
        let tasks = [0, 1, 2].map(|offset| {
            let mut own = Vec::new();
            own.extend(
                senders
                    .iter()
                    .enumerate()
                    .map(|(number, _)| number)
                    .filter(|n| n % 3 == offset),
            );
            own
        });
        let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
        for own in tasks {
            let own: Vec<_> = own
                .into_iter()
                .map(|n| (n, senders[n].take().unwrap()))
                .collect();
            spawn(async move {
                for (number, sender) in own.into_iter().rev() {
                    sender.send(number).unwrap();
                    if number % 10 == 0 {
                        yield_now().await;
                    }
                }
            })
            .detach();
        }
        let values = all(receivers).await;
        assert!(values.into_iter().map(Result::unwrap).eq(0..150));
    });
}

#[test]
fn try_all_fails_with_the_first_error_in_order_of_completion() {
    check(|| async {
        let error = try_all((
            after(3, Err::<u8, _>("later")),
            after(1, Err::<u8, _>("first")),
        ));
        assert_eq!(error.await, Err("first"));
        let error = try_all([
            after(1, Ok(1)),
            after(2, Err("leftmost")),
            after(2, Err("right")),
        ]);
        assert_eq!(error.await, Err("leftmost"));
        let values = try_all((after(2, Ok::<_, ()>(1)), after(1, Ok("two"))));
        assert_eq!(values.await, Ok((1, "two")));
        assert_eq!(
            try_all(vec![after(1, Ok::<_, ()>(1)), after(0, Ok(2))]).await,
            Ok(vec![1, 2])
        );
        assert_eq!(
            try_all(Vec::<std::future::Ready<Result<u8, ()>>>::new()).await,
            Ok(vec![])
        );
    });
}

/// The others, ended or not, are dropped before it returns.
#[test]
fn the_rest_is_dropped_before_the_error_is_returned() {
    check(|| async {
        let log = Log::new();
        let running = log.on_drop("running");
        let ended = log.on_drop("value");
        let mut all = pin!(try_all((
            holding::<_, Result<(), &str>>(running),
            async move { Ok(ended) },
            after(1, Err::<(), _>("error")),
        )));
        // It is itself dropped after the caller has gone on.
        assert_eq!(all.as_mut().await.unwrap_err(), "error");
        log.add("the caller goes on");
        assert_eq!(log.all(), ["running", "value", "the caller goes on"]);
    });
}

#[test]
fn all_ready_waits_for_all_whatever_happens() {
    check(|| async {
        let log = Log::new();
        let runs = |polls, name: &'static str, result: Result<u8, &'static str>| {
            let log = log.clone();
            async move {
                after(polls, ()).await;
                log.add(name);
                result
            }
        };
        let results = all_ready([
            runs(3, "last", Ok(1)),
            runs(1, "first", Err("lost")),
            runs(2, "second", Err("again")),
        ]);
        assert_eq!(results.await, [Ok(1), Err("lost"), Err("again")]);
        assert_eq!(log.all(), ["first", "second", "last"]);
        assert_eq!(
            all_ready((after(1, Err::<(), _>(1)), ready(2))).await,
            (Err(1), 2)
        );
        assert_eq!(all_ready::<[std::future::Ready<u8>; 0]>([]).await, [0; 0]);
    });
}

/// A panic is resumed after the others have run to their end, and it is the first one.
#[test]
fn all_ready_resumes_the_first_panic_when_all_have_ended() {
    let log = Log::new();
    let future = |polls, panics: bool, name: &'static str| {
        let (ended, dropped) = (log.clone(), log.on_drop(format!("{name} dropped")));
        async move {
            let _dropped = dropped;
            after(polls, ()).await;
            if panics {
                panic_any(name);
            }
            ended.add(name);
        }
    };
    let all = all_ready((
        future(2, true, "b"),
        future(1, true, "a"),
        future(3, false, "c"),
    ));
    let panic = catch_unwind(AssertUnwindSafe(|| joint::block_on(all))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "a");
    assert_eq!(log.all(), ["a dropped", "b dropped", "c", "c dropped"]);
}

/// Not even a future whose poll and whose destructor panic ends it.
#[test]
fn all_ready_waits_for_all_although_a_destructor_panics() {
    struct Panics;
    impl Future for Panics {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            panic_any("poll");
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            panic_any("destructor");
        }
    }
    let log = Log::new();
    let other = async {
        after(2, ()).await;
        log.add("the other has ended");
    };
    let all = all_ready((Panics, other));
    let panic = catch_unwind(AssertUnwindSafe(|| joint::block_on(all))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "poll");
    assert_eq!(log.all(), ["the other has ended"]);
}

/// A future is dropped as soon as it is ready, not when all are.
#[test]
fn a_future_is_dropped_when_it_is_ready() {
    check(|| async {
        let log = Log::new();
        let guard = log.on_drop("dropped");
        let first = async move {
            let _guard = guard;
            after(1, 'a').await
        };
        let second = async {
            after(3, ()).await;
            log.add("second");
            'b'
        };
        assert_eq!(all((first, second)).await, ('a', 'b'));
        assert_eq!(log.all(), ["dropped", "second"]);
    });
}

#[test]
fn polling_after_the_end_panics() {
    panics_when_polled_twice(all([ready(1)]));
    panics_when_polled_twice(all((ready(1), ready(2))));
    panics_when_polled_twice(all(Vec::<std::future::Ready<()>>::new()));
    panics_when_polled_twice(try_all([ready(Ok::<_, ()>(1))]));
    panics_when_polled_twice(try_all([ready(Err::<(), _>(1))]));
    panics_when_polled_twice(all_ready([ready(1)]));
    assert_eq!(
        Box::pin(all([ready(1)]))
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready([1])
    );
}
