//! `managed-by explain` and `managed-by man`: print pages.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use anstyle::{Effects, Style};
use clap::CommandFactory as _;
use managed_by::{AdmissionRequest, Decision, Example, Rule, RuleSource, Settings, review, rule};
use textwrap::Options;

use crate::args::{Args, did_you_mean, unknown_rule};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::page;
use crate::words::words;

const BOLD: Style = Style::new().effects(Effects::BOLD);
const CODE: Style = anstyle::AnsiColor::Cyan.on_default();

/// Maximum line length, however wide the terminal is.
const MAX_WIDTH: usize = 100;

pub(super) fn explain(id: &str) -> Result<Exit, CliError> {
    let rule = rule(id).ok_or_else(|| CliError::Error(unknown_rule(id)))?;
    show(&text(rule))?;
    Ok(Exit::Accepted)
}

/// Prints the manual page of the program or of a command.
pub(super) fn man(command: &[String]) -> Result<Exit, CliError> {
    let mut program = Args::command();
    program.build();
    let mut of = &program;
    for name in command {
        of = of.find_subcommand(name).ok_or_else(|| {
            let near = did_you_mean(name, of.get_subcommands().map(clap::Command::get_name));
            CliError::Error(format!("there is no command {}{near}", command.join(" ")))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(of.clone()).render(&mut page)?;
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
    paragraph(
        &mut page,
        &format!("Default: `{}`", rule.default_enforcement().as_str()),
    );
    paragraph(&mut page, &source(rule));
    heading(&mut page, "What to do");
    paragraph(&mut page, docs.fix);
    heading(&mut page, "Accepted");
    example(&mut page, &docs.accepted);
    heading(&mut page, "Rejected");
    example(&mut page, &docs.rejected);
    if let Some(answer) = answer(&docs.rejected) {
        paragraph(&mut page, &answer);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{}", self::page(rule));
    page
}

fn source(rule: &Rule) -> String {
    let deviation = match rule.source() {
        RuleSource::Upstream {
            deviation: Some(deviation),
            ..
        } => format!(". Deviation: {deviation}"),
        _ => String::new(),
    };
    format!("Source: {}{deviation}", rule.source())
}

fn heading(page: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{BOLD}{text}{BOLD:#}\n");
}

/// Writes a wrapped paragraph with colored code spans.
fn paragraph(page: &mut String, text: &str) {
    let width = width();
    for line in textwrap::wrap(&words(text), Options::new(width).break_words(false)) {
        code(page, &line);
        page.push('\n');
    }
    page.push('\n');
}

/// Writes a line with colored code spans. The backticks stay, so that the page reads the same without colors.
fn code(page: &mut String, line: &str) {
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            page.push('`');
        }
        if index % 2 == 1 {
            let _ = write!(page, "{CODE}{part}{CODE:#}");
        } else {
            page.push_str(part);
        }
    }
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

/// Shows a page. On a terminal, uses the pager as git does.
fn show(page: &str) -> Result<(), CliError> {
    let pager = ["MANAGED_BY_PAGER", "PAGER"]
        .iter()
        .find_map(|name| env::var(name).ok());
    let pager = pager.unwrap_or_else(|| "less".to_owned());
    if !io::stdout().is_terminal() || pager.is_empty() || pager == "cat" {
        anstream::AutoStream::auto(io::stdout()).write_all(page.as_bytes())?;
        return Ok(());
    }
    let mut words = pager.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("less"));
    command.args(words).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        anstream::AutoStream::auto(io::stdout()).write_all(page.as_bytes())?;
        return Ok(());
    };
    if let Some(mut stdin) = child.stdin.take() {
        let is_colored =
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let plain = anstream::adapter::strip_str(page).to_string();
        let text = if is_colored { page } else { &plain };
        match stdin.write_all(text.as_bytes()) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(e.into()),
            _ => {}
        }
    }
    child.wait()?;
    Ok(())
}

/// Returns the maximum line length.
fn width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.unwrap_or(MAX_WIDTH).clamp(40, MAX_WIDTH)
}
