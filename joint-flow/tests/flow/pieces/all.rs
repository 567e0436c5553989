//! `all`, `try_all` and `all_ready`.

use std::panic::panic_any;

use crate::prelude::*;

#[test]
fn values_come_in_input_order() {
    check(|| async {
        let values = all((after(3, 1), after(1, "two"), after(2, Err::<u8, _>(3))));
        assert_eq!(values.await, (1, "two", Err(3)));
        let values = all([after(2, 'a'), after(0, 'b'), after(1, 'c')]);
        assert_eq!(values.await, ['a', 'b', 'c']);
        assert_eq!(all(Vec::<Ready<u8>>::new()).await, [0; 0]);
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
        let values = try_all(vec![after(1, Ok::<_, ()>(1)), after(0, Ok(2))]);
        assert_eq!(values.await, Ok(vec![1, 2]));
        let none = Vec::<Ready<Result<u8, ()>>>::new();
        assert_eq!(try_all(none).await, Ok(vec![]));
    });
}

/// The others, ended or not, are dropped.
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
        assert_eq!(log.all(), ["running", "value"]);
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
        let results = all_ready((after(1, Err::<(), _>(1)), ready(2)));
        assert_eq!(results.await, (Err(1), 2));
        assert_eq!(all_ready::<[Ready<u8>; 0]>([]).await, [0; 0]);
    });
}

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

#[test]
fn a_future_is_dropped_when_it_is_ready_and_not_when_all_are() {
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
