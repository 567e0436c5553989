//! The contents of `docs/measured.md`: its tables, their rows, and a note on each row.

/// A table of the page.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The title, as its bench has it.
    pub(crate) title: &'static str,
    /// A note on the whole table. May be empty.
    pub(crate) note: String,
    /// The titles of the rows, each with what one operation is.
    pub(crate) rows: Vec<[&'static str; 2]>,
}

/// The tables of the page, in their order: of each its title, a note, and the rows.
const PAGE: &str = "\
# a task by hand, one thread
There is no executor here: each row runs its tasks by itself.
| spawn, run, join, drop | a trivial task; its output is taken from the handle
| the same, the waiter is a task | a task awaits each child before the child runs
| spawn detached, run | no handle
| yield | one run of a task that wakes itself
| wake and run | one run of a task that is woken from outside
| join a task that has ended | the join alone
| cancel 1,000 idle tasks | the handle is dropped, then the future

# tasks in a queue, one thread
joint's and async-task's tasks in a `VecDeque`; tokio and monoio as they are.
| spawn 1,000, join them | each task
| yield, 200 tasks in turn | each yield
| wake 1,000 from another thread | each task, until it has run

# oneshot, one thread
oneshot is the crate of that name, and futures is `futures::channel::oneshot`. The package in
`tools/compat/oneshot` has the API of both, on joint's channel.
| create, complete, drop | nobody receives the value
| ready | the value is there at the only poll
| wait, Arc waker | poll, send, poll again

# wait in place
A wait with the waker of an `Arc` for a word that is not on the heap. Across two threads, one
registers a thousand waits and another completes them.
| on one thread | poll, complete, poll again
| across two threads | what both threads do for it

# wait for a channel
| on one thread | poll, send, poll again
| across two threads | what both threads do for it

# tasks, two workers
| spawn and join | a task spawns one, and awaits it before the next
| 10k spawned inside, joined | a task spawns all, and then awaits them in order
| fan of 1k | the same with 1,000, ten times
| fan of 1k, each yields once | each task is in the queue twice
| yield, 200 x 1,000 | one of 200 tasks yields
| ping-pong 1,000, inside | a pair of tasks exchanges two messages
| chained spawn 1,000 | each task spawns the next and ends
| fib(20), one branch spawned | each call spawns a branch and awaits it
| join of a finished task | the join alone
| spawn detached 10k | each counts itself in one counter
| abort 10k pending | until the future of the waiting task is dropped
| 10k spawned outside, joined | a thread that is no worker spawns and blocks
| 10k spawned outside, detached | the same without handles; nexosim starts its workers after the last spawn
| ping-pong 1,000, outside | that thread spawns both tasks of a pair

# tasks, one thread
joint runs its `LocalExecutor`. A *queue* is tasks in a `VecDeque`, with no shutdown and no
fairness.
| spawn and join | a task spawns one and awaits it
| fan of 1k | spawn 1,000, and then await them
| yield, 200 x 1,000 | one of 200 tasks yields
| fib(20), one branch spawned | each call spawns a branch and awaits it
| spawn detached 10k | no handles
| abort 10k pending | monoio cannot cancel a task

# a burst from outside, one worker
| each of 2,000,000 has run | from the end of the poll in which all arrived

# fork and join on the stack, two threads
| fib(25), per join | two closures for each call
| fib(20), threads started and stopped, per join | with the threads' start and end

# event loop, two workers
| 4,096 tasks yield once and are awaited | one task, from its spawn
| one task yields | the other worker has nothing to do
| 4,096 tasks yield 16 times | one yield
| 64 tasks await one event, per wake | from the event until all have run

# Flow: tasks, one worker
FoundationDB's benches in the vocabulary of `joint-flow`. *By hand* is the same work in plain
tasks of joint. futures-concurrency awaits plain futures in one task.
| NET2/512 | 512 tasks take one trip through the queue
| CALLBACK<32>/64 | 64 tasks with 32 bytes each await a promise
| collection: add 256 | a member is added
| collection: complete 256 | a member completes
| spawn and cancel 1,024 | until its future is dropped
| YIELD/64 | one task yields, 63 timers are pending

# Flow: one task
| race of 2, the second is ready | at the first poll
| race of 2, the first is woken | the race waits for both
| choice of 2, the first is woken | its branches have handlers
| quorum 2 of 3, two are woken | the peers take two of a group
| STREAM/64 | one item is sent and received
| begin and drop 1,024 | the futures of 1,024 tasks of the table above, polled once and dropped together

# timers, one worker
tokio has no sleep of less than a millisecond, so it has no row of sleeps of zero.
| DELAY/4,096 | a sleep of zero; 4,095 other tasks sleep for hours
| YIELD/4,096 | a yield beside them
| arm and drop, 20 ms | create a timer, poll it, drop it
| arm and drop, 1 h | a distant deadline
| arm and drop, 20 ms, 4,096 pending | it is the earliest
| timeout round a yield | of an hour

# timers, two workers
| YIELD/4,096 | a second worker may keep the driver
| arm and drop on both, 20 ms | both workers at the same time

# a million timers, one worker
| a million tasks fall asleep | from the spawn until its timer is armed
| a million tasks that sleep are cancelled | until its future is dropped
| a million sleeps of one task are armed | polled by hand
| a million armed sleeps are dropped | by the same task
| a million tasks are woken by their timers | from the common deadline

# descriptors, one worker
Client and server are tasks of one executor. The kernel takes most of the time.
| TCP echo, 100 x 1,000 messages of 64 bytes | a message on one of 100 connections
| TCP echo, one connection | nothing overlaps
| ping-pong through two pipes | one byte, there and back

# descriptors, two workers
| TCP echo, 100 x 1,000 messages of 64 bytes | a message on one of 100 connections
| TCP echo, 100 x 1,000 messages of 4 KiB | larger messages
| TCP echo, one connection | nothing overlaps
| ping-pong through two pipes | one byte, there and back

# beside a task that yields every 45 us, two workers
How long a client on its own thread waits for an echo.
| UDP echo, the median | of all answers
| UDP echo, 99 in 100 | the time within which 99 % came

# bytes for each of a million tasks
The future is `async { 7u32 }`, or a wait that never ends.
| spawned, not run yet: live heap | with its place in the queue
| spawned, not run yet: resident | by how much the process grows
| polled once, waiting: live heap | with its entry among the owned tasks
| polled once, waiting: resident | by how much the process grows

# wake-ups in a second, four workers
How often the threads fall asleep.
| nothing to do | no task exists
| a timer is pending | a task sleeps for an hour
| a listener is open | a task waits for a connection
| one of four workers is busy | a task spawns and awaits all the time
";

/// Returns the tables of the page.
pub(crate) fn page() -> Vec<Shown> {
    let table = |text: &'static str| {
        let (title, rest) = text.split_once('\n').expect("a table has rows");
        let (rows, note): (Vec<_>, Vec<_>) = rest.lines().partition(|line| line.starts_with('|'));
        Shown {
            title,
            note: note.join(" "),
            rows: rows.into_iter().map(cells).collect(),
        }
    };
    PAGE.split("# ").skip(1).map(table).collect()
}

/// The cells of a line, each of which has a bar before it.
fn cells<const N: usize>(line: &'static str) -> [&'static str; N] {
    let mut cells = line.split('|').skip(1);
    [(); N].map(|()| cells.next().expect("as many cells as columns").trim())
}

/// The rows that are shown with malloc and with mimalloc, by table and row.
pub(crate) fn allocators() -> impl Iterator<Item = [&'static str; 2]> {
    const ROWS: &str = "\
| a task by hand, one thread | spawn, run, join, drop
| a task by hand, one thread | spawn detached, run
| oneshot, one thread | wait, Arc waker
| tasks, two workers | spawn and join
| tasks, two workers | 10k spawned inside, joined
| tasks, two workers | fan of 1k
| tasks, two workers | chained spawn 1,000
| tasks, two workers | fib(20), one branch spawned
| tasks, two workers | spawn detached 10k
| tasks, two workers | abort 10k pending
| tasks, two workers | 10k spawned outside, joined
| tasks, two workers | 10k spawned outside, detached
| a million timers, one worker | a million tasks are woken by their timers";
    ROWS.lines().map(cells)
}

/// The rows of the README, by table and row, with what they are called there. Whether joint is
/// ahead or behind, each is what some user does most.
pub(crate) fn readme() -> impl Iterator<Item = [&'static str; 3]> {
    const ROWS: &str = "\
| oneshot, one thread | wait, Arc waker | a oneshot that is waited for
| a task by hand, one thread | spawn, run, join, drop | a task without an executor: spawn, run, join
| tasks, two workers | spawn and join | spawn a task and await it
| tasks, two workers | yield, 200 x 1,000 | yield, among 200 tasks
| tasks, two workers | fib(20), one branch spawned | a recursion that spawns a task for each call
| tasks, two workers | 10k spawned outside, joined | spawn from another thread, and join
| timers, one worker | timeout round a yield | a timeout that does not fire
| descriptors, two workers | TCP echo, 100 x 1,000 messages of 64 bytes | echo 64 bytes over TCP";
    ROWS.lines().map(cells)
}
