//! Groups that are tuples: futures of different types.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use super::{Children, Group, TryChildren, TryGroup, one_of::*, sealed, stage::Stage};

macro_rules! tuples {
    ($(
        $Tuple:ident $OneOf:ident $count:literal:
        $($F:ident $V:ident $field:ident $index:literal),+;
    )+) => {$(
        pin_project! {
            #[derive(Debug)]
            pub struct $Tuple<$($F, $V),+> {
                $(#[pin] $field: Stage<$F, $V>,)+
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($F: Future<Output = $V>, $V),+> Children for $Tuple<$($F, $V),+> {
            type First = $OneOf<$($V),+>;
            type Outputs = ($($V,)+);

            fn len(&self) -> usize {
                $count
            }

            fn poll(self: Pin<&mut Self>, child: usize, cx: &mut Context<'_>) -> Poll<()> {
                match child {
                    $($index => self.project().$field.poll(cx),)+
                    _ => no_child(),
                }
            }

            fn poll_first(
                self: Pin<&mut Self>,
                child: usize,
                cx: &mut Context<'_>,
            ) -> Poll<Self::First> {
                match child {
                    $($index => self.project().$field.poll_output(cx).map($OneOf::$F),)+
                    _ => no_child(),
                }
            }

            fn outputs(self: Pin<&mut Self>) -> Self::Outputs {
                let this = self.project();
                ($(this.$field.output(),)+)
            }

            fn drop_one(self: Pin<&mut Self>, child: usize) {
                match child {
                    $($index => self.project().$field.set(Stage::Gone),)+
                    _ => no_child(),
                }
            }
        }

        impl<$($F, $V,)+ Error> TryChildren for $Tuple<$($F, Result<$V, Error>),+>
        where
            $($F: Future<Output = Result<$V, Error>>,)+
        {
            type Values = ($($V,)+);
            type Error = Error;

            fn error(self: Pin<&mut Self>, child: usize) -> Option<Error> {
                match child {
                    $($index => self.project().$field.error(),)+
                    _ => no_child(),
                }
            }

            fn values(self: Pin<&mut Self>) -> Self::Values {
                let this = self.project();
                ($(this.$field.value(),)+)
            }
        }

        impl<$($F: IntoFuture),+> sealed::Group for ($($F,)+) {
            type Children = $Tuple<$($F::IntoFuture, $F::Output),+>;

            fn into_children(self) -> Self::Children {
                let ($($field,)+) = self;
                $Tuple { $($field: Stage::new($field),)+ }
            }
        }

        impl<$($F: IntoFuture),+> Group for ($($F,)+) {
            type First = $OneOf<$($F::Output),+>;
            type Outputs = ($($F::Output,)+);
        }

        impl<$($F, $V,)+ Error> TryGroup for ($($F,)+)
        where
            $($F: IntoFuture<Output = Result<$V, Error>>,)+
        {
            type Values = ($($V,)+);
            type Error = Error;
        }
    )+};
}

#[cold]
fn no_child() -> ! {
    unreachable!("a child's index is smaller than the number of children")
}

tuples! {
    Tuple2 OneOf2 2: A V0 a 0, B V1 b 1;
    Tuple3 OneOf3 3: A V0 a 0, B V1 b 1, C V2 c 2;
    Tuple4 OneOf4 4: A V0 a 0, B V1 b 1, C V2 c 2, D V3 d 3;
    Tuple5 OneOf5 5: A V0 a 0, B V1 b 1, C V2 c 2, D V3 d 3, E V4 e 4;
    Tuple6 OneOf6 6: A V0 a 0, B V1 b 1, C V2 c 2, D V3 d 3, E V4 e 4, F V5 f 5;
    Tuple7 OneOf7 7: A V0 a 0, B V1 b 1, C V2 c 2, D V3 d 3, E V4 e 4, F V5 f 5, G V6 g 6;
    Tuple8 OneOf8 8: A V0 a 0, B V1 b 1, C V2 c 2, D V3 d 3, E V4 e 4, F V5 f 5, G V6 g 6,
        H V7 h 7;
}
