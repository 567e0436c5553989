//! An execution as a picture: a lane for each thread, time downward, arrows from stores to the
//! reads that read them.
//!
//! No meaning depends on colour alone: the kinds of arrows differ in their strokes, and a cross
//! marks what failed.

use std::fmt::Write as _;

use super::{analysis::Why, counterexample::Counterexample, text};

const ROW: usize = 34;
const BOX: usize = 24;
const TOP: usize = 48;
const GAP: usize = 64;
const LEFT: usize = 16;
/// The width of one letter, a little wider than in the usual fonts.
const LETTER: f64 = 7.4;

/// The colours by class, first in the light and then in the dark.
const COLOURS: [(&str, &str, &str, &str); 9] = [
    (".paper", "fill", "#fff", "#17181c"),
    ("text", "fill", "#1b1b1f", "#ececf1"),
    (".faint,.head-other", "fill", "#5c5f66", "#a6a9b2"),
    (".bad,.head-missing", "fill", "#b3261e", "#ff8a80"),
    (".head-reads", "fill", "#1b1b1f", "#ececf1"),
    (".head-sync", "fill", "#1a6e3c", "#7bd79b"),
    (".step", "fill", "#f1f3f5", "#26282e"),
    (".edge,.step", "stroke", "#5c5f66", "#a6a9b2"),
    (".failed,.missing", "stroke", "#b3261e", "#ff8a80"),
];

const STROKES: &str = "text{font:12px ui-monospace,Menlo,Consolas,monospace}.lane,.bad{font-weight:bold}\
.edge{fill:none;stroke-width:1.2}.failed,.sync,.missing{stroke-width:2.4}\
.other{stroke-dasharray:1 4}.missing{stroke-dasharray:7 4}";

fn style() -> String {
    let colours = |dark: bool| -> String {
        let rules = COLOURS.iter().map(|&(class, what, light, night)| {
            format!("{class}{{{what}:{}}}", if dark { night } else { light })
        });
        rules.collect()
    };
    let (light, dark) = (colours(false), colours(true));
    format!("{STROKES}{light}@media(prefers-color-scheme:dark){{{dark}}}")
}

/// The kinds of arrows, with their legends.
const KINDS: [(&str, &str); 4] = [
    ("sync", "synchronizes-with"),
    ("reads", "reads from"),
    (
        "missing",
        "reads from, but does not synchronize: the missing edge",
    ),
    ("other", "spawn, join, lock, unpark, message"),
];

struct Layout {
    rows: Vec<usize>,
    /// The left edge and the width of each lane.
    lanes: Vec<(usize, usize)>,
    /// The left edge of the column of places in the source.
    places: usize,
    width: usize,
}

pub(super) fn render(of: &Counterexample, id: &str) -> String {
    let layout = Layout::of(of);
    let edges = edges(of);
    let caption = wrapped(&of.sentence(), (layout.width as f64 / LETTER) as usize - 4);
    let legend: Vec<_> = KINDS
        .iter()
        .filter(|kind| edges.iter().any(|edge| edge.2 == kind.0))
        .collect();
    let steps_end = TOP + ROW * layout.rows.len();
    let height = steps_end + 20 * (legend.len() + caption.len()) + 40;
    let mut svg = head(of, id, layout.width, height);
    for (lane, &(left, width)) in layout.lanes.iter().enumerate() {
        let middle = left + width / 2;
        let name = escaped(&of.thread(lane));
        let _ = write!(
            svg,
            "<text class=\"lane\" x=\"{middle}\" y=\"24\" text-anchor=\"middle\">{name}</text>"
        );
        let _ = write!(svg, "<path class=\"edge\" d=\"M{middle} 34V{steps_end}\"/>");
    }
    for &(from, to, kind) in &edges {
        svg.push_str(&layout.arrow(of, id, from, to, kind));
    }
    for (row, &step) in layout.rows.iter().enumerate() {
        svg.push_str(&layout.step(of, row, step));
    }
    let mut y = steps_end + 20;
    for (kind, says) in legend {
        let (end, text, base) = (LEFT + 40, LEFT + 50, y + 4);
        let _ = write!(
            svg,
            "<path class=\"edge {kind}\" d=\"M{LEFT} {y}H{end}\" marker-end=\"url(#{id}-{kind})\"/>"
        );
        let _ = write!(svg, "<text x=\"{text}\" y=\"{base}\">{says}</text>");
        y += 20;
    }
    for line in caption {
        y += 20;
        let _ = write!(
            svg,
            "<text x=\"{LEFT}\" y=\"{y}\">{}</text>",
            escaped(&line)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn head(of: &Counterexample, id: &str, width: usize, height: usize) -> String {
    let (title, says, text) = (of.first_line(), of.sentence(), of.text());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"{id}-title {id}-says\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-says\">{}\n{}</desc><style>{}</style><defs>",
        escaped(title),
        escaped(&says),
        escaped(&text),
        style()
    );
    for (kind, _) in KINDS {
        let _ = write!(
            svg,
            "<marker id=\"{id}-{kind}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head-{kind}\" d=\"M0 0L8 4L0 8z\"/></marker>"
        );
    }
    svg + "</defs><rect class=\"paper\" width=\"100%\" height=\"100%\"/>"
}

/// The arrows between steps. A read that synchronizes is drawn once.
fn edges(of: &Counterexample) -> Vec<(usize, usize, &'static str)> {
    let mut edges: Vec<(usize, usize, &'static str)> = Vec::new();
    for edge in of.missing_edges() {
        edges.push((edge.writer, edge.reader, "missing"));
    }
    for edge in &of.known.edges {
        let kind = if edge.why == Why::Synchronizes {
            "sync"
        } else {
            "other"
        };
        edges.push((edge.from, edge.to, kind));
    }
    for (from, to, _) in of.reads() {
        edges.push((from, to, "reads"));
    }
    let shown = of.shown();
    let mut drawn = Vec::new();
    edges.retain(|&(from, to, _)| {
        let new = shown.contains(&from) && shown.contains(&to) && !drawn.contains(&(from, to));
        drawn.push((from, to));
        new
    });
    edges
}

impl Layout {
    fn of(of: &Counterexample) -> Self {
        let rows = of.shown();
        let mut lanes = Vec::new();
        let mut left = LEFT;
        for lane in 0..text::lanes(of, &rows) {
            let width = pixels(text::width(of, &rows, lane).max(12)) + 16;
            lanes.push((left, width));
            left += width + GAP;
        }
        let places = left - GAP + 24;
        let letters = rows
            .iter()
            .map(|&row| text::place_of(of, row, " ").chars().count())
            .max()
            .unwrap_or(0);
        Self {
            rows,
            lanes,
            places,
            width: places + pixels(letters) + LEFT,
        }
    }

    fn middle_of(row: usize) -> usize {
        TOP + row * ROW + BOX / 2
    }

    fn step(&self, of: &Counterexample, row: usize, step: usize) -> String {
        let (left, width) = self.lanes[of.trace.events[step].lane];
        let (top, base) = (Self::middle_of(row) - BOX / 2, Self::middle_of(row) + 4);
        let failed = if of.failed_at(step) { " failed" } else { "" };
        let (text, at) = (
            escaped(&text::cell(of, step)),
            escaped(&text::place_of(of, step, " ")),
        );
        let (inner, places) = (left + 8, self.places);
        format!(
            "<rect class=\"step{failed}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX}\" rx=\"4\"/>\
             <text x=\"{inner}\" y=\"{base}\">{text}</text><text class=\"faint\" x=\"{places}\" y=\"{base}\">{at}</text>"
        )
    }

    fn arrow(&self, of: &Counterexample, id: &str, from: usize, to: usize, kind: &str) -> String {
        let row = |step| self.rows.iter().position(|&row| row == step).unwrap_or(0);
        let (y1, y2) = (Self::middle_of(row(from)), Self::middle_of(row(to)));
        let lane = |step: usize| self.lanes[of.trace.events[step].lane];
        let ((left1, width1), (left2, width2)) = (lane(from), lane(to));
        let (x1, x2) = if left1 < left2 {
            (left1 + width1, left2)
        } else {
            (left1, left2 + width2)
        };
        let bend = (x1 + x2) / 2;
        let mut arrow = format!(
            "<path class=\"edge {kind}\" d=\"M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}\" marker-end=\"url(#{id}-{kind})\"/>"
        );
        if kind == "missing" {
            let (y, x) = ((y1 + y2) / 2 + 5, bend + 14);
            let _ = write!(
                arrow,
                "<text class=\"bad\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">✗</text>"
            );
        }
        arrow
    }
}

fn pixels(letters: usize) -> usize {
    (letters as f64 * LETTER).ceil() as usize
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width.max(40) {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Escapes text for HTML and SVG, in content and in attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
