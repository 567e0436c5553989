//! Doors that run no tasks of their own: threads, values, timers, ends, and what other places have
//! left.

use std::thread as threads;

use joint::block_on;
use joint_executor as executor;

use crate::prelude::*;
#[cfg(all(unix, feature = "io"))]
use joint_executor::io;

impl Here {
    /// Leaves something to all places.
    pub(crate) fn leave(&self, left: Left) {
        self.world.left.lock().unwrap().push(left);
    }
}

pub(crate) async fn spawn_blocking(node: &Node, here: &Here) {
    // It belongs to the executor that has passed it there, but for what the docs leave open.
    let inside = here.with(Who::ANYBODY);
    let handle = executor::spawn_blocking(function(node, inside));
    settle(handle, node, here).await;
}

/// Two threads that do the same at the same time.
pub(crate) fn thread(node: &Node, here: &Here) {
    let start = || threads::spawn(function(node, here.with(Who::NOBODY)));
    for thread in [start(), start()] {
        check_call(here, node, || match thread.join() {
            Ok(output) => output,
            Err(payload) => std::panic::resume_unwind(payload),
        });
    }
}

pub(crate) async fn value(node: &Node, here: &Here) {
    let value = here.world.number();
    let who = Who {
        value: Is::This(value),
        ..here.who
    };
    let inside = Here {
        who,
        ..here.clone()
    };
    match node.n % 2 {
        0 => {
            let call = function(node, inside);
            check_call(here, node, || VALUE.sync_scope(value, call));
        }
        _ if node.end() == End::Panic => {}
        _ => {
            let future = body(node, inside);
            let output = VALUE.scope(value, future).await;
            check_result(here, node, Ok(output));
        }
    }
}

pub(crate) fn apart(node: &Node, here: &Here) {
    let inside = function(node, here.with(Who::NOBODY));
    check_call(here, node, || call_apart(inside));
}

/// Bytes from a task to another one, and messages.
#[cfg(all(unix, feature = "io"))]
pub(crate) async fn pipe(node: &Node, here: &Here) {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let (executor, inside) = fresh(2, here);
    let (reader, writer) = executor.enter(io::pipe).unwrap();
    let sockets = [(); 2].map(|()| executor.enter(socket));
    let [near, far] = sockets;
    let address = far.local_addr().unwrap();
    let (place, body) = (here.clone(), body(node, inside));
    let written = Arc::new(AtomicBool::new(false));
    let is_written = written.clone();
    let writes = executor.spawn(async move {
        for i in 0..10 {
            near.send_to(&[i], address).await?;
        }
        writer.write_all(&[7; 100_000]).await?;
        is_written.store(true, Relaxed);
        std::io::Result::Ok(())
    });
    let reads = executor.spawn(async move {
        let (mut read, mut byte) = (Vec::new(), [0]);
        for i in 0..10 {
            let received = far.recv_from(&mut byte).await.map(|(length, _)| length);
            place.demand(
                received.is_ok_and(|length| length == 1) && byte == [i],
                "io: a message",
            );
        }
        let outcome = reader.read_to_end(&mut read).await;
        // Fewer, if the writer was cancelled first.
        let is_right = read == [7; 100_000] || !written.load(Relaxed);
        place.demand(outcome.is_ok() && is_right, "io: bytes");
        body.await
    });
    settle(reads, node, here).await;
    drop(writes);
    end(executor, node.n, here);
}

/// A socket of the executor that this code is in.
#[cfg(all(unix, feature = "io"))]
pub(crate) fn socket() -> io::UdpSocket {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.try_into().unwrap()
}

/// An executor that has ended: its functions say so.
pub(crate) fn ended(node: &Node, here: &Here) {
    let (executor, inside) = fresh(1, here);
    let handle = executor.handle();
    end(executor, node.n, here);
    // Its own task may not have ended it yet.
    while block_on(handle.spawn(async {}).result()).is_ok() {
        threads::yield_now();
    }
    let is_refused = match node.n % 3 {
        0 => block_on(handle.spawn(body(node, inside)).result()).is_err(),
        1 => {
            let call = function(node, inside);
            catch_unwind(AssertUnwindSafe(|| handle.install(call))).is_err()
        }
        _ => {
            let child = body(node, inside);
            let run = || handle.scope(|scope| drop(scope.spawn(child)));
            catch_unwind(AssertUnwindSafe(run)).is_err()
        }
    };
    here.demand(is_refused, "result: an ended executor has run something");
}

/// A task of the shared executor that waits, and what wakes it, for other places to take.
pub(crate) fn leave(node: &Node, here: &Here) {
    let (shared, owner) = (&here.world.shared, here.world.shared_owner);
    let inside = here.with(Who::task(shared.id(), owner));
    let (sender, receiver) = oneshot::channel();
    let body = body(node, inside);
    let (wakers, waker) = mpsc::channel();
    let handle = shared.spawn(async move {
        let waker = poll_fn(|cx| std::task::Poll::Ready(cx.waker().clone())).await;
        let _ = wakers.send(waker);
        let _ = receiver.await;
        body.await
    });
    here.leave(Left::Handle(handle));
    here.leave(Left::Sender(sender));
    if let Ok(waker) = waker.try_recv() {
        here.leave(Left::Waker(waker));
    }
    here.leave(Left::value((here.token(), waker)));
}

/// Does something with what another place has left.
pub(crate) fn pick(node: &Node, here: &Here) {
    let mut all = here.world.left.lock().unwrap();
    if all.is_empty() {
        return;
    }
    let at = node.n % all.len();
    let left = all.swap_remove(at);
    drop(all);
    match (left, node.n % 4) {
        (Left::Sender(sender), 0 | 1) => _ = sender.send(()),
        (Left::Waker(waker), 0) => waker.wake(),
        (Left::Waker(waker), 1) => waker.wake_by_ref(),
        (Left::Handle(handle), 0) => handle.abort(),
        (Left::Handle(handle), 1) => handle.detach(),
        (left, 2) => here.leave(left),
        (left, _) => drop(left),
    }
}

/// Blocks this thread until one of the two workers of the shared executor has answered.
pub(crate) fn answer(_: &Node, here: &Here) {
    let Ok(_waits) = here.world.waits.try_lock() else {
        return;
    };
    let (sender, receiver) = oneshot::channel::<()>();
    let (answer, answers) = mpsc::channel();
    here.world.shared.spawn_detached(async move {
        let _ = answer.send(());
        let _ = receiver.await;
        let _ = answer.send(());
    });
    // It waits by now, or is cancelled, if the shared executor has ended.
    let _ = answers.recv();
    let _ = sender.send(());
    let _ = answers.recv();
}
