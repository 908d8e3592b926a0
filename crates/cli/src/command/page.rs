//! `managed-by explain` and `managed-by man`: print pages.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstyle::{Effects, Style};
use clap::CommandFactory as _;
use managed_by::{AdmissionRequest, Decision, Example, Rule, RuleSource, Settings, review, rule};
use textwrap::Options;

use crate::args::{Args, did_you_mean, unknown_rule};
use crate::exit::{CliError, Exit};
use crate::format::single_line;
use crate::report::page;

const BOLD: Style = Style::new().effects(Effects::BOLD);
const CODE: Style = anstyle::AnsiColor::Cyan.on_default();

/// Maximum line length.
const WIDTH: usize = 100;

pub(super) fn explain(id: &str) -> Result<Exit, CliError> {
    let rule = rule(id).ok_or_else(|| CliError::Error(unknown_rule(id)))?;
    anstream::print!("{}", text(rule));
    Ok(Exit::Accepted)
}

/// Prints the manual page of the program or of a command.
pub(super) fn man(command: &[String]) -> Result<Exit, CliError> {
    let mut program = Args::command();
    program.build();
    let mut parent = &program;
    for name in command {
        parent = parent.find_subcommand(name).ok_or_else(|| {
            let near = did_you_mean(name, parent.get_subcommands().map(clap::Command::get_name));
            CliError::Error(format!("unknown command {}{near}", command.join(" ")))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(parent.clone()).render(&mut page)?;
    io::stdout().write_all(&page)?;
    Ok(Exit::Accepted)
}

/// Returns the page of a rule.
fn text(rule: &Rule) -> String {
    let docs = rule.documentation();
    let mut page = String::new();
    heading(&mut page, rule.id());
    paragraph(&mut page, &format!("{}.", docs.title.trim_end_matches('.')));
    for part in docs.text.split("\n\n") {
        paragraph(&mut page, part);
    }
    let default = rule.default_enforcement().as_str();
    paragraph(&mut page, &format!("Default: `{default}`"));
    let mut source = format!("Source: {}", rule.source());
    if let RuleSource::Upstream {
        deviation: Some(deviation),
        ..
    } = rule.source()
    {
        let _ = write!(source, ". Deviation: {deviation}");
    }
    paragraph(&mut page, &source);
    heading(&mut page, "Fix");
    paragraph(&mut page, docs.fix);
    heading(&mut page, "Accepted");
    example(&mut page, &docs.accepted);
    heading(&mut page, "Rejected");
    example(&mut page, &docs.rejected);
    if let Some(answer) = answer(&docs.rejected) {
        paragraph(&mut page, &answer);
    }
    let _ = writeln!(page, "{}", self::page(rule));
    page
}

fn heading(page: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{BOLD}{text}{BOLD:#}\n");
}

/// Writes a wrapped paragraph with colored code spans. The backticks stay, so that the page reads the same without colors.
fn paragraph(page: &mut String, text: &str) {
    let options = Options::new(WIDTH).break_words(false);
    for line in textwrap::wrap(&single_line(text), options) {
        for (index, part) in line.split('`').enumerate() {
            let _ = match (index, index % 2) {
                (0, _) => write!(page, "{part}"),
                (_, 0) => write!(page, "`{part}"),
                _ => write!(page, "`{CODE}{part}{CODE:#}"),
            };
        }
        page.push('\n');
    }
    page.push('\n');
}

fn example(page: &mut String, example: &Example) {
    if example.settings != "{}" {
        paragraph(page, &format!("With settings `{}`:", example.settings));
    }
    let value: serde_json::Value = serde_json::from_str(example.request).unwrap_or_default();
    for line in format!("{value:#}").lines() {
        let _ = writeln!(page, "  {line}");
    }
    page.push('\n');
}

/// Returns the answer to an example, unless it requires a cluster.
fn answer(example: &Example) -> Option<String> {
    let settings = Settings::from_json(example.settings.as_bytes()).ok()?;
    let json = example.full_request();
    let request = AdmissionRequest::from_json(json.as_bytes()).ok()?;
    let Decision::Denied { code, message } = review(&request, &settings).decision else {
        return None;
    };
    Some(format!("The answer, with code {code}: {message}"))
}
