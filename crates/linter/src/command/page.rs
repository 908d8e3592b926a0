//! `managed-by explain`: prints the page of a rule.

use std::io::Write as _;

use managed_by::{
    AdmissionRequest, Decision, Example, Rule, RuleSource, Settings, queue_rule, review, rule,
    with_absolute_links,
};
use managed_by_console::exit::{CliError, ExitStatus};

use crate::args::unknown_rule;

pub fn explain(id: &str) -> Result<ExitStatus, CliError> {
    // Only the pods policy has this rule.
    let queue_rule = Some(queue_rule()).filter(|rule| rule.id() == id);
    let rule = rule(id).or(queue_rule);
    let rule = rule.ok_or_else(|| CliError::Error(unknown_rule(id)))?;
    write!(anstream::stdout(), "{}", rule_page(rule))?;
    Ok(ExitStatus::Accepted)
}

fn rule_page(rule: &Rule) -> String {
    let docs = rule.documentation();
    let source = rule.source();
    let deviation = match source {
        RuleSource::Upstream {
            deviation: Some(deviation),
            ..
        } => format!(". Deviation: {deviation}"),
        _ => String::new(),
    };
    let response = example_response(rule).map(|response| format!("\n{response}\n"));
    format!(
        "# {}\n\n{}.\n\n{}\n\nDefault: `{}`\n\nSource: {source}{deviation}\n\n## Fix\n\n{}\n\n## Accepted\n\n{}\n## Rejected\n\n{}{}\n{}\n",
        rule.id(),
        docs.title.trim_end_matches('.'),
        with_absolute_links(docs.text),
        rule.default_enforcement().as_str(),
        docs.fix,
        example(&docs.accepted),
        example(&docs.rejected),
        response.unwrap_or_default(),
        rule.page_url()
    )
}

fn example(example: &Example) -> String {
    let settings = match example.settings {
        "{}" => String::new(),
        settings => format!("With settings `{settings}`:\n\n"),
    };
    let value: serde_json::Value = serde_json::from_str(&example.request()).unwrap_or_default();
    let json = format!("{value:#}").replace('\n', "\n    ");
    format!("{settings}    {json}\n")
}

/// Returns the response to the rejected example of a rule, unless it requires a cluster.
fn example_response(rule: &Rule) -> Option<String> {
    let example = rule.documentation().rejected;
    let settings = Settings::from_json(example.settings.as_bytes()).ok()?;
    let json = example.full_request();
    let request = AdmissionRequest::from_json(json.as_bytes()).ok()?;
    let request = if rule.is_for_manifests() {
        request.with_manifests()
    } else {
        request
    };
    let Decision::Denied { code, message } = review(&request, &settings).decision else {
        return None;
    };
    Some(format!("Response with code {code}: {message}"))
}
