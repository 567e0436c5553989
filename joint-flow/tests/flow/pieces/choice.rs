//! The ordered choice.

use joint_executor::spawn;
use joint_flow::{
    choice::try_choose,
    stream::{self, StreamExt},
};

use crate::prelude::*;

#[test]
fn everything_else_is_dropped_before_the_handler_runs() {
    check(|| async {
        let log = Log::new();
        let part = |name: &str| log.on_drop(name);
        let (first, second, third) = (part("first"), part("second"), part("third"));
        let (first_handler, fourth) = (part("first's handler"), part("fourth's closure"));
        choose()
            .when(|| holding::<_, ()>(first), |()| drop(first_handler))
            .when(
                || async move {
                    let _second = second;
                    after(2, ()).await;
                },
                |()| log.add("handled"),
            )
            .when(|| holding::<_, ()>(third), |()| ())
            .await;
        let expected = ["second", "first", "first's handler", "third", "handled"];
        assert_eq!(log.all(), expected);

        // A branch that was never made is dropped with the others.
        choose()
            .when(|| ready(()), |()| log.add("handled"))
            .when(
                || async move {
                    let _fourth = fourth;
                },
                |()| (),
            )
            .await;
        assert_eq!(log.all()[5..], ["fourth's closure", "handled"]);
    });
}

#[test]
fn an_error_of_a_branch_or_of_a_handler_fails_the_choice() {
    check(|| async {
        let made = Cell::new(0);
        let choice = try_choose()
            .when(pending::<Result<u32, &str>>, |_| -> Result<u32, _> {
                panic!("it is never ready")
            })
            .when(|| after(1, Err("failed")), |()| panic!("it has failed"))
            .when(
                || {
                    made.set(made.get() + 1);
                    after(9, Ok(()))
                },
                |()| Ok(3),
            );
        assert_eq!(choice.await, Err("failed"));
        assert_eq!(made.get(), 1);

        let choice = try_choose()
            .when(|| after(1, Ok("twelve")), |text: &str| text.parse::<u32>())
            .when(pending, Ok);
        assert!(choice.await.is_err(), "the handler has failed");
    });
}

#[test]
fn a_panic_of_a_handler_passes_through() {
    check(|| async {
        let log = Log::new();
        let part = log.on_drop("other");
        let task = spawn(async move {
            let _: () = choose()
                .when(
                    || after(1, ()),
                    |()| std::panic::resume_unwind(Box::new("handler")),
                )
                .when(|| holding(part), |()| ())
                .await;
        });
        assert!(task.result().await.unwrap_err().is_panic());
        assert_eq!(log.all(), ["other"]);
    });
}

#[test]
fn a_choice_in_a_loop_loses_nothing() {
    #[derive(PartialEq)]
    enum Event {
        Item(u32),
        Tick,
        End,
    }

    check(|| async {
        let (sender, mut items) = stream::channel::<u32, joint_flow::Closed>();
        let (ticker, mut ticks) = stream::channel::<(), joint_flow::Closed>();
        let producers = [
            spawn(async move {
                for n in 0..4 {
                    sender.send(n).unwrap();
                    after(1, ()).await;
                }
                sender.end();
            }),
            spawn(async move {
                for _ in 0..4 {
                    ticker.send(()).unwrap();
                    after(2, ()).await;
                }
                // Kept open: the items end the loop.
                pending().await
            }),
        ];
        let (mut got, mut ticked) = (Vec::new(), 0);
        loop {
            let choice = choose()
                .when(
                    || items.next(),
                    |item| item.map_or(Event::End, |item| Event::Item(item.unwrap())),
                )
                .when(|| ticks.next(), |_| Event::Tick);
            match may_cancel(choice).await {
                None => {}
                Some(Event::Item(n)) => got.push(n),
                Some(Event::Tick) => ticked += 1,
                Some(Event::End) => break,
            }
        }
        assert_eq!(got, [0, 1, 2, 3]);
        assert!(ticked <= 4);
        let [items, ticks] = producers;
        items.await;
        drop(ticks.cancel());
    });
}

#[test]
fn many_branches() {
    check(|| async {
        for winner in 0..10 {
            let branch = |n| move || after(if n == winner { 1 } else { 100 }, n);
            let won = choose()
                .when(branch(0), |n| n)
                .when(branch(1), |n| n)
                .when(branch(2), |n| n)
                .when(branch(3), |n| n)
                .when(branch(4), |n| n)
                .when(branch(5), |n| n)
                .when(branch(6), |n| n)
                .when(branch(7), |n| n)
                .when(branch(8), |n| n)
                .when(branch(9), |n| n)
                .await;
            assert_eq!(won, winner);
        }
    });
}

#[test]
fn a_choice_without_branches_waits_forever() {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(choose::<()>()).poll(&mut cx).is_pending());
}
