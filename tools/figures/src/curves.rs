//! Curves of efficiency over workers: a small picture for each row, with a line for each
//! contestant.
//!
//! Each line has a colour and dashes of its own. The picture follows the reader's choice of light
//! or dark.

use std::fmt::Write as _;

/// The curves of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title of the row.
    pub title: String,
    /// One for each contestant that can do the row.
    pub curves: Vec<Curve>,
}

/// One contestant's efficiency.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of the contestant.
    pub name: String,
    /// Numbers of workers, ascending, each with the efficiency: the speed-up over one worker,
    /// divided by the number.
    pub points: Vec<(usize, f64)>,
}

const COLUMNS: usize = 3;
const WIDTH: f64 = 290.0;
const HEIGHT: f64 = 190.0;
/// Where the scales of a panel begin and end.
const LEFT: f64 = 36.0;
const RIGHT: f64 = 274.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 160.0;
/// The lines above the panels: a sentence, and the names.
const LINE: f64 = 20.0;
const NAMES: usize = 6;

/// The efficiencies at the bottom and at the top of each panel. Higher ones are drawn at the top.
const LOW: f64 = 0.0;
const HIGH: f64 = 1.25;

/// Colours that are told apart without red and green, in light and in dark.
const COLOURS: [(&str, &str); 7] = [
    ("#2f6fb3", "#6cb6ff"),
    ("#b35900", "#f0a35e"),
    ("#1b7f79", "#4fd1c5"),
    ("#8250df", "#c297ff"),
    ("#6e7781", "#9ea7b3"),
    ("#9a6700", "#e3c04b"),
    ("#1f2328", "#e6edf3"),
];
const DASHES: [&str; 7] = ["none", "6 3", "2 2", "8 3 2 3", "4 4", "1 3", "12 3"];

/// The whole picture, below a sentence.
#[must_use]
pub fn curves(sentence: &str, panels: &[Panel]) -> String {
    let names = names(panels);
    let rows = panels.len().div_ceil(COLUMNS);
    let head = (2 + names.len().div_ceil(NAMES)) as f64 * LINE;
    let (width, height) = (COLUMNS as f64 * WIDTH, head + rows as f64 * HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\">\n\
         <title>Efficiency over workers</title>\n<style>\n{}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        style()
    );
    text(&mut out, (8.0, 18.0), "start", sentence);
    for (n, name) in names.iter().enumerate() {
        let (column, row) = (n % NAMES, n / NAMES);
        let x = 8.0 + column as f64 * width / NAMES as f64;
        let y = (row + 2) as f64 * LINE;
        _ = writeln!(
            out,
            "<path class=\"curve c{}\" d=\"M{x:.1} {y:.1}h24\"/>",
            n % COLOURS.len()
        );
        text(&mut out, (x + 30.0, y + 4.0), "start", name);
    }
    for (n, panel) in panels.iter().enumerate() {
        let (column, row) = (n % COLUMNS, n / COLUMNS);
        let (x, y) = (column as f64 * WIDTH, head + row as f64 * HEIGHT);
        _ = writeln!(out, "<g transform=\"translate({x:.1} {y:.1})\">");
        draw(&mut out, panel, &names);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

fn style() -> String {
    let mut style = "text { font: 11px system-ui, sans-serif; fill: #1f2328 }\n\
         .paper { fill: #fff }\n\
         .scale { stroke: #8c959f; stroke-width: 0.5; fill: none }\n\
         .one { stroke: #1f2328; stroke-width: 1; fill: none }\n\
         .curve { fill: none; stroke-width: 2 }\n"
        .to_owned();
    let mut dark =
        "text { fill: #e6edf3 }\n.paper { fill: #17181c }\n.one { stroke: #e6edf3 }\n".to_owned();
    for (n, ((on_light, on_dark), dashes)) in COLOURS.iter().zip(DASHES).enumerate() {
        _ = writeln!(
            style,
            ".c{n} {{ stroke: {on_light}; stroke-dasharray: {dashes} }}"
        );
        _ = writeln!(dark, ".c{n} {{ stroke: {on_dark} }}");
    }
    style + "@media (prefers-color-scheme: dark) {\n" + &dark + "}\n"
}

/// All names, in the order in which they first occur.
fn names(panels: &[Panel]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for curve in panels.iter().flat_map(|panel| &panel.curves) {
        if !names.contains(&&*curve.name) {
            names.push(&curve.name);
        }
    }
    names
}

fn draw(out: &mut String, panel: &Panel, names: &[&str]) {
    let points = panel.curves.iter().flat_map(|curve| &curve.points);
    let mut counts: Vec<_> = points.map(|point| point.0).collect();
    counts.sort_unstable();
    counts.dedup();
    let most = counts.last().copied().unwrap_or(1);

    text(out, (LEFT, TOP - 12.0), "start", &panel.title);
    for part in [0.0, 0.5, 1.0] {
        let class = if part == 1.0 { "one" } else { "scale" };
        let y = y(part);
        _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>"
        );
        text(out, (LEFT - 6.0, y + 4.0), "end", &part.to_string());
    }
    // Every other number is not a power of two, and has no room.
    let shown = counts.iter().filter(|count| count.is_power_of_two());
    for count in shown {
        let place = (x(*count, most), BOTTOM + 16.0);
        text(out, place, "middle", &count.to_string());
    }
    for curve in &panel.curves {
        let class = names.iter().position(|name| *name == curve.name);
        let class = class.expect("each name is listed") % COLOURS.len();
        let path: Vec<_> = curve
            .points
            .iter()
            .map(|(count, part)| format!("{:.1} {:.1}", x(*count, most), y(*part)))
            .collect();
        _ = writeln!(
            out,
            "<path class=\"curve c{class}\" d=\"M{}\"/>",
            path.join("L")
        );
    }
}

/// Equal steps for equal factors.
fn x(count: usize, most: usize) -> f64 {
    let all = (most as f64).log2().max(1.0);
    LEFT + (count as f64).log2() / all * (RIGHT - LEFT)
}

fn y(part: f64) -> f64 {
    let part = part.clamp(LOW, HIGH);
    BOTTOM - (part - LOW) / (HIGH - LOW) * (BOTTOM - TOP)
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, points: &[(usize, f64)]) -> Curve {
        Curve {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn each_contestant_of_each_row_has_a_line() {
        let panels = [
            Panel {
                title: "a < b".to_owned(),
                curves: vec![
                    curve("joint", &[(1, 1.0), (2, 0.9), (4, 0.8)]),
                    curve("tokio", &[(1, 1.0), (2, 0.5), (4, 0.25)]),
                ],
            },
            Panel {
                title: "c".to_owned(),
                curves: vec![curve("tokio", &[(1, 1.0), (2, 9.0)])],
            },
        ];
        let svg = curves("A sentence.", &panels);
        // Two names, and three lines.
        assert_eq!(svg.matches("class=\"curve c").count(), 5, "{svg}");
        assert_eq!(svg.matches("class=\"curve c1").count(), 3, "{svg}");
        for label in [
            ">a &lt; b<",
            ">joint<",
            ">tokio<",
            ">4<",
            "<rect class=\"paper\" ",
        ] {
            assert!(svg.contains(label), "{label}\n{svg}");
        }
        let ends = format!("{RIGHT:.1} {:.1}", y(0.8));
        assert!(svg.contains(&ends), "{ends}\n{svg}");
    }

    #[test]
    fn the_scales_are_kept() {
        assert_eq!((y(0.0), y(HIGH), y(7.0)), (BOTTOM, TOP, TOP));
        assert_eq!((x(1, 1), x(1, 64), x(64, 64)), (LEFT, LEFT, RIGHT));
        assert!((x(2, 8) - x(1, 8) - (x(8, 8) - x(4, 8))).abs() < 1e-9);
    }
}
