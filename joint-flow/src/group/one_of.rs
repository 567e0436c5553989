//! [`OneOf2`] to [`OneOf8`]: the output of one of several futures of different types.

macro_rules! one_of {
    ($($number:literal $OneOf:ident: $($T:ident $nth:literal),+;)+) => {$(
        #[doc = concat!("The output of one of ", $number, " futures of different types.")]
        ///
        /// # Example
        /// ```
        #[doc = concat!("use joint_flow::", stringify!($OneOf), "::{self, *};")]
        ///
        #[doc = concat!("let one: OneOf", $number, "<", $(one_of!(@u8 $T), ", ",)+ "> = B(7);")]
        /// assert!(matches!(one, B(7)));
        /// assert_eq!(one.into_inner(), 7);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $OneOf<$($T),+> {$(
            #[doc = concat!("The output of the ", $nth, " future.")]
            $T($T),
        )+}

        impl<T> $OneOf<$(one_of!(@T $T T)),+> {
            /// Returns the output, whichever future it is from.
            pub fn into_inner(self) -> T {
                match self {
                    $(Self::$T(output))|+ => output,
                }
            }
        }
    )+};
    (@T $T:ident $Same:ident) => { $Same };
    (@u8 $T:ident) => { "u8" };
}

one_of! {
    "2" OneOf2: A "first", B "second";
    "3" OneOf3: A "first", B "second", C "third";
    "4" OneOf4: A "first", B "second", C "third", D "fourth";
    "5" OneOf5: A "first", B "second", C "third", D "fourth", E "fifth";
    "6" OneOf6: A "first", B "second", C "third", D "fourth", E "fifth", F "sixth";
    "7" OneOf7: A "first", B "second", C "third", D "fourth", E "fifth", F "sixth", G "seventh";
    "8" OneOf8: A "first", B "second", C "third", D "fourth", E "fifth", F "sixth", G "seventh",
        H "eighth";
}
