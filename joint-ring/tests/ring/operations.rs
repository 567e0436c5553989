//! Operations on a real ring: what they return, and what becomes of them when their future, their
//! thread or their executor is gone. Where io_uring is refused, each test says so and passes.

use std::{
    fs, io,
    io::{Read as _, Write},
    net,
    path::PathBuf,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use futures_lite::future::{poll_once, yield_now};
use joint_executor::{Executor, block_on};
use joint_ring::{Buffer, BufferMut, File, TcpListener, TcpStream};

use crate::{Read, again, connected, is_here, waiting};

/// Runs a test where there is io_uring.
fn on_a_ring(test: impl Future<Output = ()>) {
    if is_here() {
        block_on(test);
    }
}

/// Runs a test on one of two workers, where there is io_uring.
fn on_two_workers(test: impl Future<Output = ()>) {
    if is_here() {
        let executor = Executor::builder().workers(2).build().unwrap();
        executor.block_on(test);
    }
}

/// A file with these contents, which is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(contents: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("joint-ring-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, contents).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_is_read_and_written_at_offsets() {
    on_a_ring(async {
        let file = Temporary::new(b"0123456789");
        let ours = fs::OpenOptions::new().read(true).write(true).open(&file.0);
        let ours = File::from(ours.unwrap());
        let (count, buffer) = ours.read_at(Vec::with_capacity(4), 3).await;
        assert_eq!((count.unwrap(), &buffer[..]), (4, &b"3456"[..]));
        let (count, _) = ours.write_at("ab", 8).await;
        assert_eq!(count.unwrap(), 2);
        ours.write_all_at(vec![b'x'; 100_000], 10).await.0.unwrap();
        ours.sync_all().await.unwrap();
        ours.sync_data().await.unwrap();
        let (count, buffer) = ours.read_at(buffer, 100_010).await;
        assert_eq!(
            (count.unwrap(), buffer.len()),
            (0, 0),
            "the end of the file"
        );
        let (count, _) = ours.read_at(buffer, u64::MAX).await;
        let error = count.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "no such offset");
        let read = fs::read(&file.0).unwrap();
        assert_eq!(&read[..12], b"01234567abxx");
        assert_eq!(read.len(), 100_010);
    });
}

#[test]
fn an_error_of_the_kernel_is_returned_with_the_buffer() {
    on_a_ring(async {
        let file = Temporary::new(b"");
        let error = File::open("/there/is/no/such/file").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = File::open("with\0zero").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let read_only = File::open(&file.0).await.unwrap();
        let (result, buffer) = read_only.write_at(vec![7; 3], 0).await;
        assert_eq!(result.unwrap_err().raw_os_error(), Some(9), "EBADF");
        assert_eq!(buffer, [7; 3]);
    });
}

#[test]
fn a_task_waits_for_a_peer() {
    on_two_workers(async {
        let (ours, mut peer) = connected().await;
        let reader = joint_executor::spawn(async move {
            let (count, buffer) = ours.read(vec![0; 16].into_boxed_slice()).await;
            (count.unwrap(), buffer[..4].to_vec(), ours)
        });
        yield_now().await;
        peer.write_all(b"ping").unwrap();
        let (count, bytes, ours) = reader.await;
        assert_eq!((count, &bytes[..]), (4, &b"ping"[..]));
        ours.write_all("pong").await.0.unwrap();
        let mut answer = [0; 4];
        peer.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"pong");
        drop(peer);
        let (count, _) = ours.read(vec![0; 16]).await;
        assert_eq!(count.unwrap(), 0);
    });
}

#[test]
fn a_listener_accepts() {
    on_a_ring(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let peer = thread::spawn(move || net::TcpStream::connect(address).unwrap());
        let (ours, from) = listener.accept().await.unwrap();
        let peer = peer.join().unwrap();
        assert_eq!(from, peer.local_addr().unwrap());
        assert_eq!(ours.get_ref().local_addr().unwrap(), address);
    });
}

/// The worker's own poll blocks, and no other worker could run the task.
#[test]
fn a_blocking_wait_in_a_task_of_the_only_worker_ends() {
    if !is_here() {
        return;
    }
    let executor = Executor::builder().workers(1).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let task = executor.spawn(async move {
        let (ours, mut peer) = connected().await;
        block_on(async {
            let mut read = pin!(ours.read(vec![0; 16]));
            assert!(poll_once(&mut read).await.is_none());
            sender.send(()).unwrap();
            let peer = thread::spawn(move || peer.write_all(b"ping"));
            assert_eq!(read.await.0.unwrap(), 4);
            peer.join().unwrap().unwrap();
        });
    });
    receiver.recv().unwrap();
    block_on(task);
}

/// Two branches of which the other one is always ready soon.
async fn or_tick<T>(future: impl Future<Output = T>) -> Option<T> {
    let tick = async {
        yield_now().await;
        None
    };
    futures_lite::future::or(async { Some(future.await) }, tick).await
}

#[test]
fn accepts_that_are_dropped_lose_no_client() {
    on_two_workers(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let clients = thread::spawn(move || {
            for _ in 0..300 {
                let mut waiting = [(); 3].map(|()| net::TcpStream::connect(address).unwrap());
                for client in &mut waiting {
                    client.read_exact(&mut [0]).expect("it was accepted");
                }
            }
        });
        let (mut accepted, mut ticks) = (0, 0);
        while accepted < 900 {
            match or_tick(listener.accept()).await {
                Some(client) => {
                    accepted += 1;
                    client.unwrap().0.write_all("x").await.0.unwrap();
                }
                None => ticks += 1,
            }
        }
        clients.join().unwrap();
        println!("{ticks} accepts were dropped");
    });
}

/// The next reads have less room, as much, more or none.
#[test]
fn reads_that_are_dropped_lose_no_bytes() {
    on_two_workers(async {
        let (ours, mut peer) = connected().await;
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n / 3 + n / 256) as u8).collect();
        let sent = bytes.clone();
        let peer = thread::spawn(move || {
            for chunk in sent.chunks(97) {
                peer.write_all(chunk).unwrap();
            }
        });
        let (mut read, mut ticks) = (Vec::new(), 0);
        for room in [1, 40, 0, 97, 4_000].into_iter().cycle() {
            match or_tick(ours.read(vec![0; room])).await {
                None => ticks += 1,
                Some((count, buffer)) => {
                    let count = count.unwrap();
                    read.extend_from_slice(&buffer[..count]);
                    if count == 0 && room > 0 {
                        break;
                    }
                }
            }
        }
        peer.join().unwrap();
        println!("{ticks} reads were dropped");
        assert!(read == bytes);
    });
}

/// A call that waits for its turn is woken although the one before it, or the one that was woken
/// first, is dropped.
#[test]
fn calls_take_turns_whichever_of_them_are_dropped() {
    for dropped in 0..8_u8 {
        on_two_workers(async {
            let (ours, mut peer) = connected().await;
            let ours = Arc::new(ours);
            let mut reads: Vec<_> = (0..4)
                .map(|_| {
                    let ours = ours.clone();
                    Some(Box::pin(async move { ours.read(vec![0; 1]).await.1 }))
                })
                .collect();
            for read in reads.iter_mut().flatten() {
                assert!(poll_once(read).await.is_none());
            }
            // Each waits with a task of its own, and is woken by nothing but its turn.
            let left: Vec<_> = (reads.iter_mut().enumerate())
                .filter(|(index, _)| dropped & 1 << index == 0)
                .map(|(_, read)| joint_executor::spawn(read.take().unwrap()))
                .collect();
            for _ in 0..100 {
                yield_now().await;
            }
            drop(reads);
            peer.write_all(&b"abcd"[..left.len()]).unwrap();
            let mut bytes = Vec::new();
            for read in left {
                bytes.extend(read.await);
            }
            bytes.sort();
            assert_eq!(bytes, b"abcd"[..bytes.len()]);
        });
    }
}

#[test]
fn what_was_left_outlives_the_thread_that_began_it() {
    on_a_ring(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (ours, mut peer) = connected().await;
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(block_on(poll_once(listener.accept())).is_none());
                assert!(block_on(poll_once(ours.read(vec![0; 9]))).is_none());
            });
        });
        let _client = net::TcpStream::connect(listener.get_ref().local_addr().unwrap()).unwrap();
        listener.accept().await.unwrap();
        peer.write_all(b"ping").unwrap();
        let (count, buffer) = ours.read(vec![0; 3]).await;
        assert_eq!((count.unwrap(), &*buffer), (3, &b"pin"[..]));
    });
}

/// A buffer that counts how many of its kind there are.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(vec![0; 64], count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: as for the vector inside.
unsafe impl BufferMut for Counted {
    fn room(&mut self) -> *mut [u8] {
        self.0.room()
    }

    unsafe fn set_filled(&mut self, count: usize) {
        // SAFETY: passed on from the caller.
        unsafe { self.0.set_filled(count) }
    }
}

// SAFETY: as for the vector inside.
unsafe impl Buffer for Counted {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// How many operations the next test drops.
fn drops() -> usize {
    let drops = std::env::var("JOINT_RING_DROPS");
    drops.map_or(10_000, |drops| drops.parse().expect("a number"))
}

/// Reads that wait, that are answered while they are dropped, and that nobody has polled.
#[test]
fn dropped_operations_return_their_buffers() {
    if !is_here() {
        return;
    }
    let executor = Executor::builder().workers(2).build().unwrap();
    let buffers = Arc::new(AtomicUsize::new(0));
    let file = Temporary::new(&[1; 4096]);
    let all = drops() / 4;
    executor.block_on(async {
        let (ours, mut peer) = connected().await;
        let ours = Arc::new(ours);
        let file = File::open(&file.0).await.unwrap();
        for round in 0..all {
            // No operation is refused for lack of budget.
            joint_executor::yield_now().await;
            let own = again(&ours);
            let mut waits = Box::pin(own.read(Counted::new(&buffers)));
            assert!(poll_once(&mut waits).await.is_none());
            if round % 16 == 0 {
                peer.write_all(b"x").unwrap();
            }
            drop(waits);
            if round % 2 == 0 {
                // What the last read has left.
                let _ = poll_once(own.read(Counted::new(&buffers))).await;
            }
            drop(own);
            let elsewhere = ours.clone();
            let buffer = Counted::new(&buffers);
            let mut moved = Box::pin(async move { elsewhere.read(buffer).await.0 });
            let _ = poll_once(&mut moved).await;
            drop(joint_executor::spawn(moved));
            drop(ours.read(Counted::new(&buffers)));
            let _ = poll_once(file.read_at(Counted::new(&buffers), 0)).await;
        }
    });
    drop(executor);
    // The executor has waited for its workers, and those for the kernel. The last answers may still
    // be on their way to this thread's ring, which another executor serves now.
    while buffers.load(Ordering::Relaxed) > 0 {
        thread::yield_now();
    }
}

/// The kernel copies these bytes during the poll, which a socket's operation would not do for long.
#[test]
fn others_run_after_a_few_reads_that_are_done_at_once() {
    if !is_here() {
        return;
    }
    let executor = Executor::builder().workers(1).build().unwrap();
    for (size, most) in [(4 << 10, 10), (1 << 20, 3)] {
        let contents = Temporary::new(&vec![7; size]);
        let file = File::from(fs::File::open(&contents.0).unwrap());
        let reads = executor.spawn(async move {
            let (mut reads, mut buffer) = (0, Vec::with_capacity(size));
            let sibling = joint_executor::spawn(async {});
            while !sibling.is_finished() {
                let count;
                (count, buffer) = file.read_at(buffer, 0).await;
                assert_eq!(count.unwrap(), size);
                reads += 1;
            }
            reads
        });
        let reads = block_on(reads);
        // Once the budget is used up, an operation is let through now and then.
        assert!((1..=most).contains(&reads), "{size}: {reads}");
    }
}

#[test]
fn an_operation_fails_when_its_thread_ends() {
    on_a_ring(async {
        let (ours, _peer) = connected().await;
        let mut read = Box::pin(async move { ours.read(vec![7; 8]).await });
        let read = thread::spawn(move || {
            assert!(block_on(poll_once(&mut read)).is_none());
            read
        });
        let (result, buffer) = read.join().unwrap().await;
        assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ECANCELED));
        assert_eq!(buffer, [7; 8]);
    });
}

#[test]
fn a_ring_outlives_the_executor_that_serves_it() {
    if !is_here() {
        return;
    }
    let own_ring = thread::spawn(|| {
        let executor = Executor::builder().workers(1).build().unwrap();
        let (ours, mut peer) = executor.block_on(connected());
        let mut read = Box::pin(ours.read(vec![7; 8]));
        assert!(executor.block_on(poll_once(&mut read)).is_none());
        drop(executor);
        let (result, _) = block_on(read);
        assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ECANCELED));

        let mut again = Box::pin(ours.read(vec![7; 8]));
        assert!(block_on(poll_once(&mut again)).is_none());
        peer.write_all(b"ping").unwrap();
        assert_eq!(block_on(again).0.unwrap(), 4);
    });
    own_ring.join().unwrap();
}

/// The child of a fork inherits the ring, and ends the thread that has it.
#[test]
fn the_exit_of_a_forked_child_cancels_nothing() {
    on_a_ring(async {
        let (ours, mut peer) = connected().await;
        let mut read = pin!(ours.read(vec![0; 8]));
        assert!(poll_once(&mut read).await.is_none());
        // SAFETY: the child does nothing but exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the child ends, at the latest by the signal.
            unsafe { libc::alarm(20) };
            // SAFETY: as above.
            unsafe { libc::exit(0) };
        }
        let mut status = -1;
        // SAFETY: the status is written to a variable.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((waited, status), (child, 0));
        peer.write_all(b"ping").unwrap();
        assert_eq!(read.await.0.unwrap(), 4);
    });
}

/// What a dropped operation opens is closed: 40 times as many files are opened as may be open.
#[test]
fn a_dropped_open_closes_its_file() {
    on_a_ring(async {
        let file = Temporary::new(b"");
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for _ in 0..1_000 {
            drop(poll_once(File::open(&file.0)).await);
        }
        // Other tests open and close some meanwhile.
        while open() > before + 100 {
            yield_now().await;
        }
    });
}

/// A future that waits is polled on other threads, and its answer comes there.
#[test]
fn a_task_may_move_while_the_kernel_works() {
    if !is_here() {
        return;
    }
    let (ours, mut peer) = block_on(connected());
    let mut read = Box::pin(async move { ours.read(vec![0; 8]).await.0 });
    assert!(block_on(poll_once(&mut read)).is_none());
    for _ in 0..3 {
        let moved = thread::spawn(move || {
            assert!(block_on(poll_once(&mut read)).is_none());
            read
        });
        read = moved.join().unwrap();
    }
    let task = joint_executor::spawn(read);
    peer.write_all(b"ping").unwrap();
    assert_eq!(block_on(task).unwrap(), 4);
}

/// Ends reads that wait.
async fn end((reads, mut peer): (Vec<Read>, net::TcpStream)) {
    peer.write_all(&vec![8; reads.len()]).unwrap();
    for read in reads {
        assert_eq!(read.await.1, [8]);
    }
}

/// A queued operation that nobody polls again does not keep others from being submitted.
#[test]
fn a_queued_operation_depends_on_no_other_one() {
    on_a_ring(async {
        let file = Temporary::new(b"0123456789");
        let file = File::from(fs::File::open(&file.0).unwrap());
        let busy = waiting(20).await;
        let mut forgotten = Box::pin(file.read_at(vec![0; 4], 0));
        assert!(poll_once(&mut forgotten).await.is_none(), "it is queued");
        assert_eq!(file.read_at(vec![0; 4], 4).await.1, b"4567");
        end(busy).await;
        assert_eq!(forgotten.await.1, b"0123");
    });
}

#[test]
fn a_queued_operation_may_move_or_be_dropped() {
    on_a_ring(async {
        let file = Temporary::new(b"0123456789");
        let buffers = Arc::new(AtomicUsize::new(0));
        let file = Arc::new(File::from(fs::File::open(&file.0).unwrap()));
        let busy = waiting(20).await;
        let mut dropped = Box::pin(file.read_at(Counted::new(&buffers), 0));
        assert!(poll_once(&mut dropped).await.is_none());
        let there = file.clone();
        let mut moved = Box::pin(async move { there.read_at(vec![0; 4], 4).await.1 });
        assert!(poll_once(&mut moved).await.is_none());
        drop(dropped);
        let moved = thread::spawn(move || block_on(moved));
        assert_eq!(moved.join().unwrap(), b"4567");
        end(busy).await;
        while buffers.load(Ordering::Relaxed) > 0 {
            yield_now().await;
        }
    });
}

#[test]
fn a_queued_operation_ends_with_its_thread() {
    if !is_here() {
        return;
    }
    let file = Temporary::new(b"0123456789");
    let file = File::from(fs::File::open(&file.0).unwrap());
    let mut queued = Box::pin(async move { file.read_at(vec![0; 4], 4).await.0 });
    let queued = thread::spawn(|| {
        let (_reads, _peer) = block_on(waiting(20));
        assert!(block_on(poll_once(&mut queued)).is_none());
        queued
    });
    let queued = queued.join().unwrap();
    // The kernel may have read before it was asked to cancel.
    match block_on(queued) {
        Ok(count) => assert_eq!(count, 4),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ECANCELED)),
    }
}

/// More requests than the queue has room for.
#[test]
fn a_full_queue_is_submitted() {
    on_a_ring(async {
        let file = Temporary::new(&[7; 4096]);
        let file = File::from(fs::File::open(&file.0).unwrap());
        let busy = waiting(20).await;
        let mut reads: Vec<_> = (0..1_000)
            .map(|_| Box::pin(file.read_at(vec![0; 64], 64)))
            .collect();
        for read in &mut reads {
            let _ = poll_once(read).await;
        }
        for read in reads {
            assert_eq!(read.await.0.unwrap(), 64);
        }
        end(busy).await;
    });
}

/// Connections whose tasks are taken over by one worker from the other, in the middle of an
/// operation.
#[test]
fn two_workers_share_connections() {
    on_two_workers(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let server = joint_executor::spawn(async move {
            let mut tasks = Vec::new();
            for _ in 0..40 {
                let (stream, _) = listener.accept().await.unwrap();
                tasks.push(joint_executor::spawn(async move {
                    let mut buffer = Vec::with_capacity(64);
                    loop {
                        let (count, bytes) = stream.read(buffer).await;
                        if count.unwrap() == 0 {
                            break;
                        }
                        buffer = stream.write_all(bytes).await.1;
                    }
                }));
            }
            tasks
        });
        let clients: Vec<_> = (0..40_u8)
            .map(|client| {
                joint_executor::spawn(async move {
                    let stream = TcpStream::connect(address).await.unwrap();
                    for message in 0..50 {
                        stream.write_all(vec![client, message]).await.0.unwrap();
                        let mut missing = vec![client, message];
                        while !missing.is_empty() {
                            let (count, bytes) = stream.read(Vec::with_capacity(2)).await;
                            assert_eq!(bytes, missing.drain(..count.unwrap()).as_slice());
                        }
                    }
                })
            })
            .collect();
        for client in clients {
            client.await;
        }
        for task in server.await {
            task.await;
        }
    });
}
