//! Opens one local file in a headless Chromium, and returns the resulting page.

use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
/// Its place on macOS, where applications are not in the path.
const MACOS: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
/// It takes a second or two, or more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A page after its scripts have run.
pub(super) struct Opened {
    pub(super) document: String,
    /// The browser's log, which includes the page's console.
    pub(super) log: String,
}

/// The browser that `CHROMIUM` names, or the first one in the path.
pub(super) fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let in_path = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    in_path
        .chain([PathBuf::from(MACOS)])
        .find(|file| file.is_file())
}

/// Opens `file`. The browser keeps its profile in `profile`, because the user's may be in use.
pub(super) fn open(browser: &Path, file: &Path, profile: &Path) -> Result<Opened, String> {
    let started = Command::new(browser)
        .args(["--headless", "--disable-gpu", "--dump-dom"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=30000"])
        // A test changes the address more often than a reader.
        .arg("--disable-ipc-flooding-protection")
        // The sandbox does not start as root or in most containers, and the page is the project's
        // own.
        .arg("--no-sandbox")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    started
        .map_err(|error| format!("could not start {}: {error}", browser.display()))
        .and_then(finished)
}

fn finished(mut child: Child) -> Result<Opened, String> {
    let outputs = child.stdout.take().zip(child.stderr.take());
    let (stdout, stderr) = outputs.ok_or("the browser has no outputs")?;
    let read = both(stdout, stderr);
    if read.is_err() {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let opened = read?;
    if ended.success() {
        Ok(opened)
    } else {
        Err(format!("the browser failed: {ended}\n{}", opened.log))
    }
}

/// Reads both outputs at once, because either can fill up, and with a time limit.
fn both(stdout: ChildStdout, stderr: ChildStderr) -> Result<Opened, String> {
    let (document, log) = (text(stdout), text(stderr));
    let late = |_| {
        format!(
            "the browser took more than {} s or stopped",
            PATIENCE.as_secs()
        )
    };
    Ok(Opened {
        document: document.recv_timeout(PATIENCE).map_err(late)?,
        log: log.recv_timeout(PATIENCE).map_err(late)?,
    })
}

fn text(mut from: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if from.read_to_end(&mut bytes).is_ok() {
            // If this took too long, there is no receiver any more.
            let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
        }
    });
    receive
}
