//! What each thing costs, in nanoseconds.

/// How a mutex waits before it sleeps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waits {
    /// As std's: 100 looks with a pause each.
    Looks,
    /// As parking_lot's: pauses that grow, then seven yields.
    Yields,
}

/// The costs of a machine, and of the program's work between two accesses.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Instructions between two operations on shared memory.
    pub work: f64,
    /// One access to a line that the core has.
    pub hit: f64,
    /// What a read-modify-write takes beyond that.
    pub exchange: f64,
    /// A sequentially consistent fence.
    pub fence: f64,
    /// A pause in a loop that waits.
    pub pause: f64,
    /// A look at the clock.
    pub clock: f64,
    /// A system call that does nothing, such as a wake of nobody.
    pub call: f64,
    /// A yield to nobody.
    pub yields: f64,
    /// The call that wakes a thread, for its caller.
    pub wake: f64,
    /// From that call until the sleeper runs on an idle core.
    pub latency: f64,
    /// From one thread to another on a core.
    pub switch: f64,
    /// Starting a thread, for the one that starts it.
    pub start: f64,
    /// How long a thread runs while others wait for its core.
    pub slice: f64,
    /// A line moves between cores of one cluster.
    pub near: f64,
    /// A line moves between clusters.
    pub far: f64,
    /// The cores of a cluster.
    pub cluster: usize,
    /// How mutexes wait.
    pub waits: Waits,
}

impl Costs {
    /// The time in which a line moves from one core to another.
    pub(crate) fn distance(&self, from: usize, to: usize) -> f64 {
        match (from == to, from / self.cluster == to / self.cluster) {
            (true, _) => 0.0,
            (_, true) => self.near,
            _ => self.far,
        }
    }
}
