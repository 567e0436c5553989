//! An execution as a page of its own.

use super::{counterexample::Counterexample, svg::escaped};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}\
.wide{overflow-x:auto}";

pub(super) fn render(of: &Counterexample) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{}</title><style>{STYLE}</style></head><body><h1>Why the model fails</h1><p>{}</p>\
         <div class=\"wide\">{}</div><details><summary>As text</summary><pre class=\"wide\">{}</pre>\
         </details></body></html>\n",
        escaped(of.first_line()),
        escaped(&of.sentence()),
        of.svg("failure"),
        escaped(&of.text())
    )
}
