//! An addition is lost in each shape, if it is the checker's.

use std::{sync::Arc, thread};

macro_rules! lost {
    ($expected:literal: $($name:ident)+) => {$(
        #[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            joint_check::model(|| {
                let count = Arc::new(gate::shapes::$name::Count::new());
                let theirs = count.clone();
                let adds = thread::spawn(move || theirs.add());
                count.add();
                adds.join().unwrap();
                assert_eq!(count.get(), 2);
            });
        }
    )+};
}

lost! {
    "assertion `left == right` failed":
    path tree glob renamed_module renamed_crate absolute reexported by_macro static_item locked
}
lost! { "data race": cell }
