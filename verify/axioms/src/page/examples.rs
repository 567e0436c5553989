//! Programs to start from.

/// A program of the page.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name in an address.
    pub id: &'static str,
    /// Its name in the list.
    pub title: &'static str,
    /// The lesson that it belongs to: a file in `verify/course/lessons`, and the title.
    pub lesson: (&'static str, &'static str),
    /// The program.
    pub text: &'static str,
}

const HALVES: (&str, &str) = ("05-the-halves.md", "Lesson 5: what each half is for");
const SEQ_CST: (&str, &str) = ("06-why-not-seq-cst.md", "Lesson 6: why not SeqCst");
const BRANCH: (&str, &str) = ("07-the-branch.md", "Lesson 7: why the branch is no barrier");
const HANDSHAKE: (&str, &str) = (
    "10-store-load.md",
    "Lesson 10: a handshake that needs a fence",
);
const EXCHANGE: (&str, &str) = ("04-the-exchange.md", "Lesson 4: the exchange");

/// The programs of the page. The first one is shown until something is typed.
pub const EXAMPLES: [Example; 10] = [
    Example {
        id: "message",
        title: "a message (MP)",
        lesson: HALVES,
        text: "\
// Is the data there with the flag?
plain data
atomic flag

thread writer {
  data = 42
  flag.store(1, Relaxed)
}
thread reader {
  seen = flag.load(Acquire)
  if seen == 1 {
    got = data
  }
}
",
    },
    Example {
        id: "branch",
        title: "a branch is no barrier",
        lesson: BRANCH,
        text: "\
// Does the branch keep the read back?
plain data
atomic flag

thread writer {
  data = 42
  flag.store(1, Release)
}
thread reader {
  seen = flag.load(Relaxed)
  if seen == 1 {
    got = data
  }
}
",
    },
    Example {
        id: "exchange",
        title: "the exchange",
        lesson: EXCHANGE,
        text: "\
// The second to swap reads.
plain result, waker
atomic word

thread completer {
  result = 7
  found = word.swap(1, AcqRel)
  if found == 2 {
    wake = waker
  }
}
thread waiter {
  waker = 9
  state = word.swap(2, AcqRel)
  if state == 1 {
    got = result
  }
}
never found == 0 && state == 0
",
    },
    Example {
        id: "SB",
        title: "store buffering (SB)",
        lesson: HANDSHAKE,
        text: "\
// Each calls, and looks for the other.
atomic x, y

thread a {
  x.store(1, Release)
  r1 = y.load(Acquire)
}
thread b {
  y.store(1, Release)
  r2 = x.load(Acquire)
}
never r1 == 0 && r2 == 0
",
    },
    Example {
        id: "fences",
        title: "store buffering with fences",
        lesson: HANDSHAKE,
        text: "\
// Each fence comes before a load.
atomic x, y

thread a {
  x.store(1, Relaxed)
  fence(SeqCst)
  r1 = y.load(Relaxed)
}
thread b {
  y.store(1, Relaxed)
  fence(SeqCst)
  r2 = x.load(Relaxed)
}
never r1 == 0 && r2 == 0
",
    },
    Example {
        id: "LB",
        title: "load buffering (LB)",
        lesson: BRANCH,
        text: "\
// Can both loads see later stores?
atomic x, y

thread a {
  r1 = x.load(Relaxed)
  y.store(1, Relaxed)
}
thread b {
  r2 = y.load(Relaxed)
  x.store(1, Relaxed)
}
never r1 == 1 && r2 == 1
",
    },
    Example {
        id: "IRIW",
        title: "independent reads (IRIW)",
        lesson: SEQ_CST,
        text: "\
// Do both readers see one order?
atomic x, y

thread a { x.store(1, Release) }
thread b { y.store(1, Release) }
thread c {
  r1 = x.load(Acquire)
  r2 = y.load(Acquire)
}
thread d {
  r3 = y.load(Acquire)
  r4 = x.load(Acquire)
}
never r1 == 1 && r2 == 0 && r3 == 1 && r4 == 0
",
    },
    Example {
        id: "2+2W",
        title: "two writers (2+2W)",
        lesson: SEQ_CST,
        text: "\
// Can both first stores come last?
atomic x, y

thread a {
  x.store(1, Release)
  y.store(2, Release)
}
thread b {
  y.store(1, Release)
  x.store(2, Release)
}
never x == 1 && y == 1
",
    },
    Example {
        id: "CoRR",
        title: "one location (CoRR)",
        lesson: HALVES,
        text: "\
// A newer value is never unseen.
atomic x

thread writer {
  x.store(1, Relaxed)
  x.store(2, Relaxed)
}
thread reader {
  r1 = x.load(Relaxed)
  r2 = x.load(Relaxed)
}
never r1 == 2 && r2 == 1
never r1 == 1 && r2 == 0
",
    },
    Example {
        id: "count",
        title: "counting together",
        lesson: EXCHANGE,
        text: "\
// An addition is one step.
atomic count

thread a {
  r1 = count.fetch_add(1, Relaxed)
}
thread b {
  r2 = count.fetch_add(1, Relaxed)
}
thread c {
  r3 = count.fetch_add(1, Relaxed)
}
never count != 3
",
    },
];
