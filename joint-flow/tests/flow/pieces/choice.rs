//! The ordered choice.

use joint_executor::spawn;

use crate::prelude::*;

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
