//! The program, asked by curl, where there is one, and by clients that make mistakes.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    process::{Child, Command, Stdio},
};

/// The program, which is killed when this is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_http-server"))
            .args(["--address", "127.0.0.1:0", "--workers", "2"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line.strip_prefix("listening on ").expect(&line).trim();
        let url = url.to_owned();
        Self { child, url }
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
    }

    /// Waits for the end, and returns what the program has printed to standard error.
    fn ended(mut self) -> String {
        let mut complaints = String::new();
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut complaints).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {complaints}");
        complaints
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn there_is_curl() -> bool {
    let is_there = Command::new("curl").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no curl");
    }
    is_there
}

/// The output of curl: the body, and the status on a line of its own.
fn asked(arguments: &[&str]) -> String {
    let options = "--silent --show-error --max-time 60 --noproxy * --write-out %{http_code}";
    let mut curl = Command::new("curl");
    let output = curl.args(options.split(' ')).args(arguments).output();
    let output = output.unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// Sends the bytes, shuts down the client's direction, and returns the program's answer.
#[test]
fn clients_that_make_mistakes_get_a_status_and_no_line_each() {
    let server = Server::start(&[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let chunked = |body: &str| {
        format!("POST /echo HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n{body}")
    };
    let mebibyte = "x".repeat(1 << 20);
    for (said, status) in [
        ("GET / HTTP/1.1\r\nhost: t\r\n\r\n".to_owned(), "200 OK"),
        (chunked("2\r\nab\r\n0\r\n\r\n"), "200 OK"),
        (chunked("nonsense\r\n"), "400 Bad Request"),
        (chunked("2\r\nab"), "400 Bad Request"),
        (
            chunked(&format!("100001\r\nx{mebibyte}\r\n0\r\n\r\n")),
            "413 Payload Too Large",
        ),
        ("nonsense\r\n\r\n".to_owned(), "400 Bad Request"),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        // The rest of a body that is too long is never read, so that the end is a reset.
        let _ = stream.read_to_string(&mut answer);
        let expected = format!("HTTP/1.1 {status}\r\n");
        assert!(answer.starts_with(&expected), "{answer}");
    }
    server.signal("INT");
    let complaints = server.ended();
    let lines: Vec<_> = complaints.lines().collect();
    assert_eq!(lines[0], "stopping; again to stop at once");
    let mut others = lines[1..].iter();
    assert!(
        others.all(|line| line.ends_with(" connections broke")),
        "{complaints}"
    );
    assert!(lines.len() <= 2, "{complaints}");
}

#[test]
fn curl_gets_the_right_answers() {
    if !there_is_curl() {
        return;
    }
    for signal in ["INT", "TERM"] {
        let server = Server::start(&[]);
        let at = |path: &str| format!("{}{path}", server.url);
        assert_eq!(asked(&[&at("/")]), "Hello from joint\n200");
        assert_eq!(asked(&["--data", "a=b", &at("/echo")]), "a=b200");
        assert_eq!(asked(&[&at("/sleep/1")]), "Good morning\n200");
        assert_eq!(asked(&[&at("/nothing")]), "404 Not Found\n404");
        // Two requests of one connection.
        let twice = asked(&[&at("/"), &at("/")]);
        assert_eq!(twice, "Hello from joint\n200Hello from joint\n200");
        server.signal(signal);
        assert_eq!(server.ended(), "stopping; again to stop at once\n");
    }
}

#[test]
fn a_slow_answer_is_503_and_its_connection_goes_on() {
    if !there_is_curl() {
        return;
    }
    let server = Server::start(&["--limit", "20"]);
    let at = |path: &str| format!("{}{path}", server.url);
    let both = asked(&[&at("/sleep/3600000"), &at("/")]);
    assert_eq!(both, "503 Service Unavailable\n503Hello from joint\n200");
    server.signal("TERM");
    assert_eq!(server.ended(), "stopping; again to stop at once\n");
}

#[cfg(feature = "tls")]
#[test]
fn curl_gets_the_right_answers_by_tls() {
    if !there_is_curl() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("joint-http-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (chain, key) = (file("chain.pem"), file("key.pem"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    std::fs::write(&chain, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();

    let server = Server::start(&["--cert", &chain, "--key", &key]);
    let port = server.url.rsplit(':').next().unwrap();
    let at = |path: &str| format!("https://localhost:{port}{path}");
    let address = format!("localhost:{port}:127.0.0.1");
    let trust = ["--cacert", &chain, "--resolve", &address];
    let asked = |arguments: &[&str]| asked(&[&trust[..], arguments].concat());
    assert_eq!(asked(&[&at("/")]), "Hello from joint\n200");
    // Many records of TLS each way.
    let body = "0123456789abcde\n".repeat(1 << 15);
    let sent = file("body");
    std::fs::write(&sent, &body).unwrap();
    let echo = asked(&["--data-binary", &format!("@{sent}"), &at("/echo")]);
    assert!(
        echo.strip_suffix("200") == Some(&*body),
        "{} bytes",
        echo.len()
    );
    server.signal("TERM");
    assert_eq!(server.ended(), "stopping; again to stop at once\n");
    std::fs::remove_dir_all(&folder).unwrap();
}
