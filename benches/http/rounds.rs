//! The rounds, in which the servers take turns, and the table.

use std::{
    cell::RefCell,
    env, fs,
    io::{self, BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use joint_benches::{
    options::Options,
    report::Figure,
    table::{Rounds, medians},
};

use crate::{load::Load, servers::WORKERS};

const SERVERS: [&str; 2] = ["joint", "tokio"];
const CONNECTIONS: [usize; 3] = [64, 512, 4096];
const ROUNDS: Rounds = Rounds {
    warm_up: 0,
    least: 15,
    most: 15,
};
/// Before what is measured in each round.
const WARM: Duration = Duration::from_millis(100);

/// One round of one server.
#[derive(Clone, Copy)]
struct Figures {
    requests_a_second: f64,
    /// Microseconds.
    p50: f64,
    p99: f64,
    /// Microseconds of processor time of the server for a request.
    cost: f64,
    /// How often the server's threads fell asleep for a request.
    sleeps: f64,
}

/// A figure, and how many decimal places of it are shown.
type Column = (fn(&Figures) -> f64, usize);

struct Server {
    child: Child,
    load: Load,
}

impl Server {
    fn start(name: &str, connections: usize) -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut port)?;
        let load = Load::new(port.trim().parse().map_err(io::Error::other)?, connections)?;
        Ok(Self { child, load })
    }

    fn round(&mut self, time: Duration) -> io::Result<Figures> {
        self.load.run(WARM.min(time))?;
        let before = self.used()?;
        let mut seen = self.load.run(time)?;
        let after = self.used()?;
        let count = seen.latencies.len() as f64;
        seen.latencies.sort_unstable();
        let at = |share: f64| {
            let place = (count * share) as usize;
            let latency = seen.latencies.get(place).copied();
            latency.unwrap_or_default().as_secs_f64() * 1e6
        };
        Ok(Figures {
            requests_a_second: count / seen.took.as_secs_f64(),
            p50: at(0.5),
            p99: at(0.99),
            cost: (after.0 - before.0) * 1e6 / count,
            sleeps: (after.1 - before.1) / count,
        })
    }

    /// The seconds of processor time that the server has used, and how often it fell asleep.
    fn used(&self) -> io::Result<(f64, f64)> {
        let (mut nanoseconds, mut sleeps) = (0, 0);
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let thread = thread?.path();
            let first = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
            nanoseconds += first(&fs::read_to_string(thread.join("schedstat"))?).unwrap_or(0);
            let status = fs::read_to_string(thread.join("status"))?;
            let count = |line: &str| first(line.strip_prefix("voluntary_ctxt_switches:")?);
            sleeps += status.lines().find_map(count).unwrap_or(0);
        }
        Ok((nanoseconds as f64 / 1e9, sleeps as f64))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have failed by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run() {
    // Each connection takes a descriptor on both sides.
    if let Err(error) = more_descriptors() {
        println!("no more descriptors: {error}");
    }
    let options = Options::read();
    let time = Duration::from_millis(options.of(600, 20));
    println!(
        "# http\n\nhyper 1 with {WORKERS} workers, and one thread of load: medians of the rounds."
    );
    println!("In brackets: the median of the rounds' ratios to joint.\n");
    println!(
        "| connections | server | requests/s | p50, us | p99, us | processor time, us/request | sleeps/request |"
    );
    println!("|---|---|---|---|---|---|---|");
    for connections in CONNECTIONS {
        let row = format!("{connections} connections");
        if options.wants("http", &row) {
            table(&options, connections, time).expect("servers and connections");
        }
    }
}

fn table(options: &Options, connections: usize, time: Duration) -> io::Result<()> {
    let names = SERVERS.into_iter();
    let names = names.filter(|name| Options::has_contestant(name));
    let start = |name| Server::start(name, connections).map(RefCell::new);
    let servers = names.clone().map(start).collect::<io::Result<Vec<_>>>()?;
    let rounds = ROUNDS.take(options, Duration::ZERO, servers.len(), |i| {
        servers[i]
            .borrow_mut()
            .round(time)
            .expect("the server answers")
    });
    let columns: [Column; 5] = [
        (|figures| figures.requests_a_second, 0),
        (|figures| figures.p50, 0),
        (|figures| figures.p99, 0),
        (|figures| figures.cost, 2),
        (|figures| figures.sleeps, 3),
    ];
    let columns = columns.map(|(of, places)| (medians(names.clone(), &rounds, of), places));
    for (i, name) in names.enumerate() {
        let cell = |(figures, places): &(Vec<Figure>, usize)| {
            let Figure { value, ratio, .. } = figures[i];
            format!("{value:.places$} ({ratio:.2})")
        };
        let cells = columns.each_ref().map(cell).join(" | ");
        println!("| {connections} | {name} | {cells} |");
    }
    Ok(())
}

fn more_descriptors() -> io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
