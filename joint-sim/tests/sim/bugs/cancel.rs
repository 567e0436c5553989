//! Futures that are dropped at an await, and timeouts.

use super::{lock::Lock, *};

const LIMIT: Duration = Duration::from_millis(3);

pub(crate) async fn permit_of_a_cancelled_waiter<R: Runtime>(version: Version) {
    let permit = Lock::new(version);
    let held = permit.lock().await;
    let waiter = R::spawn({
        let permit = permit.clone();
        async move { drop(permit.lock().await) }
    });
    let holder = R::spawn(async move {
        R::yield_now().await;
        drop(held);
    });
    R::yield_now().await;
    R::yield_now().await;
    // Cancelled, perhaps just when it has been handed the permit.
    drop(waiter);
    holder.await;
    permit.lock().await;
}

pub(crate) async fn refund_beside_success<R: Runtime>(version: Version) {
    #[derive(Default)]
    struct Order {
        shipped: AtomicUsize,
        refunded: AtomicUsize,
    }
    let order = Arc::new(Order::default());
    let mut ship = R::spawn({
        let order = order.clone();
        async move {
            sleep(LIMIT - Duration::from_micros(sim::random() % 3)).await;
            order.shipped.fetch_add(1, SeqCst);
            R::yield_now().await;
        }
    });
    if timeout(LIMIT, &mut ship).await.is_err() {
        if version == Planted || order.shipped.load(SeqCst) == 0 {
            order.refunded.fetch_add(1, SeqCst);
        }
        drop(ship);
    }
    sleep(4 * LIMIT).await;
    let both = (order.shipped.load(SeqCst), order.refunded.load(SeqCst));
    assert!(
        both == (1, 0) || both == (0, 1),
        "shipped, refunded: {both:?}"
    );
}
