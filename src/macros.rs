//! What several types implement alike.

/// Makes a type an error that says one text for each of its cases.
macro_rules! says {
    ($error:ident $(<$t:ident>)?: $($case:pat => $text:expr),+) => {
        impl $(<$t>)? core::fmt::Display for $error $(<$t>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $($case => $text),+
                })
            }
        }

        impl $(<$t>)? core::error::Error for $error $(<$t>)? {}
    };
}

/// Lets `Debug` show what one function of a type returns.
macro_rules! shows {
    ($(<$t:ident>)? $type:ident<$of:tt>: $look:ident) => {
        impl $(<$t>)? core::fmt::Debug for $type<$of> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($type))
                    .field(stringify!($look), &self.$look())
                    .finish()
            }
        }
    };
}

/// Implements `Default` by `new`, which may be told its caller.
macro_rules! default_is_new {
    ($type:ident) => {
        impl Default for $type {
            #[track_caller]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// Retires the parts of a type that a model watches.
macro_rules! retires {
    ($type:ident: $($part:tt),+) => {
        impl joint_switch::Retire for $type {
            #[inline]
            fn retire(&mut self) {
                $(self.$part.retire();)+
            }
        }
    };
}
