//! Renders the report's badge as SVG.

use maud::{Markup, PreEscaped, html};

use super::report::ConformanceReport;

/// Width of a character of the badge's text, in pixels, rounded up.
const CHARACTER: usize = 6;

impl ConformanceReport {
    /// Renders the badge as SVG, with the version of the suite, the releases and the profiles, or returns `None` if records could not be evaluated.
    pub(crate) fn badge(&self) -> Option<String> {
        (self.skipped == 0).then(|| markup(self).into_string())
    }
}

/// Renders the badge for embedding in the page.
pub(crate) fn markup(report: &ConformanceReport) -> Markup {
    let version = report.provenance.version;
    let text = format!("managed-by conformance {version}: {}", report.headline());
    let color = if report.conforms_to == report.releases {
        "#116329"
    } else if report.is_denied_by_newest()
        || report.rejected_writes > 0
        || (report.conforms_to.is_empty() && !report.is_incomplete())
    {
        "#9f1717"
    } else {
        "#7a4b00"
    };
    let width = text
        .chars()
        .count()
        .saturating_mul(CHARACTER)
        .saturating_add(16);
    let open = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"22\" viewBox=\"0 0 {width} 22\" role=\"img\" aria-label=\"{text}\">"
    );
    html! {
        (PreEscaped(open))
        title { (text) }
        rect width=(width) height="22" rx="4" fill=(color) {}
        text x="8" y="15" fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" { (text) }
        (PreEscaped("</svg>"))
    }
}
