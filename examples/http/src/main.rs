//! An HTTP server on [hyper](https://docs.rs/hyper) 1, by `joint-hyper`.
//!
//! ```text
//! $ cargo run --release -p http-server --features tls
//! listening on http://127.0.0.1:8080
//! ```
//!
//! | file | what it has |
//! |---|---|
//! | `main.rs` | the command line, the answers, and the end by ctrl-c |
//! | `server.rs` | limits of time, and the protocol |
//! | `tls.rs` | certificates, and the handshake (feature `tls`) |
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | a greeting |
//! | `POST /echo` | the body of the request, up to 1 MiB |
//! | `GET /sleep/N` | after N milliseconds |
//!
//! SIGINT (ctrl-c) and SIGTERM end it: requests that have begun are answered within 10 seconds. A
//! second signal ends it at once.

mod server;
#[cfg(feature = "tls")]
mod tls;

use std::{error::Error, io, path::PathBuf, process::ExitCode, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming};
use joint_executor::{Executor, block_on, io::TcpListener, time::sleep};
use lexopt::{
    Arg::{Long, Short},
    ValueExt,
};
use server::{Answer, Limits, Protocol, serve, status};

const HELP: &str = "\
Serves HTTP.

Usage: http-server [OPTIONS]

  --address ADDRESS  listen here (default: 127.0.0.1:8080)
  --workers N        run on N threads (default: one per processor)
  --cert FILE        the certificate, with the feature `tls`
  --key FILE         its private key
  --limit N          answer 503 after N milliseconds (default: 30000)
  -h, --help         print this
  -V, --version      print the version
";

const MOST_BYTES: usize = 1 << 20;

/// The command line.
struct Options {
    address: String,
    workers: Option<usize>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    limits: Limits,
}

fn main() -> ExitCode {
    let done = Options::read().and_then(|options| options.map_or(Ok(()), run));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-server: {error}");
            ExitCode::from(2)
        }
    }
}

impl Options {
    /// Returns `None` if only the help or the version was asked for.
    fn read() -> Result<Option<Self>, Box<dyn Error>> {
        let mut options = Self {
            address: "127.0.0.1:8080".into(),
            workers: None,
            certificate: None,
            key: None,
            limits: Limits::default(),
        };
        let mut words = lexopt::Parser::from_env();
        while let Some(word) = words.next()? {
            match word {
                Long("address") => options.address = words.value()?.string()?,
                Long("workers") => options.workers = Some(words.value()?.parse()?),
                Long("cert") => options.certificate = Some(words.value()?.into()),
                Long("key") => options.key = Some(words.value()?.into()),
                Long("limit") => {
                    options.limits.answer = Duration::from_millis(words.value()?.parse()?);
                }
                Short('h') | Long("help") => {
                    print!("{HELP}");
                    return Ok(None);
                }
                Short('V') | Long("version") => {
                    println!("http-server {}", env!("CARGO_PKG_VERSION"));
                    return Ok(None);
                }
                word => return Err(word.unexpected().into()),
            }
        }
        Ok(Some(options))
    }

    fn protocol(&self) -> Result<Protocol, Box<dyn Error>> {
        match (&self.certificate, &self.key) {
            (None, None) => Ok(Protocol::Http),
            #[cfg(feature = "tls")]
            (Some(certificate), Some(key)) => {
                let acceptor = tls::acceptor(certificate, key)?;
                Ok(Protocol::Https(acceptor))
            }
            #[cfg(not(feature = "tls"))]
            (Some(_), Some(_)) => Err("build it with the feature `tls` for a certificate".into()),
            _ => Err("--cert and --key are used together".into()),
        }
    }
}

fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let protocol = options.protocol()?;
    let scheme = match options.certificate {
        None => "http",
        Some(_) => "https",
    };
    let mut builder = Executor::builder();
    if let Some(workers) = options.workers {
        builder = builder.workers(workers);
    }
    let executor = builder.build()?;
    let ended = block_on(executor.spawn(async move {
        // In here, so that this executor serves what it waits for.
        let stop = interrupted()?;
        let listener = TcpListener::bind(options.address).await?;
        println!("listening on {scheme}://{}", listener.local_addr()?);
        let ended = serve(listener, protocol, options.limits, handle, stop).await;
        io::Result::Ok(ended)
    }))?;
    for (count, how) in [(ended.early, "broke"), (ended.late, "took too long")] {
        if count > 0 {
            eprintln!("{count} connections {how}");
        }
    }
    Ok(())
}

async fn handle(request: Request<Incoming>) -> Answer {
    let path = request.uri().path();
    match (request.method(), path) {
        (&Method::GET, "/") => Response::new(Full::from("Hello from joint\n")),
        (&Method::POST, "/echo") => echo(request.into_body()).await,
        (&Method::GET, _) => match path.strip_prefix("/sleep/").map(str::parse) {
            Some(Ok(milliseconds)) => {
                sleep(Duration::from_millis(milliseconds)).await;
                Response::new(Full::from("Good morning\n"))
            }
            _ => status(StatusCode::NOT_FOUND),
        },
        _ => status(StatusCode::NOT_FOUND),
    }
}

async fn echo(body: Incoming) -> Answer {
    match Limited::new(body, MOST_BYTES).collect().await {
        Ok(body) => Response::new(Full::<Bytes>::new(body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => status(StatusCode::PAYLOAD_TOO_LARGE),
        // A chunk that is malformed, for example.
        Err(_) => status(StatusCode::BAD_REQUEST),
    }
}

/// Is ready at the first SIGINT or SIGTERM. The second ends the program.
#[cfg(unix)]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    use std::{
        os::unix::net,
        sync::{Arc, atomic::AtomicBool},
    };

    use joint_executor::io::UnixStream;
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        flag,
        low_level::pipe,
    };

    let (ours, theirs) = net::UnixStream::pair()?;
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 1, is_second.clone())?;
        flag::register(signal, is_second.clone())?;
        // The handler writes a byte.
        pipe::register(signal, theirs.try_clone()?)?;
    }
    let ours = UnixStream::try_from(ours)?;
    Ok(async move {
        // An error would be that of a descriptor that is closed, which nobody does.
        let _ = ours.read(&mut [0]).await;
        eprintln!("stopping; again to stop at once");
    })
}

#[cfg(not(unix))]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
