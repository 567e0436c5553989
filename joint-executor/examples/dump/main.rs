//! A program that stands still, and says why when it is sent `SIGUSR1`:
//! ```sh
//! cargo run --example dump
//! kill -USR1 PID
//! ```
//! Two clerks each hold an account, and wait for the account of the other. The auditor waits for
//! both. Without an argument the program runs on until it is killed. With `--once` it sends the
//! signal to itself, prints one dump and ends.

#[path = "../options/mod.rs"]
mod options;

use std::process::ExitCode;

use lexopt::Arg::Long;

const HELP: &str = "\
Stands still, and says why when it is sent SIGUSR1. It runs until it is killed.

Usage: dump [--once]

  --once         send the signal to itself, print one dump and end
  -h, --help     print this
  -V, --version  print the version
";

fn main() -> ExitCode {
    options::run("dump", HELP, |mut options| {
        let mut is_once = false;
        while let Some(word) = options.next()? {
            match word {
                Long("once") => is_once = true,
                word => return Err(word.unexpected().into()),
            }
        }
        #[cfg(unix)]
        return Ok(clerks::wait(is_once)?);
        #[cfg(not(unix))]
        Err(format!("no signals here, once: {is_once}").into())
    })
}

#[cfg(unix)]
mod clerks {
    use std::{io, process, sync::Arc, thread, time::Duration};

    use async_lock::Mutex;
    use joint_executor::{Executor, time::sleep, waiting_for};
    use signal_hook::{consts::SIGUSR1, iterator::Signals, low_level::raise};

    type Account = Arc<Mutex<i64>>;

    async fn transfer(from: Account, to: Account, amount: i64) {
        let mut from = waiting_for("the account to take from", from.lock()).await;
        sleep(Duration::from_millis(10)).await;
        let mut to = waiting_for("the account to give to", to.lock()).await;
        *from -= amount;
        *to += amount;
    }

    pub(super) fn wait(is_once: bool) -> io::Result<()> {
        let mut signals = Signals::new([SIGUSR1])?;
        let executor = Executor::builder().workers(2).record_times().build()?;
        let [one, other] = [100, 200].map(|balance| Arc::new(Mutex::new(balance)));
        let first = transfer(one.clone(), other.clone(), 10);
        let first = executor.task().name("first clerk").spawn(first);
        let second = transfer(other, one, 20);
        let second = executor.task().name("second clerk").spawn(second);
        let audit = async { (first.await, second.await) };
        let audit = executor.task().name("auditor").spawn(audit);
        println!("process {}", process::id());
        if is_once {
            while executor.dump().to_string().matches("to give to").count() < 2 {
                thread::yield_now();
            }
            raise(SIGUSR1)?;
        }
        for _ in signals.forever() {
            println!("{}", executor.dump());
            if is_once {
                return Ok(());
            }
        }
        drop(audit);
        Ok(())
    }
}
