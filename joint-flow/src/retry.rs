//! The retry loop: [`retry`] runs an operation until it succeeds or its [`Policy`] gives up.
//!
//! # Example
//! ```
//! use std::{io, time::Duration};
//! use joint_flow::retry::{Backoff, Policy, retry};
//!
//! # let mut outages = 2;
//! # let mut connect = || { outages -= 1; std::future::ready(match outages {
//! #     0 => Ok("connected"),
//! #     _ => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
//! # }) };
//! let policy = Backoff::new(Duration::from_millis(1))
//!     .max(Duration::from_secs(1))
//!     .tries(5)
//!     .only_if(|error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused);
//! let connection = joint::block_on(retry(policy, || connect()));
//! assert_eq!(connection.unwrap(), "connected");
//! ```

use std::{fmt, future::Future, time::Duration};

use joint_executor::time::sleep;

/// Runs an operation. If it fails, asks the policy, and runs it again if the policy says so.
///
/// The future of a failed try is dropped before the policy is asked, and the policy has answered
/// before the next try begins. If the returned future is dropped, the try or the wait that is going
/// on is dropped with it.
///
/// The operation may change what its closure captures, but its futures cannot borrow that mutably,
/// because each would have to end before the next one begins, which [`FnMut`] does not say. Write
/// `|| async { … }`, not `async || { … }`, and put what a try uses exclusively into a lock. The
/// same holds for a policy that is a closure.
///
/// # Errors
/// Returns the error with which the policy gives up. That is usually the last one of the operation.
///
/// # Example
/// A policy can be a closure:
/// ```
/// use joint_flow::retry::retry;
///
/// let mut tries = 0;
/// let answer = joint::block_on(retry(
///     async |error: &'static str| if error == "busy" { Ok(()) } else { Err(error) },
///     || {
///         tries += 1;
///         let result: Result<(), _> = if tries == 3 { Err("gone") } else { Err("busy") };
///         async move { result }
///     },
/// ));
/// assert_eq!((answer, tries), (Err("gone"), 3));
/// ```
// Rejected: `AsyncFnMut`, whose futures may borrow. As of Rust 1.95, the compiler cannot prove then
// that the future is `Send` if a closure borrows a local variable, so it could not be spawned.
pub async fn retry<T, E, F>(
    mut policy: impl Policy<E>,
    mut operation: impl FnMut() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    loop {
        // A statement of its own, so that the future is gone before the policy is asked.
        let result = operation().await;
        match result {
            Ok(value) => return Ok(value),
            Err(error) => policy.next(error).await?,
        }
    }
}

/// Decides whether an operation that has failed is tried again, and when.
///
/// Closures of the type `FnMut(E) -> impl Future<Output = Result<(), E>>` are policies.
pub trait Policy<E> {
    /// Is asked after each failure. `Ok` means that the next try may begin now: the policy has
    /// waited already.
    ///
    /// # Errors
    /// Giving up is an error, usually the same one.
    fn next(&mut self, error: E) -> impl Future<Output = Result<(), E>>;

    /// Returns a policy that gives up at once if an error does not satisfy the predicate, and asks
    /// this one otherwise.
    fn only_if<P>(self, predicate: P) -> OnlyIf<Self, P>
    where
        Self: Sized,
        P: FnMut(&E) -> bool,
    {
        OnlyIf {
            policy: self,
            predicate,
        }
    }
}

impl<E, P, F> Policy<E> for P
where
    P: FnMut(E) -> F,
    F: Future<Output = Result<(), E>>,
{
    fn next(&mut self, error: E) -> impl Future<Output = Result<(), E>> {
        self(error)
    }
}

/// The policy of [`Policy::only_if`].
#[derive(Clone)]
pub struct OnlyIf<Q, P> {
    policy: Q,
    predicate: P,
}

impl<E, Q: Policy<E>, P: FnMut(&E) -> bool> Policy<E> for OnlyIf<Q, P> {
    async fn next(&mut self, error: E) -> Result<(), E> {
        if (self.predicate)(&error) {
            self.policy.next(error).await
        } else {
            Err(error)
        }
    }
}

impl<Q: fmt::Debug, P> fmt::Debug for OnlyIf<Q, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnlyIf")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A policy that waits longer after each failure.
///
/// It waits for its first delay, then for twice as long each time, up to [`max`](Backoff::max), and
/// gives up with the last error after a number of [`tries`](Backoff::tries). Without these settings
/// it has no bounds. The waits are those of [`joint_executor::time::sleep`].
///
/// A clone that was made before the first failure starts anew for another operation. [The
/// module](self) has an example.
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until `retry` is called"]
pub struct Backoff {
    delay: Duration,
    factor: u32,
    max: Duration,
    tries_left: u32,
    jitter: Option<SplitMix>,
}

impl Backoff {
    /// Creates a policy with this first delay.
    pub fn new(first: Duration) -> Self {
        Self {
            delay: first,
            factor: 2,
            max: Duration::MAX,
            tries_left: u32::MAX,
            jitter: None,
        }
    }

    /// Sets how many times as long each delay is as the one before. The default is 2.
    pub fn factor(mut self, factor: u32) -> Self {
        self.factor = factor;
        self
    }

    /// Sets the longest delay. The default is none.
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Sets how many times the operation runs at most, the first time included. The default is
    /// more than four billion. With 0 it runs once all the same, because no policy is asked before
    /// that.
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries_left = tries;
        self
    }

    /// Makes each delay a random one, from half of the full delay to all of it, so that those who
    /// have failed together do not all come back together.
    ///
    /// The same seed gives the same delays. In a program that is simulated, draw the seed with
    /// `joint_sim::random`. Elsewhere each client should have another one.
    ///
    /// # Example
    /// ```
    /// use std::{hash::{BuildHasher, RandomState}, time::Duration};
    /// use joint_flow::retry::Backoff;
    ///
    /// let seed = RandomState::new().hash_one(0);
    /// let backoff = Backoff::new(Duration::from_millis(10)).jitter(seed);
    /// # drop(backoff);
    /// ```
    pub fn jitter(mut self, seed: u64) -> Self {
        self.jitter = Some(SplitMix(seed));
        self
    }

    /// Returns the next delay, or `None` after the last try.
    fn advance(&mut self) -> Option<Duration> {
        self.tries_left = self.tries_left.saturating_sub(1);
        if self.tries_left == 0 {
            return None;
        }
        let full = self.delay.min(self.max);
        self.delay = full.saturating_mul(self.factor);
        Some(match &mut self.jitter {
            None => full,
            Some(random) => full - (full / 2).mul_f64(random.next()),
        })
    }
}

impl<E> Policy<E> for Backoff {
    async fn next(&mut self, error: E) -> Result<(), E> {
        let Some(delay) = self.advance() else {
            return Err(error);
        };
        // A long wait does not keep what the error holds.
        drop(error);
        sleep(delay).await;
        Ok(())
    }
}

/// The generator SplitMix64, which gives the same numbers on every machine. It is good enough to
/// keep clients apart.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// Returns a number from 0 to less than 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}
