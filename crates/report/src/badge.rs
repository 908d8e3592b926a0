//! Renders the report's badge as SVG.

use maud::{Markup, PreEscaped, html};

use crate::report::Report;

/// Width of a character of the badge's text, in pixels, rounded up.
const CHARACTER: usize = 6;

impl Report {
    /// Renders the badge as SVG, or returns `None` if records could not be evaluated.
    pub fn badge(&self) -> Option<String> {
        (self.skipped == 0).then(|| markup(self).into_string())
    }
}

/// Renders the badge for embedding in the page.
pub(crate) fn markup(report: &Report) -> Markup {
    let text = report.badge_text();
    let colour = match report.conforms_to.len() {
        0 => "#9f1717",
        all if all == report.releases.len() => "#116329",
        _ => "#7a4b00",
    };
    let width = text
        .chars()
        .count()
        .saturating_mul(CHARACTER)
        .saturating_add(16);
    let open = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"22\" role=\"img\" aria-label=\"{text}\">"
    );
    html! {
        (PreEscaped(open))
        title { (text) }
        rect width=(width) height="22" rx="4" fill=(colour) {}
        text x="8" y="15" fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" { (text) }
        (PreEscaped("</svg>"))
    }
}
