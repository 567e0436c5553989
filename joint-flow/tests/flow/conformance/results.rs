//! Outputs are moved from a future to the one who awaits it.

use joint::oneshot;

use crate::common::{check, settled};

/// Counts its moves no further than the compiler does: it cannot be cloned.
#[derive(Debug, PartialEq)]
struct Tracker(Box<u32>);

#[test]
fn output_is_moved() {
    check(|| async {
        let value = Tracker(Box::new(7));
        let address = std::ptr::from_ref(&*value.0).addr();
        let future = async { value };
        let task = joint_executor::spawn(future);
        settled().await;
        let value = task.await;
        assert_eq!(std::ptr::from_ref(&*value.0).addr(), address);

        let (sender, sent) = oneshot::channel();
        let task = joint_executor::spawn(async move { sent.await.unwrap() });
        settled().await;
        sender.send(value).unwrap();
        let value: Tracker = task.await;
        assert_eq!(std::ptr::from_ref(&*value.0).addr(), address);
    });
}
