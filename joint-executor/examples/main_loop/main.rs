//! A main thread that is a worker between two frames.
//!
//! Textures are decoded by two workers with threads of their own. Only the main thread may touch
//! the screen, as in most graphics libraries. So the tasks that put textures there are local tasks
//! of a third worker, which the main loop drives: it draws, and then runs tasks until the frame is
//! over.
//!
//! ```text
//! cargo run --example main_loop
//! ```

use std::{
    cell::RefCell,
    error::Error,
    process::ExitCode,
    rc::Rc,
    task::Waker,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use joint_executor::{
    Executor, TaskBuilder,
    hosted::{BoundWorker, Step},
    spawn_local,
    time::sleep,
};

#[path = "../options/mod.rs"]
mod options;

const HELP: &str = "\
Decodes textures on two workers, and puts them on a screen from the main thread.

Usage: main_loop

  -h, --help     print this
  -V, --version  print the version
";

const TEXTURES: [&str; 4] = ["sky", "grass", "river", "road"];
const FRAME: Duration = Duration::from_millis(4);

/// The picture. It stays on the main thread.
#[derive(Default)]
struct Screen {
    textures: Vec<Texture>,
    frames: u64,
}

struct Texture {
    name: &'static str,
    pixels: Vec<u8>,
    decoded_by: ThreadId,
}

fn main() -> ExitCode {
    options::run("main_loop", HELP, |options| {
        options.end()?;
        show()
    })
}

fn show() -> Result<(), Box<dyn Error>> {
    let (executor, mut workers) = Executor::builder().workers(3).build_hosted()?;
    let others = workers.split_off(1).into_iter();
    let threads: Vec<_> = others
        .map(|worker| thread::spawn(|| worker.run()))
        .collect();
    let mut worker = workers.remove(0).bind();

    let screen = Rc::new(RefCell::new(Screen::default()));
    let load = |(index, name)| {
        let decoder = 1 + index % 2;
        spawn_local(load(screen.clone(), name, decoder))
    };
    let loads: Vec<_> = worker.enter(|| TEXTURES.into_iter().enumerate().map(load).collect());
    while !loads.iter().all(|load| load.is_finished()) {
        let end = Instant::now() + FRAME;
        draw(&mut screen.borrow_mut());
        run_tasks(&mut worker, end);
    }

    let mut screen = screen.borrow_mut();
    assert!(screen.frames > 0);
    screen.textures.sort_by_key(|texture| texture.name);
    for texture in &screen.textures {
        assert_ne!(texture.decoded_by, thread::current().id());
        let mean = texture
            .pixels
            .iter()
            .map(|&pixel| u64::from(pixel))
            .sum::<u64>()
            / 256;
        println!("{}: mean {mean}", texture.name);
    }
    println!("{} textures are on the screen", screen.textures.len());

    // The workers end by themselves, the main thread's as it is dropped.
    drop((executor, worker));
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    Ok(())
}

/// Loads a texture: decodes it on another worker, and puts it on the screen on this one.
async fn load(screen: Rc<RefCell<Screen>>, name: &'static str, decoder: usize) {
    let task = TaskBuilder::new().on_worker(decoder);
    let (pixels, decoded_by) = task.spawn(decode(name)).await;
    screen.borrow_mut().textures.push(Texture {
        name,
        pixels,
        decoded_by,
    });
}

async fn decode(name: &'static str) -> (Vec<u8>, ThreadId) {
    // The file is read.
    sleep(Duration::from_millis(5)).await;
    let bytes = name.bytes().cycle().zip(0u8..=255);
    let pixels = bytes.map(|(byte, place)| byte.wrapping_mul(31) ^ place);
    (pixels.collect(), thread::current().id())
}

fn draw(screen: &mut Screen) {
    screen.frames += 1;
}

/// Runs the main thread's tasks until the frame is over. While there are none, the thread waits in
/// the executor, and serves its timers and descriptors if no other worker does.
fn run_tasks(worker: &mut BoundWorker, end: Instant) {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        // One task at a time, so that the frame is late by at most one poll.
        match worker.step(1, Waker::noop()) {
            Step::Ready => {}
            Step::Idle | Step::Until(_) => worker.wait(Some(left)),
            Step::Ended => return,
        }
    }
}
