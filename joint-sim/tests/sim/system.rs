//! std's clocks and the system's random numbers, which a simulation answers on Linux.

use std::{
    ffi::{c_uint, c_void},
    fs,
    sync::{Condvar, Mutex, mpsc},
    time::{Instant, SystemTime},
};

use joint_executor::time::{sleep_until, wall};

use crate::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);

unsafe extern "C" {
    fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize;
}

fn thirteen_random_bytes() -> [u8; 13] {
    let mut bytes = [0; 13];
    // SAFETY: it has this many bytes.
    let filled = unsafe { getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(filled, 13);
    bytes
}

#[test]
fn clocks_of_std_show_the_time_of_the_run() {
    let before = (Instant::now(), SystemTime::now());
    sim::run(1, async {
        let (start, start_wall) = (Instant::now(), SystemTime::now());
        assert_eq!((start, start_wall), (now(), wall()));
        sleep(HOUR).await;
        assert_eq!(start.elapsed(), HOUR);
        assert_eq!(start_wall.elapsed().unwrap(), HOUR);
        sleep_until(Instant::now() + HOUR).await;
        let elapsed = spawn_blocking(move || start.elapsed()).await;
        assert_eq!(elapsed, 2 * HOUR);
    });
    assert!(before.0.elapsed() < HOUR && before.1.elapsed().unwrap() < HOUR);
}

#[test]
fn a_host_with_other_clocks_reads_them_by_std() {
    sim::run(1, async {
        let host = Host::new("a");
        host.clock(5_000, 1_000_000);
        let times = on_host(&host, || async {
            let (start, start_wall) = (Instant::now(), SystemTime::now());
            assert_eq!(start_wall, wall());
            sleep(HOUR).await;
            (start.elapsed(), start_wall.elapsed().unwrap())
        });
        let start = Instant::now();
        assert_eq!(times.await, (HOUR, HOUR));
        assert_eq!(start.elapsed(), HOUR / 2);
    });
}

#[test]
fn what_is_decided_by_std_is_decided_again() {
    let program = || async {
        let mut decided = Vec::new();
        for _ in 0..5 {
            sleep(SECOND / 7).await;
            decided.push((Instant::now(), SystemTime::now(), thirteen_random_bytes()));
            sim::note(format!("{decided:?}"));
        }
        decided
    };
    let run = |seed| sim::run(seed, program());
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    Check::new().seeds(20).canary(1).run(|| async {
        program().await;
    });
    // SAFETY: nothing is filled.
    assert_eq!(unsafe { getrandom([].as_mut_ptr(), 0, 0) }, 0);
    assert_ne!(thirteen_random_bytes(), thirteen_random_bytes());
}

/// However far the time of the run is ahead of the system's.
#[test]
fn a_wait_of_std_with_a_limit_ends_and_takes_as_long() {
    let waits = || {
        let start = Instant::now();
        let (_sender, receiver) = mpsc::channel::<()>();
        receiver.recv_timeout(HOUR).unwrap_err();
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let wait = condvar.wait_timeout_while(mutex.lock().unwrap(), HOUR, |()| true);
        assert!(wait.unwrap().1.timed_out());
        start.elapsed()
    };
    sim::run(1, async move {
        for _ in 0..2 {
            sleep(48 * HOUR).await;
            let start = now();
            let elapsed = waits();
            assert!(elapsed >= 2 * HOUR, "{elapsed:?}");
            yield_now().await;
            assert!(now() - start >= elapsed);
            assert!(spawn_blocking(waits).await >= 2 * HOUR);
        }
    });
}

#[test]
fn a_sleep_that_is_due_meanwhile_fires_after_the_poll() {
    sim::run(1, async {
        let start = now();
        let sleeper = spawn(async move {
            sleep(SECOND).await;
            now() - start
        });
        yield_now().await;
        while start.elapsed() < HOUR {}
        assert!(sleeper.await >= HOUR);
    });
}

/// Returns what the trace says was done for real, without the times.
fn done_for_real(trace: sim::Trace) -> Vec<String> {
    let all = trace.events().iter().map(|event| event.to_string());
    let real = all.filter(|event| event.contains(" real "));
    let did = real.map(|event| event.split_once(": ").unwrap().1.to_owned());
    did.collect()
}

#[test]
fn what_std_does_for_real_is_told_once_and_no_socket_is_opened() {
    let folder = folder("told");
    let [one, two] = ["one", "two"].map(|name| folder.join(name));
    let run = |folder: PathBuf, one: PathBuf, two: PathBuf| {
        Builder::new(1).trace(true).run(async move {
            let host = Host::new("a");
            host.run(move || {
                let folder = folder.clone();
                async move {
                    let _created = OnDrop(|| fs::create_dir(&folder).unwrap());
                    pending::<()>().await;
                }
            });
            sleep(SECOND).await;
            host.kill();
            let file = one.clone();
            spawn_blocking(move || fs::write(file, "1").unwrap()).await;
            fs::write(&one, "2").unwrap();
            fs::rename(&one, &two).unwrap();
            assert_eq!(fs::read(&two).unwrap(), b"2");
            fs::remove_file(&two).unwrap();
            fs::write("/dev/null", "3").unwrap();
            let address = "127.0.0.1:0";
            let refused = |error: io::Error| assert_eq!(error.kind(), ErrorKind::Unsupported);
            refused(std::net::UdpSocket::bind(address).unwrap_err());
            refused(std::net::TcpListener::bind(address).unwrap_err());
            refused(std::net::TcpStream::connect("127.0.0.1:1").unwrap_err());
        })
    };
    let trace = run(folder.clone(), one.clone(), two)
        .unwrap()
        .trace
        .unwrap();
    let file = |actor: &str, did: &str, path: &PathBuf| {
        format!(
            "{actor} {did} {path:?} in the real file system: `std::fs` acts for real in a \
             simulation, use `joint_sim::fs`"
        )
    };
    let expected = [
        file("main", "created the folder", &folder),
        file("task 2", "opened to write", &one),
        file("main", "renamed", &one),
        file("main", "removed", &folder.join("two")),
        "main was refused a socket of the real network: use those of `joint_executor::io`".into(),
    ];
    assert_eq!(done_for_real(trace), expected);
    // Outside of a run, everything is as usual.
    fs::remove_dir(&folder).unwrap();
    std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let missing = fs::write(&one, "").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn a_panic_hook_acts_for_real_and_nothing_says_so() {
    let says_nothing = || {
        let folder = folder("hook");
        let file = folder.clone();
        std::panic::set_hook(Box::new(move |_| {
            fs::create_dir(&file).unwrap();
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        }));
        let run = Builder::new(1).trace(true).run(async {
            let _ = catch_unwind(|| panic!("on purpose"));
        });
        fs::remove_dir(folder).unwrap();
        assert_eq!(done_for_real(run.unwrap().trace.unwrap()), [""; 0]);
    };
    in_process(|_| {}, says_nothing);
}

#[test]
fn a_replay_that_differs_names_what_was_done_for_real() {
    let file = folder("left");
    let program = || async {
        if fs::exists(&file).unwrap() {
            yield_now().await;
        }
        fs::write(&file, "left").unwrap();
        yield_now().await;
        panic!("on purpose");
    };
    let check = Check::new().canary(0).shrink_runs(0);
    // The file is there in all of its runs.
    fs::write(&file, "").unwrap();
    let found = crate::found(&check, program);
    fs::remove_file(&file).unwrap();
    let again = crate::found(&Check::new().replay(found.replay()), program);
    fs::remove_file(&file).unwrap();
    says(
        &again,
        "not the run that failed: it differs from step 2 on, ",
    );
    says(
        &again,
        "on, which may be due to what it did for real, as listed below\n",
    );
    let listed =
        "done for real, so that another run may differ:\n  step 1, 0ns: main opened to write";
    says(&again, listed);
    says(&found, &listed.replace("step 1", "step 2"));
}
