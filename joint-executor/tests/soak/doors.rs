//! The doors: how a place goes through one, and what the code inside of it does.

use std::{any::Any, future::ready};

use joint::block_on;

use crate::prelude::*;
use crate::{hosted, others, owners, strangers};

pub(crate) type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A door: a future, which waits where it can be awaited, and is driven by `block_on` elsewhere.
pub(crate) type Door = for<'a> fn(&'a Node, &'a Here) -> Boxed<'a>;

/// Makes a door of a function that blocks.
macro_rules! blocking {
    ($name:literal, $f:path) => {
        ($name, |node, here| {
            $f(node, here);
            Box::pin(ready(()))
        })
    };
}

/// Makes a door of an asynchronous function.
macro_rules! awaited {
    ($name:literal, $f:path) => {
        ($name, |node, here| Box::pin($f(node, here)))
    };
}

pub(crate) const DOORS: &[(&str, Door)] = &[
    blocking!("bound_block_on", hosted::block_on),
    blocking!("bound_enter", hosted::enter),
    blocking!("bound_step", hosted::step),
    awaited!("task", owners::task),
    blocking!("local", owners::local),
    blocking!("block_on", owners::block_on),
    blocking!("install", owners::install),
    blocking!("scope", owners::scope),
    awaited!("set", owners::set),
    awaited!("spawn_local", owners::spawn_local),
    blocking!("spawn", owners::spawn),
    awaited!("spawn_blocking", others::spawn_blocking),
    blocking!("thread", others::thread),
    awaited!("value", others::value),
    blocking!("apart", others::apart),
    #[cfg(all(unix, feature = "io"))]
    awaited!("pipe", others::pipe),
    blocking!("ended", others::ended),
    blocking!("leave", others::leave),
    blocking!("pick", others::pick),
    blocking!("answer", others::answer),
    blocking!("waker", strangers::waker),
    blocking!("drop", strangers::dropped),
    blocking!("hook", strangers::hook),
    blocking!("wait", strangers::wait),
];

/// The payload of every panic that a program means.
pub(crate) struct Meant;

/// How code inside a door ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Value,
    Panic,
    /// With a value whose drop panics.
    Bomb,
}

impl Node {
    /// Which variant of its door it is, of 8.
    pub(crate) fn variant(&self) -> usize {
        self.n % 8
    }

    pub(crate) fn end(&self) -> End {
        match self.n / 8 {
            0 | 1 => End::Value,
            2 => End::Panic,
            _ => End::Bomb,
        }
    }
}

/// What a body returns.
pub(crate) struct Output {
    _token: Token,
    is_bomb: bool,
}

impl Output {
    pub(crate) fn defuse(mut self) {
        self.is_bomb = false;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A second panic would end the process by std's rule.
        if self.is_bomb && !thread::panicking() {
            resume_unwind(Box::new(Meant));
        }
    }
}

/// Goes through all doors inside one, as a blocking call.
pub(crate) fn perform(nodes: &[Node], here: &Here) {
    let here = Here {
        is_driven: false,
        ..here.clone()
    };
    for node in nodes {
        go(node, &here, |door| block_on(door));
    }
    here.check();
}

/// Goes through a door, and demands that no panic comes out of it, and that the code is who it was.
fn go<R>(node: &Node, here: &Here, drive: impl FnOnce(Boxed<'_>) -> R) -> Option<R> {
    here.check();
    let inside = here.inside(node.name());
    let through = || {
        let (_, door) = DOORS[node.door];
        catch_unwind(AssertUnwindSafe(|| drive(door(node, &inside))))
    };
    let outcome = here.world.open(&inside.path, through);
    here.check();
    if let Err(payload) = &outcome {
        here.demand(false, ("panic", node.name(), reason(&**payload)));
    }
    outcome.ok()
}

/// As [`perform`], where doors can be awaited.
async fn pass(nodes: &[Node], here: &Here) {
    for node in nodes {
        here.check();
        let (_, door) = DOORS[node.door];
        let inside = Here {
            is_driven: here.is_driven,
            ..here.inside(node.name())
        };
        door(node, &inside).await;
        if node.n % 2 == 1 {
            yield_now().await;
        }
        here.check();
    }
}

/// The future of a task: goes through all doors inside of `node`.
pub(crate) fn body(node: &Node, here: Here) -> impl Future<Output = Output> + Send + 'static {
    let (token, output) = (here.token(), here.token());
    let (nodes, end) = (node.inside.clone(), node.end());
    async move {
        token.run();
        pass(&nodes, &here).await;
        finish(end, output)
    }
}

/// The same as a function that blocks.
pub(crate) fn function(node: &Node, here: Here) -> impl FnOnce() -> Output + Send + 'static {
    let (token, output) = (here.token(), here.token());
    let (nodes, end) = (node.inside.clone(), node.end());
    move || {
        token.run();
        perform(&nodes, &here);
        finish(end, output)
    }
}

fn finish(end: End, token: Token) -> Output {
    match end {
        End::Panic => resume_unwind(Box::new(Meant)),
        End::Value | End::Bomb => Output {
            _token: token,
            is_bomb: end == End::Bomb,
        },
    }
}

/// Demands that this is how code with that end ends.
pub(crate) fn check_result(here: &Here, node: &Node, result: Result<Output, JoinError>) {
    let (output, how) = match result {
        Ok(output) => (Some(output), "an output".to_owned()),
        Err(JoinError::Cancelled(_)) => (None, "cancelled".to_owned()),
        Err(JoinError::Panicked(payload)) => (None, reason(&*payload.into_inner())),
    };
    let expected = match node.end() {
        End::Panic => "meant",
        End::Value | End::Bomb => "an output",
    };
    here.demand(how == expected, ("result", &how, expected));
    if let Some(output) = output {
        output.defuse();
    }
}

/// Demands that a call inside which code with that end ran came back as it ends.
pub(crate) fn check_call(here: &Here, node: &Node, call: impl FnOnce() -> Output) {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(output) => check_result(here, node, Ok(output)),
        Err(payload) => {
            let (is_right, how) = (node.end() == End::Panic, reason(&*payload));
            here.demand(is_right && how == "meant", ("result", how, node.end()));
        }
    }
}

fn reason(payload: &dyn Any) -> String {
    if payload.is::<Meant>() {
        return "meant".to_owned();
    }
    match payload.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => format!("{:?}", payload.downcast_ref::<&str>()),
    }
}

/// Does with a handle what the node says.
pub(crate) async fn settle(handle: JoinHandle<Output>, node: &Node, here: &Here) {
    match node.variant() {
        0..=2 => check_result(here, node, handle.result().await),
        3 => drop(handle),
        4 => handle.detach(),
        5 => {
            handle.abort();
            handle.detach();
        }
        6 => {
            handle.abort();
            // It may have ended before, in any way.
            if let Ok(output) = handle.result().await {
                output.defuse();
            }
        }
        _ => here.leave(Left::Handle(handle)),
    }
}
