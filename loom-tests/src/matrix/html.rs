//! The matrix as one page, which needs no other file.

use std::fmt::Write as _;

use super::{COMPLETER, Cell, Failure, Matrix, ORDERINGS, WAITER, name};
use crate::lab::escaped;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fff;--line:#8a8d95;--right:#d9f2e1;--wrong:#fbe3e1;--link:#0b4f9e}\
@media(prefers-color-scheme:dark){:root{--ink:#ececf1;--paper:#17181c;--line:#777a83;--right:#16402a;--wrong:#4d1f1c;--link:#9cc8ff}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:75rem;padding:0 1rem}\
a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}\
.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid var(--line);padding:.5rem .8rem;text-align:left}\
td.right{background:var(--right)}td.wrong{background:var(--wrong)}td a{display:block}\
svg{max-width:none}pre{overflow-x:auto;font-size:.8rem}section:target>h2{text-decoration:underline}";

pub(super) fn render(matrix: &Matrix) -> String {
    let wrong: Vec<_> = matrix
        .cells
        .iter()
        .filter(|cell| !cell.is_right())
        .map(section)
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>The orderings of a completion's two exchanges</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>The orderings of a completion's two exchanges</h1>\n\
         <p>The completer swaps <code>DONE</code> into the word (<code>{COMPLETER}</code>), and the waiter swaps in its waker \
         (<code>{WAITER}</code>). The model checker has decided each pair of orderings on the real source: {} of {} are right. \
         Every other pair fails to publish the completer's <em>result</em> to the waiter, or the waiter's <em>waker</em> to the \
         completer, and links to an execution that shows it.</p>\n{}\n{}</main>\n</body>\n</html>\n",
        matrix.right().count(),
        matrix.cells.len(),
        table(matrix),
        wrong.concat()
    )
}

fn table(matrix: &Matrix) -> String {
    let mut html = String::from(
        "<div class=\"wide\" id=\"matrix\"><table>\n<caption>Rows: the completer's ordering. Columns: the waiter's.</caption>\n<tr><td></td>",
    );
    for ordering in ORDERINGS {
        let _ = write!(html, "<th scope=\"col\">{}</th>", name(ordering));
    }
    html.push_str("</tr>\n");
    for row in matrix.cells.chunks(ORDERINGS.len()) {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th>",
            name(row[0].completer)
        );
        html.extend(row.iter().map(entry));
        html.push_str("</tr>\n");
    }
    html + "</table></div>"
}

fn entry(cell: &Cell) -> String {
    if cell.is_right() {
        return "<td class=\"right\">✓ right</td>".to_owned();
    }
    format!(
        "<td class=\"wrong\"><a href=\"#{}\">✗ {}</a></td>",
        cell.id(),
        cell.verdict()
    )
}

fn section(cell: &Cell) -> String {
    let failures: Vec<_> = cell.failures.iter().map(failure).collect();
    format!(
        "<section id=\"{}\">\n<h2>Completer {}, waiter {}</h2>\n{}<p><a href=\"#matrix\">Back to the matrix</a></p>\n</section>\n",
        cell.id(),
        name(cell.completer),
        name(cell.waiter),
        failures.concat()
    )
}

fn failure(failure: &Failure) -> String {
    format!(
        "<h3>The {} is not published</h3>\n<p>{}</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"The failing execution\">\n{}</div>\n\
         <details><summary>As text</summary>\n<pre>{}</pre>\n</details>\n",
        failure.published.name(),
        escaped(&failure.sentence),
        failure.svg,
        escaped(&failure.text)
    )
}
