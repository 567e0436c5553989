//! The language of the page: what can be typed becomes the program that it says, and a mistake is
//! answered with its line and with what to write.

use axioms::{
    Location,
    language::parse,
    program::{Instruction, Kind, Operand, Step},
};

#[test]
fn a_typed_program_has_the_steps_that_it_says() {
    let text = "
        plain data = 3, other   // two locations
        atomic flag; atomic x
        thread one {
            data = 42; fence(seq_cst)
            let old = x.swap(2, Ordering::AcqRel)
            won = x.compare_exchange(old, 3, Release, Relaxed)
            left = x.fetch_sub(1, Release)
        }
        thread two {
            seen = flag.load(Acquire)
            if seen == 1 { got = data } else { x.fetch_add(5, relaxed) }
            if seen != 1 { x.store(seen, SeqCst) }
        }
        never seen == 1 && got != 42";
    let typed = parse(text).expect("it is a program");

    let program = &typed.program;
    let declared = program.locations().map(|at| program.variable(at));
    let declared: Vec<_> = declared
        .map(|it| (&*it.name, it.is_atomic, it.initial))
        .collect();
    let locations = [
        ("data", false, 3),
        ("other", false, 0),
        ("flag", true, 0),
        ("x", true, 0),
    ];
    assert_eq!(declared, locations);
    let words = |step: &&Step| {
        let name = |at: Location| program.variable(at).name.clone();
        let operand = match step.operand {
            Some(Operand::Constant(value)) => value.to_string(),
            Some(Operand::Register(from)) => format!("r{}", from.index()),
            None => "-".to_owned(),
        };
        let place = step.location.map_or_else(String::new, name);
        let into = step
            .into
            .map_or_else(String::new, |into| format!("r{} = ", into.index()));
        format!(
            "{into}{:?} {place} {operand} {:?}",
            step.kind, step.ordering
        )
    };
    assert_eq!(
        program.steps().iter().map(words).collect::<Vec<_>>(),
        [
            "Write data 42 None",
            "Fence  - Some(SeqCst)",
            "r0 = Swap x 2 Some(AcqRel)",
            "r1 = CompareExchange x 3 Some(Release)",
            "r2 = FetchSub x 1 Some(Release)",
            "r0 = Load flag - Some(Acquire)",
            "r1 = Read data - None",
            "r2 = FetchAdd x 5 Some(Relaxed)",
            "Store x r0 Some(SeqCst)",
        ]
    );
    let branches = program.threads()[1].code[1..]
        .iter()
        .map(|branch| match branch {
            Instruction::Branch {
                equals,
                then,
                otherwise,
                ..
            } => (*equals, then.len(), otherwise.len()),
            Instruction::Step(step) => panic!("{step:?}"),
        });
    assert_eq!(branches.collect::<Vec<_>>(), [(1, 1, 1), (1, 0, 1)]);
    let names: Vec<_> = typed
        .registers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["old", "won", "left", "seen", "got"]);
    assert_eq!(
        typed.lines,
        [[5, 5, 6, 7, 8].to_vec(), [11, 12, 12, 13].to_vec()]
    );
    assert_eq!(typed.never[0].text, "seen == 1 && got != 42");
}

#[test]
fn a_thread_without_a_name_is_numbered() {
    let typed = parse("atomic x thread { x.load(Relaxed) } thread { x.store(1, Relaxed) }");
    let program = typed.expect("it is a program").program;
    let names: Vec<_> = program
        .threads()
        .iter()
        .map(|thread| thread.name.as_str())
        .collect();
    assert_eq!(names, ["thread 1", "thread 2"]);
    assert_eq!(program.steps()[0].kind, Kind::Load);
}

/// Texts, each with the line and the words of the answer. `\n` begins a line.
type Mistakes = &'static str;

/// Checks that each text, with `around` in the place of `{}`, is answered so.
fn assert_answered(mistakes: Mistakes, around: &str) {
    for row in mistakes.lines().skip(1) {
        let (text, answer) = row.split_once("=> ").expect("an answer");
        let (line, message) = answer.split_once(": ").expect("a line and words");
        let text = around.replace("{}", &text.trim().replace("\\n", "\n"));
        let mistake = parse(&text).expect_err(row);
        assert!(mistake.message.contains(message), "{row}: {mistake}");
        assert_eq!(mistake.line.to_string(), line, "{row}: {mistake}");
    }
}

/// In a thread, after `atomic x, y` and `plain data` in line 1.
const IN_A_THREAD: Mistakes = r"
    x.store(1) => 2: write `x.store(1, Release)`
    x.store(Release) => 2: nothing above is called Release
    x.store(1, Acquire) => 2: a store is Relaxed, Release or SeqCst, not Acquire: write `x.store(1, Release)`
    r = x.load(Release) => 2: a load is Relaxed, Acquire or SeqCst, not Release: write `x.load(Acquire)`
    r = x.load() => 2: an ordering is missing before `)`: write `x.load(Acquire)`
    r = x.load(Acqire) => 2: an ordering is missing before `Acqire`
    r = x.store(1, Release) => 2: a store reads nothing
    fence(Relaxed) => 2: a fence is Acquire, Release, AcqRel or SeqCst
    r = x => 2: x is atomic: write `r = x.load(Acquire)`
    x = 1 => 2: x is atomic: write `x.store(1, Release)`
    data.store(1, Release) => 2: data is plain: write `data = 1` or `r = data`
    data = x => 2: x is a location: read it into a register first, as in `r = x.load(Acquire)`
    x.compare_and_swap(0, 1) => 2: there is no compare_and_swap: write `x.load(Acquire)`
    x.compare_exchange(0, 1) => 2: `,` is missing before `)`: write `x.compare_exchange(0, 1, AcqRel, Acquire)`
    x.compare_exchange(0, 1, AcqRel) => 2: `,` is missing before `)`: write `x.compare_exchange(0, 1, AcqRel, Acquire)`
    x.compare_exchange(0, 1, AcqRel, Release) => 2: an exchange that fails is Relaxed, Acquire or SeqCst, not Release
    z.store(1, Release) => 2: z is not declared: write `atomic z` or `plain z` above the threads
    r = 1 => 2: 1 is no location: a register is filled by a read
    r = data\nr = data => 3: r is filled in line 2 already
    x => 2: what to do with x is missing
    data => 2: what to do with data is missing
    if q == 1 { } => 2: nothing above is called q
    r = data\nif r { } => 3: a comparison is missing: write for example `r == 1`
    r = data\nif r == 1 data = 1 => 3: `{` is missing before `data`: write `if r == 1 {`
    r = data\nif r == 1 {\ns = data\n}\ndata = s => 6: s is filled only in the branch above
    while 1 { } => 2: there are no loops
    data = -1 => 2: - has no meaning here
    data = 5000000000 => 2: 5000000000 is no number: write one from 0 to 4294967295
    thread b { => 2: thread cannot be inside of a block: write `}` before it
";

#[test]
fn a_mistake_in_a_thread_is_answered_with_line_and_remedy() {
    assert_answered(IN_A_THREAD, "atomic x, y plain data thread a {\n{}\n}\n");
}

const AROUND: Mistakes = r"
     => 1: there is no thread yet: write `thread name {`
    atomic x => 1: there is no thread yet
    atomic x\nx.store(1, Release) => 2: x cannot be here: write `atomic x`
    atomic x, x\n => 1: x is declared already
    atomic 1\n => 1: 1 cannot be the name of a location
    atomic if\n => 1: if cannot be the name of a location
    atomic a, b, c, d, e, f, g\n => 1: a program has at most 6 locations
    thread a { }\nthread a { } => 2: there is a thread a already
    thread { } thread { } thread { } thread { }\nthread { } => 2: at most 4 threads
    thread a {\n\n => 1: the text ends here, where `}` at the end of the block is missing
    atomic x\nnever r == 1\nthread a { r = x.load(Relaxed) } => 2: write `never` after the threads
    atomic x thread a { r = x.load(Relaxed) }\nnever r = 1 => 2: a comparison is missing
    atomic x thread a { r = x.load(Relaxed) }\nnever r == x => 2: x is no number
    plain d thread a { r = d }\nthread b { d = r } => 2: r is a register of another thread
";

#[test]
fn a_mistake_around_threads_is_answered_with_line_and_remedy() {
    assert_answered(AROUND, "{}");
}
