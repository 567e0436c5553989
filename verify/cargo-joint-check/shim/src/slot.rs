//! What the checker knows of an atomic, a cell or a lock.
//!
//! One that is made while a model runs is made in that model at once. One that was made at compile
//! time, or lies in memory of zeros, has existed since before the model: the main thread makes it
//! before it does anything else. Since only its first use shows that it exists, the model then
//! starts again.

use core::{
    any::{Any, TypeId},
    cell::{Cell, RefCell},
    intrinsics::const_eval_select,
    mem::{ManuallyDrop, MaybeUninit},
    ptr,
};
use real::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use joint_check::{alloc::outside, model::StartAgain};

use crate::memory;

/// A type of joint-check, and the value that it is made with.
pub(crate) trait Model: Sized + 'static {
    type Init: Copy + 'static;
    const NAME: &'static str;

    fn make(init: Self::Init) -> Self;
    fn bits(init: Self::Init) -> u64;

    /// Records that its memory is given up, which may not race with its uses.
    fn end(&self) {}
}

/// The place of such a type in a shared value. Zeros are a slot that is not made yet.
#[repr(C)]
pub(crate) struct Slot<M: Model> {
    /// The execution in which it was made, or 0.
    epoch: u32,
    model: MaybeUninit<M>,
    init: M::Init,
}

/// The name of what was made before the model: static or heap, where, which type, which value.
type Key = (bool, [u64; 4], TypeId, u64);

/// Restores or makes something at the beginning of an execution.
#[derive(Clone)]
struct Early {
    make: Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>,
    /// Bytes of a static that an execution may change.
    kept: Option<(usize, Vec<u8>)>,
}

#[derive(Default)]
struct Known {
    numbers: BTreeMap<Key, usize>,
    all: Vec<Early>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

real::thread_local! {
    static EPOCH: Cell<u32> = const { Cell::new(0) };
    static STARTS_AGAIN: Cell<bool> = const { Cell::new(false) };
    static MADE: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

fn known<R>(f: impl FnOnce(&mut Known) -> R) -> R {
    let _outside = outside();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    f(known.get_or_insert_default())
}

/// Starts an exploration. Returns how much is known to be older than the model.
pub(crate) fn start() -> usize {
    STARTS_AGAIN.set(false);
    known(|known| known.all.len())
}

/// Whether this exploration has found more, so that another one must start.
pub(crate) fn starts_again() -> bool {
    STARTS_AGAIN.get()
}

/// Begins an execution: makes the first `early` of what is older than the model.
#[track_caller]
pub(crate) fn begin(early: usize) {
    // Never 0, and odd, so that memory of other contents is not taken for a slot.
    EPOCH.set(EPOCH.get().wrapping_add(2) | 1);
    let all = known(|known| known.all[..early].to_vec());
    let mut made = Vec::new();
    for early in all {
        if let Some((address, bytes)) = &early.kept {
            // SAFETY: the static is there forever, and no thread of the model runs yet.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), *address as *mut u8, bytes.len()) };
        }
        made.push((early.make)());
    }
    MADE.set(made);
}

/// Whether the code under test runs in a model.
pub(crate) fn in_model() -> bool {
    EPOCH.get() != 0
}

/// Ends an exploration.
pub(crate) fn end() {
    EPOCH.set(0);
}

impl<M: Model> Slot<M> {
    #[track_caller]
    pub(crate) const fn new(init: M::Init) -> Self {
        // SAFETY: both make a slot for the same value.
        const_eval_select((init,), Self::early, Self::made)
    }

    const fn early(init: M::Init) -> Self {
        Self {
            epoch: 0,
            model: MaybeUninit::uninit(),
            init,
        }
    }

    #[track_caller]
    fn made(init: M::Init) -> Self {
        if !in_model() {
            return Self::early(init);
        }
        Self {
            epoch: EPOCH.get(),
            model: MaybeUninit::new(M::make(init)),
            init,
        }
    }

    /// Returns what the checker knows. `kept` are bytes to restore if this is a static.
    #[track_caller]
    pub(crate) fn get(&self, kept: Option<(usize, usize)>) -> &M {
        let address = ptr::from_ref(self).addr();
        memory::assert_alive(M::NAME, address);
        if self.epoch != 0 && self.epoch == EPOCH.get() {
            // SAFETY: it was made in this execution.
            return unsafe { self.model.assume_init_ref() };
        }
        assert!(in_model(), "{} is used outside of a model", M::NAME);
        assert!(
            self.epoch & 1 == 0 || self.epoch > EPOCH.get(),
            "{} is kept from one execution to the next",
            M::NAME
        );
        let key = key::<M>(address, self.init);
        let number =
            known(|known| known.number(key, || early::<M>(self.init, kept.filter(|_| !key.0))));
        let made = MADE.with_borrow(|made| {
            let made: &ManuallyDrop<M> = made.get(number)?.downcast_ref()?;
            Some(ptr::from_ref(&**made))
        });
        match made {
            // SAFETY: it stays where it is until the next execution begins.
            Some(made) => unsafe { &*made },
            None => {
                STARTS_AGAIN.set(true);
                if !real::thread::panicking() {
                    real::panic::resume_unwind(Box::new(StartAgain));
                }
                Box::leak(Box::new(M::make(self.init)))
            }
        }
    }

    /// Whether it was made in this execution.
    fn is_made(&self) -> bool {
        self.epoch != 0 && self.epoch == EPOCH.get()
    }

    /// Returns what the checker knows, or nothing if nobody has used it yet.
    #[track_caller]
    pub(crate) fn used(&self) -> Option<&M> {
        let key = key::<M>(ptr::from_ref(self).addr(), self.init);
        let is_used = self.is_made() || known(|known| known.numbers.contains_key(&key));
        is_used.then(|| self.get(None))
    }

    /// Returns the value in memory.
    pub(crate) fn value(&self) -> M::Init {
        self.init
    }

    /// Sets the value in memory. What nobody has used yet is made now.
    #[track_caller]
    pub(crate) fn own(&mut self, value: M::Init) -> &mut M::Init {
        if !self.is_made() {
            *self = Self::made(value);
        }
        self.init = value;
        &mut self.init
    }

    /// Returns what the checker knows, and the value in memory, if it was made in this execution.
    pub(crate) fn made_with(&self) -> Option<(&M, M::Init)> {
        // SAFETY: it was made.
        self.is_made()
            .then(|| (unsafe { self.model.assume_init_ref() }, self.init))
    }
}

fn key<M: Model>(address: usize, init: M::Init) -> Key {
    let name = memory::name(address);
    let place = name.unwrap_or([address as u64, 0, 0, 0]);
    (name.is_some(), place, TypeId::of::<M>(), M::bits(init))
}

impl<M: Model> Drop for Slot<M> {
    #[track_caller]
    fn drop(&mut self) {
        if self.is_made() && !real::thread::panicking() {
            // SAFETY: it was made.
            unsafe { self.model.assume_init_ref() }.end();
        }
    }
}

fn early<M: Model>(init: M::Init, kept: Option<(usize, usize)>) -> Early {
    struct Sent<T>(T);
    // SAFETY: it is a number, or an address that is only passed on.
    unsafe impl<T> Send for Sent<T> {}
    // SAFETY: as above.
    unsafe impl<T> Sync for Sent<T> {}
    let init = Sent(init);
    let make = move || {
        let init = &init;
        // What belongs to a model is not dropped after it.
        Box::new(ManuallyDrop::new(M::make(init.0))) as Box<dyn Any>
    };
    let kept = kept.map(|(address, size)| {
        let mut bytes = vec![0; size];
        // SAFETY: the bytes are those of a value, and nobody changes them meanwhile.
        unsafe { ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size) };
        (address, bytes)
    });
    Early {
        make: Arc::new(make),
        kept,
    }
}

impl Known {
    /// The number of what has this name, which may be new.
    fn number(&mut self, key: Key, early: impl FnOnce() -> Early) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(early());
            self.all.len() - 1
        })
    }
}

/// A lock, without its value.
macro_rules! models {
    ($($model:ty, $name:literal: $make:expr;)+) => {$(
        impl Model for $model {
            type Init = ();
            const NAME: &'static str = $name;

            #[track_caller]
            fn make(_: ()) -> Self {
                $make
            }

            fn bits(_: ()) -> u64 {
                0
            }
        }
    )+};
}

models! {
    joint_check::sync::Mutex<()>, "a Mutex": Self::new(());
    joint_check::sync::RwLock<()>, "a RwLock": Self::new(());
    joint_check::sync::Condvar, "a Condvar": Self::new();
}

impl Model for joint_check::cell::UnsafeCell<()> {
    type Init = ();
    const NAME: &'static str = "a cell";

    #[track_caller]
    fn make((): ()) -> Self {
        Self::new(())
    }

    fn bits((): ()) -> u64 {
        0
    }

    #[track_caller]
    fn end(&self) {
        self.with_mut(|_| ());
    }
}
