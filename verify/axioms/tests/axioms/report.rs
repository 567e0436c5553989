//! Reports on typed programs: the executions of the explorer, and what is said about them.

use std::collections::BTreeSet;

use axioms::{
    Execution, Machine, Model, Ordering, Program, Value, explore, json::Json, language::parse,
    report::report,
};

use crate::generate::{Chance, KINDS, Recipe};

fn field<'j>(json: &'j Json, name: &str) -> &'j Json {
    let Json::Object(fields) = json else {
        panic!("{name} of what is no object: {json}")
    };
    let found = fields.iter().find(|(field, _)| *field == name);
    &found.unwrap_or_else(|| panic!("no {name} in {json}")).1
}

fn list(json: &Json) -> &[Json] {
    let Json::List(items) = json else {
        panic!("no list: {json}")
    };
    items
}

fn is(json: &Json, name: &str) -> bool {
    *field(json, name) == Json::Bool(true)
}

fn sentences(report: &Json) -> String {
    field(report, "findings").to_string()
}

/// The outcomes with the mark, each as its values.
fn marked(report: &Json, mark: &str) -> Vec<String> {
    let outcomes = list(field(report, "outcomes")).iter();
    let marked = outcomes.filter(|outcome| is(outcome, mark));
    marked
        .map(|outcome| field(outcome, "values").to_string())
        .collect()
}

/// Two threads of two operations each on `x` and `y`, and the values of `a` and `b`.
fn litmus(threads: [&str; 2], never: &str) -> Json {
    let [a, b] = threads;
    let text = format!("atomic x, y\nthread a {{\n{a}\n}}\nthread b {{\n{b}\n}}\nnever {never}\n");
    report(&text)
}

#[test]
fn store_buffering_needs_seq_cst() {
    let with = |store: &str, load: &str| {
        let a = format!("x.store(1, {store}) r1 = y.load({load})");
        let b = format!("y.store(1, {store}) r2 = x.load({load})");
        litmus([&a, &b], "r1 == 0 && r2 == 0")
    };
    let weak = with("Release", "Acquire");
    assert!(!is(&weak, "right"));
    assert!(sentences(&weak).contains("no order of the operations explains it"));
    assert_eq!(marked(&weak, "weak"), ["[0,0]"]);
    assert_eq!(marked(&weak, "bad"), ["[0,0]"]);
    assert!(is(&with("SeqCst", "SeqCst"), "right"));
    assert!(marked(&with("SeqCst", "SeqCst"), "weak").is_empty());
}

#[test]
fn load_buffering_is_found_though_rc11_forbids_it() {
    let with = |store: &str| {
        let a = format!("r1 = x.load(Relaxed) y.store(1, {store})");
        let b = format!("r2 = y.load(Relaxed) x.store(1, {store})");
        litmus([&a, &b], "r1 == 1 && r2 == 1")
    };
    let relaxed = with("Relaxed");
    assert!(sentences(&relaxed).contains("RC11 forbids it as load buffering"));
    assert_eq!(marked(&relaxed, "buffered"), ["[1,1]"]);
    // A release does not order a load of another thread's store before it, but the machines do.
    assert!(is(&with("Release"), "right"));
}

#[test]
fn a_race_names_the_lines_of_the_missing_halves() {
    let with = |store: &str, load: &str| {
        report(&format!(
            "plain data atomic flag\nthread a {{\ndata = 1\nflag.store(1, {store})\n}}\nthread b {{\nseen = flag.load({load})\nif seen == 1 {{\ngot = data\n}}\n}}"
        ))
    };
    let said = |store, load| sentences(&with(store, load));
    assert!(is(&with("Release", "Acquire"), "right"));
    assert!(
        said("Relaxed", "Acquire")
            .contains("nothing orders line 3 and line 9; the release half of line 4 would")
    );
    assert!(said("Release", "Relaxed").contains("the acquire half of line 7 would"));
    assert!(
        said("Relaxed", "Relaxed")
            .contains("the release half of line 4 and the acquire half of line 7 would")
    );
    // The value is no excuse: a racy execution with the right value is marked as well.
    assert_eq!(
        marked(&with("Relaxed", "Relaxed"), "racy"),
        ["[1,0]", "[1,1]"]
    );
}

#[test]
fn threads_that_never_meet_are_said_not_to() {
    let report = report("plain d\nthread a {\nd = 1\n}\nthread b {\nr = d\n}\n");
    assert!(
        sentences(&report)
            .contains("line 3 and line 6; neither thread has seen anything of the other")
    );
}

/// The reader has seen the writer through a third thread.
#[test]
fn a_race_through_a_third_thread_names_the_halves_of_the_chain() {
    let with = |first: &str, second: &str| {
        let report = report(&format!(
            "plain d\natomic x, y\nthread a {{\nd = 1\nx.store(1, {first})\n}}\nthread b {{\np = x.load(Acquire)\nif p == 1 {{\ny.store(1, {second})\n}}\n}}\nthread c {{\nq = y.load(Acquire)\nif q == 1 {{\nr = d\n}}\n}}"
        ));
        sentences(&report)
    };
    assert_eq!(with("Release", "Release"), "[]");
    let through = "would have ordered them, through another thread";
    let release = |line| format!("the release half of line {line}");
    let (first, second) = (release(5), release(10));
    assert!(with("Relaxed", "Release").contains(&format!("; {first} {through}")));
    assert!(with("Release", "Relaxed").contains(&format!("; {second} {through}")));
    assert!(with("Relaxed", "Relaxed").contains(&format!("; {first} and {second} {through}")));
}

/// Of a program of more than eight operations, what counts is how many executions it has.
#[test]
fn a_program_is_as_long_as_its_executions_allow() {
    let seqlock = "
atomic s, x, y
thread writer {
  s.store(1, Relaxed)
  fence(Release)
  x.store(1, Relaxed)
  y.store(1, Relaxed)
  s.store(2, Release)
}
thread reader {
  a = s.load(Acquire)
  b = x.load(Relaxed)
  c = y.load(Relaxed)
  fence(Acquire)
  e = s.load(Relaxed)
}
never a == 0 && e == 0 && b == 1 && c == 0
never a == 0 && e == 0 && b == 0 && c == 1
";
    assert!(is(&report(seqlock), "right"));
    let torn = report(&seqlock.replace("  fence(Acquire)\n", ""));
    assert!(!is(&torn, "right"));
    let thread = |n: usize| {
        format!(
            "thread t{n} {{ {} }}\n",
            "x.fetch_sub(1, Relaxed) ".repeat(4)
        )
    };
    let report = report(&format!(
        "atomic x = 12\n{}",
        (0..3).map(thread).collect::<String>()
    ));
    let mistake = field(&report, "mistake").to_string();
    assert!(mistake.contains("more than 5000"), "{mistake}");
}

#[test]
fn a_mistake_is_all_there_is_to_report() {
    let report = report("atomic x\nthread a { x.store(1) }");
    assert_eq!(field(field(&report, "mistake"), "line"), &Json::Number(2));
    assert!(matches!(report, Json::Object(fields) if fields.len() == 1));
}

#[test]
fn many_outcomes_are_counted_and_the_bad_one_is_listed() {
    let exchange = |number: usize| format!("r{number} = x.fetch_add(1, Relaxed)\n");
    let thread = |number: usize| {
        format!(
            "thread {{ {}{} }}\n",
            exchange(2 * number),
            exchange(2 * number + 1)
        )
    };
    let threads: String = (0..4).map(thread).collect();
    let report = report(&format!(
        "atomic x\n{threads}never r7 == 0 && r4 == 7\n never r6 == 0 && r1 == 7"
    ));
    // Four pairs in order: 8! / 2^4.
    assert_eq!(field(&report, "count"), &Json::Number(2_520));
    let listed = list(field(&report, "outcomes")).len() as u64;
    assert_eq!(field(&report, "more"), &Json::Number(2_520 - listed));
    assert_eq!(
        marked(&report, "bad").len(),
        1,
        "the second can happen, the first cannot"
    );
}

#[test]
fn load_buffering_is_left_out_where_it_would_take_long() {
    let thread = |number: usize| {
        format!(
            "thread {{ a{number} = x.fetch_add({number}, Relaxed) b{number} = y.fetch_add({number}, Relaxed) }}\n"
        )
    };
    let program = |threads: usize| {
        let threads: String = (1..=threads).map(thread).collect();
        report(&format!("atomic x, y\n{threads}"))
    };
    assert!(is(&program(2), "complete"));
    assert!(!is(&program(3), "complete"));
}

type Values = Vec<Vec<Option<Value>>>;

/// All ends of a program that its report has to have.
fn ends(program: &Program) -> BTreeSet<Values> {
    let mut ends: BTreeSet<Values> = BTreeSet::new();
    let mut add = |one: &Execution| {
        ends.insert(one.registers().to_vec());
    };
    explore(program, Model::Rc11).iter().for_each(&mut add);
    let buffering = explore(program, Model::Buffering);
    let shown = buffering
        .iter()
        .filter(|one| Machine::ALL.iter().any(|machine| machine.allows(one)));
    shown.for_each(add);
    ends
}

#[test]
fn reports_on_random_programs_have_the_outcomes_of_the_explorer() {
    let mut chance = Chance::new(26);
    let mut racy = 0;
    for _ in 0..100 {
        let shapes = [(2, 4), (3, 2), (4, 2)];
        let text = Recipe::by_chance(&mut chance, &shapes, &KINDS, &Ordering::ALL).text();
        let typed = parse(&text).unwrap_or_else(|mistake| panic!("{mistake} in\n{text}"));
        let built = &typed.program;
        let report = report(&text);
        let columns = list(field(&report, "columns"));
        let names = typed
            .registers
            .iter()
            .map(|(name, _)| Json::from(name.as_str()));
        assert!(columns.len() >= names.len() && names.zip(columns).all(|(a, b)| a == *b));
        let value = |json: &Json| match json {
            Json::Number(value) => Value::try_from(*value).ok(),
            _ => None,
        };
        // The registers are in the order of the text, and so are those of the program.
        let found: BTreeSet<Values> = list(field(&report, "outcomes"))
            .iter()
            .map(|outcome| {
                let values = list(field(outcome, "values"));
                let mut threads: Values = built
                    .threads()
                    .iter()
                    .map(|thread| vec![None; thread.registers])
                    .collect();
                for ((_, register), json) in typed.registers.iter().zip(values) {
                    threads[register.thread()][register.index()] = value(json);
                }
                threads
            })
            .collect();
        assert_eq!(field(&report, "more"), &Json::Number(0), "{text}");
        assert_eq!(found, ends(built), "{text}");
        let races = |model| {
            explore(built, model)
                .iter()
                .any(|one| !one.races().is_empty())
        };
        if races(Model::Rc11) {
            racy += 1;
            assert!(!is(&report, "right"), "{text}");
        }
        assert!(is(&report, "right") || races(Model::Buffering), "{text}");
    }
    assert!((10..90).contains(&racy), "{racy} of 100 programs race");
}
