//! Renders the report as one HTML page without scripts or external resources.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::badge;
use crate::report::{Cell, Report, Row, State, Step, Timeline};

/// Base URL of the rules' pages.
const RULES: &str = "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules/";

const STYLE: &str = "
:root { color-scheme: light dark; --bg: #ffffff; --fg: #1b1f24; --line: #8c959f; --ok: #dcf2e0; --no: #ffdcd7; --un: #eaeef2; }
@media (prefers-color-scheme: dark) { :root { --bg: #0d1117; --fg: #e6edf3; --line: #6e7681; --ok: #12361c; --no: #5a1712; --un: #21262d; } }
body { font: 15px/1.5 system-ui, sans-serif; background: var(--bg); color: var(--fg); margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
a { color: inherit; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
td.cell { white-space: nowrap; }
.passed { background: var(--ok); }
.denied { background: var(--no); font-weight: 600; }
.untested { background: var(--un); font-style: italic; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
td.state { width: 50%; }
";

impl Report {
    /// Renders the report as one HTML page without external resources.
    pub fn html(&self) -> String {
        html(self)
    }
}

fn html(report: &Report) -> String {
    let title = format!("Conformance of {}", report.controller);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                @if report.skipped == 0 { p { (badge::markup(report)) } }
                (summary(report))
                h2 { "Rules and releases" }
                (legend())
                (matrix(report))
                (untested(report))
                h2 { "Writes that would have been denied" }
                (timelines(report))
            }
        }
    }
    .into_string()
}

fn summary(report: &Report) -> Markup {
    let conforms = report.badge_text();
    html! {
        p {
            "The recording has " (report.writes) " writes to " (report.objects) " objects of this controller, "
            (report.status_writes) " of them to a status. "
            @if report.other_controllers > 0 { "Skipped writes to objects of other controllers: " (report.other_controllers) ". " }
            "Each write was evaluated with the rules of every release. Result: " strong { (conforms) } "."
        }
    }
}

fn legend() -> Markup {
    html! {
        p { "A cell shows how many writes exercised a rule: the rule applies to the write, and the write could have violated it." }
        ul {
            li { span.passed { "✓ 12" } ": exercised by 12 writes, all accepted." }
            li { span.denied { "✗ 2 of 12" } ": exercised by 12 writes, 2 would have been denied." }
            li { span.untested { "untested" } ": never exercised. This is not a pass." }
            li { "not in release: the release does not have the rule." }
        }
    }
}

fn matrix(report: &Report) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "Rule" }
                        @for release in &report.releases { th scope="col" { (release) } }
                    }
                }
                tbody {
                    @for row in &report.rows { (matrix_row(row)) }
                }
            }
        }
    }
}

fn matrix_row(row: &Row) -> Markup {
    html! {
        tr {
            th scope="row" { (rule(row.rule)) br; small { (row.title) } }
            @for cell in &row.cells { (matrix_cell(*cell)) }
        }
    }
}

fn matrix_cell(cell: Cell) -> Markup {
    let (class, text) = match cell.state {
        State::NotInRelease => ("cell", "not in release".to_owned()),
        State::Untested => ("cell untested", "untested".to_owned()),
        State::Passed => ("cell passed", format!("✓ {}", cell.exercised)),
        State::Denied => (
            "cell denied",
            format!("✗ {} of {}", cell.denied, cell.exercised),
        ),
    };
    html! { td class=(class) { (text) } }
}

fn untested(report: &Report) -> Markup {
    let count = report.untested().count();
    html! {
        @if count > 0 {
            p { (count) " rules are untested in every release: record Jobs that exercise them." }
        }
    }
}

fn rule(id: &str) -> Markup {
    let href = format!("{RULES}{id}.md");
    html! { a href=(href) { (id) } }
}

fn timelines(report: &Report) -> Markup {
    html! {
        @if report.timelines.is_empty() { p { "None." } }
        @for timeline in &report.timelines { (object_section(timeline)) }
        @if report.omitted_timelines > 0 { p { "And " (report.omitted_timelines) " more objects." } }
    }
}

fn object_section(timeline: &Timeline) -> Markup {
    html! {
        h3 { (timeline.object) }
        @if timeline.omitted > 0 { p { (timeline.omitted) " more writes are omitted." } }
        ol {
            @for step in &timeline.steps { li { (step_section(step)) } }
        }
    }
}

fn step_section(step: &Step) -> Markup {
    html! {
        @if let Some(time) = &step.time { time datetime=(time) { (time) } " " }
        (step.operation) " (" (step.location) "): "
        @if step.denials.is_empty() {
            span.passed { "✓ accepted by every release" }
        } @else {
            span.denied { "✗ denied" }
            ul {
                @for denial in &step.denials {
                    li { strong { (denial.releases) } ": " (denial.text) " [" (rule(denial.rule)) "]" }
                }
            }
        }
        @if let Some((before, after)) = &step.before_and_after {
            table {
                thead { tr { th scope="col" { "Before" } th scope="col" { "Written" } } }
                tbody { tr { td.state { pre { (before) } } td.state { pre { (after) } } } }
            }
        }
    }
}
