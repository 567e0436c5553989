//! An execution as text: lanes side by side, time downward, arrows from stores to reads on the
//! left.

use super::{
    arrows::{Arrow, arrows, margin},
    counterexample::Counterexample,
    event::{Event, Source, Step, Trace},
    fold,
    verdict::Verdict,
};

/// A place in the source. cargo gives the compiler whole paths for packages outside of the
/// workspace, which are shown from the package's folder on.
pub(super) fn source(source: Source) -> String {
    format!("{}:{}", path(source.file()), source.line())
}

fn path(file: &str) -> &str {
    let package = file.starts_with('/').then(|| file.rfind("/src/")).flatten();
    let folder = package.and_then(|src| file[..src].rfind('/'));
    folder.map_or(file, |folder| &file[folder + 1..])
}

pub(super) fn place(trace: &Trace, place: Option<usize>) -> String {
    let Some(index) = place else {
        return "an unrecorded place".to_owned();
    };
    let shared = &trace.places[index];
    shared.name.clone().unwrap_or_else(|| {
        // Locations of the same type are numbered from 1.
        let same = trace.places[..=index]
            .iter()
            .filter(|other| other.kind == shared.kind);
        format!("{}#{}", shared.kind, same.count())
    })
}

/// A value of an atomic. Addresses are numbered, so that runs can be compared.
pub(super) fn value(trace: &Trace, place: Option<usize>, value: u64) -> String {
    match place.map_or("", |place| trace.places[place].kind) {
        "AtomicPtr" => {}
        "AtomicBool" => return (value != 0).to_string(),
        kind if kind.starts_with("AtomicI") => return (value as i64).to_string(),
        _ => return value.to_string(),
    }
    if let Some((_, name)) = trace.values.iter().find(|(named, _)| *named == value) {
        return name.clone();
    }
    match value {
        0 => "null".to_owned(),
        1..4096 => value.to_string(),
        _ => format!("pointer {}", pointer_number(trace, value)),
    }
}

/// The number of an address, in the order in which addresses first appear.
fn pointer_number(trace: &Trace, value: u64) -> usize {
    let mut seen = Vec::new();
    let values = trace
        .events
        .iter()
        .flat_map(|event| [event.read, event.wrote()]);
    for address in values.flatten().filter(|&address| address >= 4096) {
        if !seen.contains(&address) {
            seen.push(address);
        }
    }
    seen.iter()
        .position(|&address| address == value)
        .map_or(0, |index| index + 1)
}

/// The kind of the operation, as a noun.
pub(super) fn verb(event: &Event) -> &'static str {
    match event.step {
        Step::Load => "load",
        Step::Store(_) => "store",
        Step::Update { name, .. } => name,
        Step::Exchange { .. } => "compare_exchange",
        _ => "access",
    }
}

fn step(of: &Counterexample, index: usize) -> String {
    let event = &of.trace.events[index];
    let steps = of.steps_in_row(index);
    if steps > 1 {
        return format!(
            "… {steps} steps in {}",
            fold::library(path(event.source.file()))
        );
    }
    let name = place(&of.trace, event.place);
    let show = |bits| value(&of.trace, event.place, bits);
    let read = event.read.map(show).unwrap_or_else(|| "?".to_owned());
    let order = event.order;
    match event.step {
        Step::Made(first) if is_atomic(&of.trace, event) => {
            format!("{name}: made, {}", show(first))
        }
        Step::Made(_) => format!("{name}: made"),
        Step::Load => format!("{name}.load({order:?}) = {read}"),
        Step::Store(new) => format!("{name}.store({}, {order:?})", show(new)),
        Step::Update {
            name: verb,
            operand,
            ..
        } => {
            format!("{name}.{verb}({}, {order:?}) = {read}", show(operand))
        }
        Step::Exchange { current, new, .. } => {
            let (current, new) = (show(current), show(new));
            format!("{name}.compare_exchange({current}, {new}, {order:?}) = {read}")
        }
        Step::Fence => format!("fence({order:?})"),
        Step::Read => format!("{name}: read"),
        Step::Write => format!("{name}: write"),
        Step::Exclusive(_) => format!("{name}: exclusive access"),
        Step::Lock if of.is_read_write(event) => format!("{name}.write()"),
        Step::Lock => format!("{name}.lock()"),
        Step::ReadLock => format!("{name}.read()"),
        Step::Unlock | Step::ReadUnlock => format!("{name}: unlock"),
        Step::Wait | Step::Await => format!("{name}.wait()"),
        Step::Signal => format!("{name}.notify()"),
        Step::Send => format!("{name}: send"),
        Step::Receive => format!("{name}: receive"),
        Step::Notify { all: false } => format!("{name}.notify_one()"),
        Step::Notify { all: true } => format!("{name}.notify_all()"),
        Step::Clone(_) => format!("{name}: clone"),
        Step::Drop(_) => format!("{name}: drop"),
        Step::IntoRaw(_) => format!("{name}: into_raw"),
        Step::Park => "park()".to_owned(),
        Step::Unpark(lane) => format!(
            "unpark({})",
            lane.map_or("?".to_owned(), |lane| of.thread(lane))
        ),
        Step::Spawn(token) => format!("spawn {}", lane_of(of, token)),
        Step::Start(_) => "starts".to_owned(),
        Step::End => "ends".to_owned(),
        Step::Join(token) => format!("join {}", lane_of(of, token)),
    }
}

fn is_atomic(trace: &Trace, event: &Event) -> bool {
    event
        .place
        .is_some_and(|place| trace.places[place].kind.starts_with("Atomic"))
}

pub(super) fn lane_of(of: &Counterexample, token: usize) -> String {
    let start = of
        .trace
        .events
        .iter()
        .find(|event| event.step == Step::Start(token));
    start.map_or("a thread".to_owned(), |event| of.thread(event.lane))
}

pub(super) fn render(of: &Counterexample) -> String {
    format!(
        "{}\n{}\n\nThe model: {}\n",
        picture(of),
        of.sentence(),
        of.first_line()
    )
}

/// The lanes, and what the marks mean.
pub(super) fn picture(of: &Counterexample) -> String {
    let rows = of.shown();
    let arrows = arrows(of, &rows);
    let margin = margin(&arrows, rows.len());
    let threads: Vec<_> = (0..lanes(of, &rows)).map(|lane| of.thread(lane)).collect();
    let width = |(lane, name): (usize, &String)| width(of, &rows, lane).max(name.chars().count());
    let widths: Vec<_> = threads.iter().enumerate().map(width).collect();
    let in_lanes = |cell: &dyn Fn(usize) -> String| {
        let lanes = widths.iter().enumerate();
        let lanes = lanes.map(|(lane, width)| format!("{:<width$}", cell(lane)));
        lanes.collect::<Vec<_>>().join("  ")
    };
    let mut text = String::new();
    let blank = " ".repeat(margin.first().map_or(0, |m| m.chars().count()));
    let names = in_lanes(&|lane| threads[lane].clone());
    line(&mut text, &format!("{blank}  #  {names}  where"));
    for (n, &row) in rows.iter().enumerate() {
        let own = of.trace.events[row].lane;
        let lanes = in_lanes(&|lane| match lane == own {
            true => cell(of, row),
            false => String::new(),
        });
        let at = place_of(of, row, "  ");
        line(
            &mut text,
            &format!("{}{:>3}  {lanes}  {at}", margin[n], n + 1),
        );
    }
    legend(&mut text, of, &rows, &arrows);
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A step in its lane, with whether it failed.
pub(super) fn cell(of: &Counterexample, row: usize) -> String {
    let mark = if of.failed_at(row) { "✗ " } else { "" };
    let end = if of.trace.events[row].stuck {
        ": never returns"
    } else {
        ""
    };
    format!("{mark}{}{end}", step(of, row))
}

pub(super) fn lanes(of: &Counterexample, rows: &[usize]) -> usize {
    let lanes = rows.iter().map(|&row| of.trace.events[row].lane);
    1 + lanes.max().unwrap_or(0)
}

/// The letters of the longest step in a lane.
pub(super) fn width(of: &Counterexample, rows: &[usize], lane: usize) -> usize {
    let here = rows
        .iter()
        .filter(|&&row| of.trace.events[row].lane == lane);
    let letters = here.map(|&row| cell(of, row).chars().count());
    letters.max().unwrap_or(0)
}

/// Where a step is, and its name, unless its row stands for several.
pub(super) fn place_of(of: &Counterexample, row: usize, between: &str) -> String {
    let event = &of.trace.events[row];
    match event.site {
        _ if of.steps_in_row(row) > 1 => String::new(),
        Some(site) => format!("{}{between}{site}", source(event.source)),
        None => source(event.source),
    }
}

fn legend(text: &mut String, of: &Counterexample, rows: &[usize], arrows: &[Arrow]) {
    text.push('\n');
    if arrows.iter().any(|arrow| !arrow.missing) {
        line(text, "┌─ └─►  reads from");
    }
    if arrows.iter().any(|arrow| arrow.missing) {
        line(
            text,
            "┌╌ └╌✗  reads from, without synchronizing: the missing edge",
        );
    }
    if of.reads().iter().any(|&(_, _, unsure)| unsure) {
        line(
            text,
            "A load's value was stored more than once: its arrow comes from the newest store that fits.",
        );
    }
    if (0..of.trace.events.len()).any(|step| of.failed_at(step)) {
        let what = match of.verdict {
            Verdict::Race { .. } => "the two accesses that race",
            Verdict::Stale { .. } => "the read, and the store that it did not see",
            Verdict::Stuck(_) => "never returns",
            Verdict::Leak(_) => "made a handle that is never dropped",
            _ => "the reads that missed a store",
        };
        line(text, &format!("✗       {what}"));
    }
    for (index, shared) in of.trace.places.iter().enumerate() {
        let shown = rows
            .iter()
            .any(|&row| of.trace.events[row].place == Some(index) && of.steps_in_row(row) == 1);
        if shown && shared.name.is_none() {
            let name = place(&of.trace, Some(index));
            line(
                text,
                &format!("{name} was made at {}", source(shared.source)),
            );
        }
    }
}
