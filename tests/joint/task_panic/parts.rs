//! Panics while what a task was made with is dropped: its metadata and its schedule function. The
//! rest is dropped all the same, and the memory given back.

use crate::{
    prelude::*,
    support::{each_row, panics},
};

#[track_caller]
fn dropped_once(counts: &[Count; 2]) {
    assert_eq!(counts.each_ref().map(Count::get), [1, 1]);
}

#[test]
fn a_panicking_drop_of_metadata_passes_through_who_frees_it() {
    each_row(frees(), |free| {
        let counts = [Count::new(), Count::new()];
        let captured = Dropped(counts[1].clone());
        let builder = Builder::new()
            .metadata(PanicsInDrop(counts[0].clone(), "metadata"))
            .name(String::from("owned"));
        let schedule = move |_| {
            let _captured = &captured;
        };
        let (runnable, handle) = builder.spawn(|_| pending(), schedule);
        let payload = thread::spawn(move || free(runnable, handle)).join();
        assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"metadata"));
        dropped_once(&counts);
    });
}

#[test]
fn metadata_is_dropped_although_the_functions_drop_panics() {
    let counts = [Count::new(), Count::new()];
    let captured = PanicsInDrop(counts[0].clone(), "function");
    let builder = Builder::new().metadata(Dropped(counts[1].clone()));
    let schedule = move |_| {
        let _captured = &captured;
    };
    let (runnable, handle) = builder.spawn(|_| async {}, schedule);
    runnable.run();
    let payload = panics(|| drop(handle));
    assert_eq!(payload.downcast_ref(), Some(&"function"));
    dropped_once(&counts);
}
