//! A trace as a picture: a row for each worker, a box for each run.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use joint_executor::{SpanKind, Trace};

const WIDTH: f64 = 1200.0;
const ROW: f64 = 40.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
/// The colours of Okabe and Ito, which are distinct to all eyes.
const COLOURS: [&str; 7] = [
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
];

/// Writes the picture. Its axis begins with the first run.
pub(crate) fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let is_run = |kind: &SpanKind<'_>| matches!(kind, SpanKind::Poll { .. });
    let runs: Vec<_> = trace.spans().filter(|span| is_run(&span.kind)).collect();
    let first = runs.iter().map(|span| span.begins).min();
    let last = runs.iter().map(|span| span.ends).max();
    let (Some(first), Some(last)) = (first, last) else {
        return Err(io::Error::other("nothing was run"));
    };
    let scale = (WIDTH - LEFT - 10.0) / (last - first).as_secs_f64();
    let x = |at: Duration| LEFT + at.saturating_sub(first).min(last - first).as_secs_f64() * scale;
    let bottom = TOP + ROW * trace.workers() as f64;
    let height = bottom + 40.0;
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">
<title>What the workers did</title>
<rect width="{WIDTH}" height="{height}" fill="#fff"/>"##
    )?;
    // About ten ticks, at round numbers.
    let about = (last - first).as_secs_f64() * 1e6 / 10.0;
    let power = 10f64.powf(about.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power);
    let step = step
        .into_iter()
        .find(|&step| step >= about)
        .unwrap_or(about);
    for tick in 0..=10 {
        let micros = step * f64::from(tick);
        let at = LEFT + micros / 1e6 * scale;
        if at < WIDTH - 30.0 {
            let text = match step >= 1000.0 {
                true => format!("{} ms", micros / 1000.0),
                false => format!("{micros} µs"),
            };
            writeln!(
                out,
                r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#ddd"/><text x="{at:.1}" y="{:.0}" text-anchor="middle" fill="#555">{text}</text>"##,
                bottom + 16.0
            )?;
        }
    }
    let mut colours = BTreeMap::new();
    for worker in 0..trace.workers() {
        let y = TOP + ROW * worker as f64 + ROW / 2.0;
        writeln!(
            out,
            r##"<text x="10" y="{:.0}" fill="#222">worker {worker}</text>"##,
            y + 4.0
        )?;
    }
    for span in trace.spans() {
        let (from, to) = (x(span.begins), x(span.ends));
        let y = TOP + ROW * span.worker as f64;
        if !is_run(&span.kind) {
            let y = y + ROW / 2.0;
            writeln!(
                out,
                r##"<path d="M{from:.1} {y}H{to:.1}" stroke="#bbb" stroke-dasharray="2 3"/>"##
            )?;
            continue;
        }
        let label = escaped(&span.label());
        let next = COLOURS[colours.len() % COLOURS.len()];
        let colour = *colours.entry(label.clone()).or_insert(next);
        let wide = (to - from).max(0.7);
        writeln!(
            out,
            r##"<rect x="{from:.1}" y="{:.0}" width="{wide:.1}" height="{:.0}" fill="{colour}"><title>{label}, {:?}</title></rect>"##,
            y + 5.0,
            ROW - 10.0,
            span.ends - span.begins
        )?;
    }
    let mut at = LEFT;
    for (label, colour) in &colours {
        writeln!(
            out,
            r##"<rect x="{at:.0}" y="12" width="12" height="12" fill="{colour}"/><text x="{:.0}" y="22" fill="#222">{label}</text>"##,
            at + 17.0
        )?;
        at += 40.0 + 7.5 * label.chars().count() as f64;
    }
    writeln!(
        out,
        r##"<text x="{:.0}" y="22" fill="#555">a dotted line: the worker sleeps</text>
</svg>"##,
        at
    )
}

/// A text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
