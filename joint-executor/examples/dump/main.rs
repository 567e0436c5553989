//! A program that stands still, and says why when it is sent `SIGUSR1`:
//! ```sh
//! cargo run --example dump
//! kill -USR1 PID
//! ```
//! Two clerks each hold an account, and wait for the account of the other. The auditor waits for
//! both. Without an argument the program runs on until it is killed. With `--once` it sends the
//! signal to itself, prints one dump and ends.

#[cfg(unix)]
fn main() -> std::io::Result<()> {
    clerks::main()
}

#[cfg(not(unix))]
fn main() {
    println!("this example needs the signals of Unix");
}

#[cfg(unix)]
mod clerks {
    use std::{env, io, process, sync::Arc, thread, time::Duration};

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

    pub(super) fn main() -> io::Result<()> {
        let is_once = env::args().any(|argument| argument == "--once");
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
