//! `debug!`: how types are printed that hold futures, locks or what others wait for. They show
//! their names, and what is known of them from outside.

/// Implements `Debug`: `debug!(<T> Type<T>, |it| field: it.value(), ..)`. Without the two dots
/// these are all fields that the type is said to have.
macro_rules! debug {
    ($(<$($parameter:ident),+>)? $Type:ident $(<$($argument:tt),+>)?) => {
        debug!($(<$($parameter),+>)? $Type $(<$($argument),+>)?, |_it| ..);
    };
    ($(<$($parameter:ident),+>)? $Type:ident $(<$($argument:tt),+>)?,
        |$it:ident| $($field:ident: $value:expr,)* ..) => {
        debug!(@ ($($($parameter),+)?) $Type ($(<$($argument),+>)?) finish_non_exhaustive $it
            $($field: $value,)*);
    };
    ($(<$($parameter:ident),+>)? $Type:ident $(<$($argument:tt),+>)?,
        |$it:ident| $($field:ident: $value:expr),+) => {
        debug!(@ ($($($parameter),+)?) $Type ($(<$($argument),+>)?) finish $it $($field: $value,)+);
    };
    (@ ($($parameters:tt)*) $Type:ident ($($arguments:tt)*) $finish:ident $it:ident
        $($field:ident: $value:expr,)*) => {
        impl<$($parameters)*> ::std::fmt::Debug for $Type $($arguments)* {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $it = self;
                f.debug_struct(stringify!($Type))
                    $(.field(stringify!($field), &$value))*
                    .$finish()
            }
        }
    };
}
