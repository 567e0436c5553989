//! The names of FoundationDB's tests of Flow, and which of ours are their counterparts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{CONFORMANCE, notes::Noted};

/// Each file of FoundationDB with the beginning of the names of its tests, and their ends,
/// separated by commas.
const FLOW: [(&str, &str, &str); 9] = [
    (
        "flow/CoroTests.cpp",
        "/flow/coro/",
        "cancel1, cancel2, trivial_actors, long_loop, buggifiedDelay, detached/completion, \
         detached/multipleAwaits, detached/errors, errorOr/ReadyValue, errorOr/ReadyError, \
         errorOr/AsyncValue, errorOr/AsyncError, ignore/ReadyValue, ignore/ReadyError, \
         errorOrIgnore/AsyncValue, errorOrIgnore/AsyncError, yieldedFuture/progress, \
         yieldedFuture/random, perf/yieldedFuture, chooseTwoActor, chooseCancelWaiting, \
         chooseCancelReady, chooseRepeatedCancel, raceReady, raceReadyFirstArgumentWinsTie, \
         raceSuccess, raceSuccessFirstArgument, raceError, raceCancel, raceStreamReady, \
         raceStreamSuccess, raceThreadFutureStreamReady, raceThreadFutureStreamSuccess, \
         raceThreadFutureStreamLoserCleanup, raceAsyncResultReady, raceAsyncResultSuccess, \
         raceAsyncResultError, quorumAsyncResultReady, quorumAsyncResultSuccess, \
         quorumAsyncResultVoid, quorumAsyncResultError, \
         quorumAsyncResultCancelsRemainingProducers, quorumAsyncResultDropCancelsProducers, \
         getAllFutureAsyncSuccess, getAllAsyncResultReady, getAllAsyncResultMoveReady, \
         getAllAsyncResultSuccess, getAllAsyncResultMoveSuccess, getAllAsyncResultError, \
         getAllAsyncResultMoveError, getAllAsyncResultErrorCancelsRemainingProducers, \
         getAllAsyncResultMoveErrorCancelsRemainingProducers, \
         getAllAsyncResultDropCancelsProducers, getAllAsyncResultMoveDropCancelsProducers, \
         AsyncResult/move, AsyncResult/releaseDestroysState, AsyncResult/noThrowOnCancel, \
         StrictFuture/move, PromiseStream/move, PromiseStream/move2, \
         noThrowOnCancel/normalCompletionVoid, noThrowOnCancel/normalCompletionValue, \
         noThrowOnCancel/awaitedFutureErrorRunsCatch, \
         noThrowOnCancel/reentrantCancelDuringCleanup, \
         noThrowOnCancel/sequentialAwaitsCancelSecond, noThrowOnCancel/futureStreamCancel, \
         noThrowOnCancel/threadFutureStreamCancel, AsyncVar/basic, AsyncMap/randomized, \
         YieldedAsyncMap/randomized, YieldedAsyncMap/basic, YieldedAsyncMap/cancel, \
         YieldedAsyncMap/cancel2, FlowMutex, generators, actor, perf/actor patterns, \
         perf/frameSizeBaseline",
    ),
    (
        "flow/ActorCollection.cpp",
        "/flow/actorCollection/",
        "chooseWhen, testCancel, testCancelOrder, testCancelReentrantSiblingCompletion, \
         testCancelReentrantCollection, testCancelReentrantNoErrorsCollection, testReady, \
         testReadyWhilePending, testReadyError, testQueuedReadyWhilePending, testAddStreamError, \
         testPendingErrorCancels, testCancelPromiseStream, testSamplingLineage",
    ),
    (
        "flow/genericactors.cpp",
        "/flow/genericactors/",
        "AsyncListener, DelayedAsyncVarPreservesReentrantInputChange, WaitForMost, \
         NotifiedCancellation, WaitForFirstReleasesCapturedState, ReadyRaceReleasesCapturedState, \
         HoldWhileReleasesCapturedState, ThrowErrorOr, TraceAfter, TransformErrors, \
         TransformError, WaitForAllReady, Timeout, Delayed, Trigger",
    ),
    (
        "fdbrpc/FlowTests.actor.cpp",
        "/flow/flow/",
        "cancel1, cancel2, nonserializable futures, networked futures, quorum, trivial futures, \
         trivial promises, trivial promisestreams, callbacks, promisestream callbacks, \
         promisestream multiple wait error, trivial actors, yieldedFuture/progress, \
         yieldedFuture/random, chooseTwoActor, AsyncVar/basic, AsyncMap/randomized, \
         YieldedAsyncMap/randomized, YieldedAsyncMap/basic, YieldedAsyncMap/cancel, \
         YieldedAsyncMap/cancel2, PromiseStream/move, PromiseStream/move2, FlowMutex",
    ),
    (
        "fdbrpc/FlowTests.actor.cpp",
        "/flow/",
        "actorcompiler/lineNumbers, buggifiedDelay, perf/yieldedFuture, flow/perf/actor patterns, \
         DeterministicRandom/SignedOverflow, thread/ThreadReturnPromiseStream_Simple, \
         thread/ThreadReturnPromiseStream_Seq, thread/ThreadReturnPromiseStream_Error, \
         IThreadPool/ThreadReturnPromiseStream_DestroyPromise",
    ),
    (
        "flow/CoroTests.cpp and fdbrpc/FlowTests.actor.cpp",
        "/fdbrpc/",
        "flow/wait_expression_after_cancel_coro, flow/wait_expression_after_cancel_flow, \
         waitValueOrSignal/peerDisconnect, waitValueOrSignal/noPeerFallback, \
         waitValueOrSignal/retryOnDisconnect",
    ),
    (
        "flow/Net2.cpp",
        "/flow/Net2/",
        "ThreadSafeQueue/Interface, ThreadSafeQueue/Threaded, onMainThreadFIFO",
    ),
    (
        "flow/IThreadPoolTest.cpp",
        "/flow/IThreadPool/",
        "NamedThread, ThreadReturnPromiseStream, ExplicitStop, ImplicitStop",
    ),
    (
        "flow/ThreadHelper.cpp",
        "/flow/safeThreadFutureToFuture/",
        "Send, Cancel",
    ),
];

const THREADS: &str = "any future and any stream may be used across threads, so there is no second type for it: \
                       see the test of the same name without `Thread`, and `threads.rs`";
const MAP: &str = "there is no map of variables: a `HashMap` of `AsyncVar`s is one";
const POOL: &str = "a pool of threads is `joint_executor::spawn_blocking`, and tested there";
const SPEED: &str = "it measures, and demands nothing: see the bench `flow`";
const NETWORK: &str = "it tests Flow's network protocol";

/// Names without a counterpart, by how they end, each with the reason.
const NOT_PORTED: [(&str, &str); 24] = [
    ("coro/raceThreadFutureStreamReady", THREADS),
    ("coro/raceThreadFutureStreamSuccess", THREADS),
    ("coro/raceThreadFutureStreamLoserCleanup", THREADS),
    ("coro/noThrowOnCancel/threadFutureStreamCancel", THREADS),
    ("/AsyncMap/randomized", MAP),
    ("/YieldedAsyncMap/randomized", MAP),
    ("/YieldedAsyncMap/basic", MAP),
    ("/YieldedAsyncMap/cancel", MAP),
    ("/YieldedAsyncMap/cancel2", MAP),
    ("perf/yieldedFuture", SPEED),
    ("perf/actor patterns", SPEED),
    (
        "perf/frameSizeBaseline",
        "it prints the sizes of coroutine frames; `cargo xtask size` compares what a task adds",
    ),
    (
        "actorCollection/testSamplingLineage",
        "a task has no lineage for a profiler; its span of the crate tracing is `joint-executor`'s",
    ),
    (
        "genericactors/TraceAfter",
        "it traces an event when a future ends; that is a statement after `await`",
    ),
    ("flow/networked futures", NETWORK),
    ("waitValueOrSignal/peerDisconnect", NETWORK),
    ("waitValueOrSignal/noPeerFallback", NETWORK),
    ("waitValueOrSignal/retryOnDisconnect", NETWORK),
    (
        "actorcompiler/lineNumbers",
        "there is no compiler of actors that could lose line numbers",
    ),
    (
        "DeterministicRandom/SignedOverflow",
        "it tests Flow's random numbers",
    ),
    ("IThreadPool/NamedThread", POOL),
    ("IThreadPool/ThreadReturnPromiseStream", POOL),
    ("IThreadPool/ExplicitStop", POOL),
    ("IThreadPool/ImplicitStop", POOL),
];

fn names() -> impl Iterator<Item = (&'static str, String)> {
    let named = |(file, prefix, ends): (&'static str, &'static str, &'static str)| {
        ends.split(", ")
            .map(move |end| (file, format!("{prefix}{end}")))
    };
    FLOW.into_iter().flat_map(named)
}

fn reason(name: &str) -> Option<&'static str> {
    let found = NOT_PORTED.iter().find(|(end, _)| name.ends_with(end));
    found.map(|(_, reason)| *reason)
}

fn by_name(tests: &[Noted]) -> BTreeMap<&str, Vec<&Noted>> {
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for test in tests {
        for name in &test.flow {
            by_name.entry(name.as_str()).or_default().push(test);
        }
    }
    by_name
}

/// The missing entries, and those that should not be there.
pub(crate) fn faults(tests: &[Noted]) -> Vec<String> {
    let by_name = by_name(tests);
    let known: BTreeSet<_> = names().map(|(_, name)| name).collect();
    let mut faults = Vec::new();
    for name in &known {
        match (by_name.contains_key(name.as_str()), reason(name)) {
            (false, None) => faults.push(format!("{name}: no test, and no reason for it")),
            (true, Some(_)) => faults.push(format!("{name}: a test, and a reason to have none")),
            _ => {}
        }
    }
    let unknown = by_name.keys().filter(|name| !known.contains(**name));
    faults.extend(unknown.map(|name| format!("{name}: Flow has no such test")));
    let is_of_none = |end: &&str| !known.iter().any(|name| name.ends_with(*end));
    let idle = NOT_PORTED.iter().map(|(end, _)| *end).filter(is_of_none);
    faults.extend(idle.map(|end| format!("{end}: a reason for no test of Flow's")));
    let is_silent = |test: &&Noted| test.flow.is_empty() && test.file.starts_with(CONFORMANCE);
    let silent = tests.iter().filter(is_silent);
    faults.extend(silent.map(|test| format!("{}: {}: of which test?", test.file, test.test)));
    faults
}

pub(crate) fn tables(tests: &[Noted]) -> String {
    let by_name = by_name(tests);
    let (mut ported, mut rest) = (0, String::new());
    let mut page = String::new();
    let mut last = "";
    for (file, name) in names() {
        if let Some(reason) = reason(&name) {
            writeln!(rest, "| `{name}` | {reason} |").expect("a string can be written to");
            continue;
        }
        if file != last {
            last = file;
            write!(
                page,
                "\n### {file}\n\n| Flow's test | ours | what differs |\n|---|---|---|\n"
            )
            .expect("a string can be written to");
        }
        ported += 1;
        let tests = by_name.get(name.as_str()).map_or(&[][..], |tests| tests);
        let links: Vec<_> = tests.iter().map(|test| test.link()).collect();
        let differs: Vec<_> = tests
            .iter()
            .filter_map(|test| test.differs.as_deref())
            .collect();
        let (links, differs) = (links.join("<br>"), differs.join("<br>"));
        writeln!(page, "| `{name}` | {links} | {differs} |").expect("a string can be written to");
    }
    let count = tests.iter().filter(|test| !test.flow.is_empty()).count();
    format!(
        "\n## FoundationDB's own tests\n\n{count} tests in `joint-flow/tests` are the counterparts of {ported} \
         tests of FoundationDB.\n{page}\n### Without a counterpart\n\n| Flow's test | why |\n|---|---|\n{rest}"
    )
}
