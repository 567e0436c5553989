//! The auto traits of the public types: all may be sent, shared, moved while they are in use, and
//! kept across a panic, if what they hold may be, and all can be printed.

use std::{
    fmt::Debug,
    marker::PhantomPinned,
    panic::{RefUnwindSafe, UnwindSafe},
};

use joint_flow::{
    All, AllReady, Any, Closed, KeepLosers, Kept, Losers, Quorum, Race, Strict, TryAll, collection,
    generator, lock, retry, stream, task, variable,
};

use crate::prelude::*;

type Value = Ready<u8>;
type Try = Ready<Result<u8, u8>>;

fn has_all<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Debug>() {}

macro_rules! have_all {
    ($($Type:ty),+ $(,)?) => { $(has_all::<$Type>();)+ };
}

#[test]
fn all_types_have_the_auto_traits() {
    have_all! {
        Task<u8>, TaskError, task::Wait<'static, u8>,
        promise::Sender<Cell<u8>>, promise::Shared<u8>, shared::Wait<'static, u8>, Closed,
        promise::Sender<PhantomPinned>, promise::Shared<PhantomPinned>,
        shared::Wait<'static, PhantomPinned>, shared::Driver<Value, u8>,
        Race<Kept<(Value, Value)>>, Race<Kept<[Value; 2]>>, Race<Kept<Vec<Value>>>, OneOf3<u8, u8, u8>,
        All<Kept<(Value, Value)>>, TryAll<Kept<(Try, Try)>>, AllReady<Kept<(Value, Value)>>,
        Quorum<Kept<[Try; 3]>>, Strict<Kept<[Try; 3]>>, Any<Kept<[Try; 3]>>,
        KeepLosers<Kept<Vec<Try>>>, Losers<Kept<Vec<Try>>>,
        collection::Collection<u8>, collection::Adder<u8>,
        stream::Sender<u8, Closed>, stream::Receiver<u8, Closed>,
        stream::SendError<u8>,
        lock::FlowLock, lock::Permit, lock::Take, lock::TryTakeError,
        variable::AsyncVar<u8>, variable::Trigger, variable::Changed,
        generator::BlockingIter<stream::Receiver<u8, Closed>>,
        generator::Slot<u8>, generator::Lender<'static, u8>, generator::Lending<'static, u8, Value>,
        retry::Backoff,
    }
}
