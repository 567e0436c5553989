//! Programs in a simulation: all that goes through an executor, with virtual time.

use crate::prelude::*;

#[test]
fn a_handle_leads_to_the_executor_of_the_simulation() {
    sim::run(1, async {
        let here = Handle::current().id();
        let handle = spawn(async { Handle::current() }).await;
        assert_eq!((handle.id(), handle.spawn(async { 5 }).await), (here, 5));
        let own = executor(1);
        let inner = own.spawn(async { Handle::try_current().map(|handle| handle.id()) });
        assert_eq!(inner.await, Some(own.id()));
        assert_eq!(own.handle().shutdown_timeout(SECOND), Ok(()));
        assert!(own.spawn(async {}).result().await.is_err());
    });
}

#[test]
#[should_panic(expected = "of the program")]
fn a_panic_of_the_main_future_is_passed_on() {
    sim::run(1, async { panic!("of the program") });
}
