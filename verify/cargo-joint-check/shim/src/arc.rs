//! The reference count of a model. Its handles have the size of std's, so that a handle of a trait
//! object and `self: Arc<Self>` work.

use core::{
    borrow::Borrow,
    cmp, fmt,
    hash::{Hash, Hasher},
    marker::{PhantomData, Unsize},
    mem::{ManuallyDrop, align_of_val},
    ops::{CoerceUnsized, Deref, DispatchFromDyn, LegacyReceiver},
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::{self, NonNull},
};

use joint_check::sync as checked;

use crate::model::finds_leaks;

type Count = checked::Arc<()>;

#[repr(C)]
struct Inner<T: ?Sized> {
    /// The raw pointer of the model's handle, which counts for all handles of this value.
    count: *const (),
    value: ManuallyDrop<T>,
}

/// A handle of a shared value.
pub struct Arc<T: ?Sized>(NonNull<Inner<T>>, PhantomData<Inner<T>>);

/// A handle that does not keep the value alive.
pub struct Weak<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    count: ManuallyDrop<checked::Weak<()>>,
}

// SAFETY: as std's.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: as std's.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}
// SAFETY: as std's.
unsafe impl<T: ?Sized + Sync + Send> Send for Weak<T> {}
// SAFETY: as std's.
unsafe impl<T: ?Sized + Sync + Send> Sync for Weak<T> {}
impl<T: ?Sized> Unpin for Arc<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
impl<T: ?Sized> LegacyReceiver for Arc<T> {}

impl<T> Arc<T> {
    #[track_caller]
    pub fn new(value: T) -> Self {
        let count = Count::new(());
        if !finds_leaks() {
            Count::may_leak(&count);
        }
        let count = Count::into_raw(count);
        let value = ManuallyDrop::new(value);
        let inner = Box::new(Inner { count, value });
        Self(NonNull::from(Box::leak(inner)), PhantomData)
    }

    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let this = ManuallyDrop::new(this);
        match Count::try_unwrap(ManuallyDrop::into_inner(this.count())) {
            Ok(()) => Ok(this.take()),
            Err(count) => {
                _ = ManuallyDrop::new(count);
                Err(ManuallyDrop::into_inner(this))
            }
        }
    }

    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let this = ManuallyDrop::new(this);
        this.leave().then(|| this.take())
    }

    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }

    /// Returns the value of the last handle, which is not counted any more.
    fn take(&self) -> T {
        // SAFETY: nobody else uses the value, and this handle is not used again.
        let inner = unsafe { Box::from_raw(self.0.as_ptr()) };
        ManuallyDrop::into_inner(inner.value)
    }
}

impl<T: ?Sized> Arc<T> {
    fn count(&self) -> ManuallyDrop<Count> {
        // SAFETY: this handle is counted by it.
        ManuallyDrop::new(unsafe { Count::from_raw(self.0.as_ref().count) })
    }

    /// Gives up the count of this handle. Returns whether it was the last.
    #[track_caller]
    fn leave(&self) -> bool {
        Count::into_inner(ManuallyDrop::into_inner(self.count())).is_some()
    }

    pub fn as_ptr(this: &Self) -> *const T {
        // SAFETY: the field is part of the value.
        unsafe { &raw const (*this.0.as_ptr()).value as *const T }
    }

    pub fn into_raw(this: Self) -> *const T {
        Self::as_ptr(&ManuallyDrop::new(this))
    }

    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the pointer came from `into_raw`.
        let align = unsafe { align_of_val(&*pointer) };
        let offset = size_of::<*const ()>().next_multiple_of(align);
        // SAFETY: as above.
        let inner = unsafe { pointer.byte_sub(offset) } as *mut Inner<T>;
        Self(NonNull::new(inner).expect("it is not null"), PhantomData)
    }

    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        Count::strong_count(&this.count())
    }

    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        Count::weak_count(&this.count())
    }

    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let is_only = Count::get_mut(&mut this.count()).is_some();
        // SAFETY: nobody else uses the value.
        is_only.then(|| unsafe { &mut *Self::as_ptr(this).cast_mut() })
    }

    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        if Self::get_mut(this).is_none() {
            *this = Self::new((**this).clone());
        }
        // SAFETY: nobody else uses the value.
        unsafe { &mut *Self::as_ptr(this).cast_mut() }
    }

    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        ptr::addr_eq(this.0.as_ptr(), other.0.as_ptr())
    }

    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak {
            inner: this.0,
            count: ManuallyDrop::new(Count::downgrade(&this.count())),
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        _ = ManuallyDrop::new(Count::clone(&self.count()));
        Self(self.0, PhantomData)
    }
}

// SAFETY: the value is only dropped.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.leave() {
            // SAFETY: nobody else uses the value.
            let mut inner = unsafe { Box::from_raw(self.0.as_ptr()) };
            // SAFETY: it is dropped once.
            unsafe { ManuallyDrop::drop(&mut inner.value) };
        }
    }
}

impl<T> Weak<T> {
    pub fn new() -> Self {
        Self {
            inner: NonNull::dangling(),
            count: ManuallyDrop::new(checked::Weak::new()),
        }
    }
}

impl<T: ?Sized> Weak<T> {
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        _ = ManuallyDrop::new(self.count.upgrade()?);
        Some(Arc(self.inner, PhantomData))
    }

    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.count.strong_count()
    }

    pub fn ptr_eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.inner.as_ptr(), other.inner.as_ptr())
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            inner: self.inner,
            count: self.count.clone(),
        }
    }
}

// SAFETY: the value is not used.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        // SAFETY: it is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.count) };
    }
}

impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this handle keeps it.
        unsafe { &*Self::as_ptr(self) }
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

joint_check::__facade::arc! { Arc Weak }

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        (**self).partial_cmp(other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        (**self).cmp(other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
