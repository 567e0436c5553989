//! What the wrappers of loom's types share: a number in the record, and a name in pictures.

/// Does an operation of loom's that has no ordering, and records it.
macro_rules! record {
    ($place:expr, $step:expr, $operation:expr) => {{
        recorder::begins_plain($place, $step, Location::caller());
        let result = $operation;
        recorder::ended(0);
        result
    }};
}

/// Declares a wrapper of loom's type of the same name, which holds a value or nothing.
macro_rules! wrapper {
    ($(#[$attr:meta])* $name:ident<T> of $($path:ident)::+) => {
        $(#[$attr])*
        #[derive(Debug)]
        pub struct $name<T>($($path)::+::$name<T>, u64);

        impl<T> $name<T> {
            /// Makes one with this value.
            #[track_caller]
            pub fn new(value: T) -> Self {
                let place = recorder::made(stringify!($name), 0, Location::caller());
                Self($($path)::+::$name::new(value), place)
            }
        }

        joint_facade::of_a_value! { $name }
        named! { $name<T> }
    };
    ($(#[$attr:meta])* $name:ident of $($path:ident)::+) => {
        $(#[$attr])*
        #[derive(Debug)]
        pub struct $name($($path)::+::$name, u64);

        impl $name {
            /// Makes one.
            #[track_caller]
            pub fn new() -> Self {
                let place = recorder::made(stringify!($name), 0, Location::caller());
                Self($($path)::+::$name::new(), place)
            }
        }

        joint_facade::made_by_new! { $name }
        named! { $name }
    };
}

/// The function that names a wrapper.
macro_rules! named {
    ($name:ident $(<$t:ident>)?) => {
        impl $(<$t>)? $name $(<$t>)? {
            /// Gives it a name in pictures.
            #[must_use]
            pub fn named(self, name: &str) -> Self {
                recorder::name_place(self.1, name);
                self
            }
        }
    };
}
