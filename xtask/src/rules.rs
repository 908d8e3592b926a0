//! Generates the reference of the rules: a page for each on the site, their index, and the table of the rules that CEL enforces.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use managed_by::{Enforcement, Rule, RuleSource, queue_rule, rules};
use managed_by_testing::library::{ValidationResponse, validate_example};
use managed_by_testing::read;
use serde_json::{Value, from_str};
use serde_yaml_ng::Value as Yaml;

use crate::generated::{Generated, Page, replace_between_marks};

const PLAYGROUND: &str = "https://managed-by-policy.github.io/managed-by-policy/playground/";

/// Page with the table of the rules that the policies in CEL enforce.
const CEL: &str = "docs/explanation/outages.md";

/// Page about the rules. On the site, the table of all rules follows its text.
pub(crate) const INDEX: &str = "docs/reference/rules.md";

/// Generates the table of the rules that CEL enforces.
pub(crate) fn generated() -> Result<Vec<Generated>> {
    let page = replace_between_marks(&read(CEL)?, "rules", &cel_table()?)?;
    Ok(vec![Generated::new(CEL, page)])
}

/// Generates the pages of all rules for the site: their text, source, default, and the response to the rejected example. `webhook_calls`
/// has a line for each rule: its id, a tab, and when the API server calls the webhook. The test `conditions` writes it.
pub(crate) fn pages(webhook_calls: &str) -> Result<Vec<Page>> {
    let calls = webhook_calls.lines().filter_map(|row| row.split_once('\t'));
    let calls: BTreeMap<_, _> = calls.collect();
    let pages = documented_rules().map(|rule| {
        Ok(Page {
            path: rule.page_path(),
            target: format!("rules/{}.md", rule.id()),
            text: page(rule, calls.get(rule.id()).copied())?,
        })
    });
    pages.collect()
}

/// Lists the rules in CEL and those that only the module enforces, by family. Excludes the rules about manifests, which neither of the
/// two enforces.
fn cel_table() -> Result<String> {
    let mut families: BTreeMap<&str, [Vec<String>; 2]> = BTreeMap::new();
    for rule in documented_rules().filter(|rule| !rule.is_for_manifests()) {
        let (family, name) = rule.id().split_once('/').context(rule.id())?;
        let [cel, module] = families.entry(family).or_default();
        let rules = if rule.cel_variables().is_empty() {
            module
        } else {
            cel
        };
        rules.push(format!("`{name}`"));
    }
    let mut text = "| rules | in CEL | only in the module |\n| --- | --- | --- |\n".to_owned();
    for (family, [cel, module]) in families {
        let [cel, module] = match (cel.is_empty(), module.is_empty()) {
            (true, _) => ["none".to_owned(), "all".to_owned()],
            (_, true) => ["all".to_owned(), "none".to_owned()],
            _ => [cel.join(", "), module.join(", ")],
        };
        writeln!(text, "| `{family}/` | {cel} | {module} |")?;
    }
    Ok(text)
}

/// Evaluates the rejected example of a rule.
pub(crate) fn rejection(rule: &Rule) -> Result<ValidationResponse> {
    let example = rule.documentation().rejected;
    let request: Value = from_str(&example.full_request())?;
    let settings: Value = from_str(example.settings)?;
    Ok(validate_example(rule, &request, &settings))
}

/// Returns the rules in the catalog, and the one that only the pods policy has.
pub(crate) fn documented_rules() -> impl Iterator<Item = &'static Rule> {
    rules().iter().copied().chain([queue_rule()])
}

fn default_level(rule: &Rule) -> String {
    let default = rule.default_enforcement();
    if rule.id().starts_with("status/") && default == Enforcement::Deny {
        return "`deny` on delegated objects, `warn` on objects of the built-in controller"
            .to_owned();
    }
    if rule.prevents_bypass() {
        return "`deny` with `role`, `controllers` or `namespaces`, else `warn`".to_owned();
    }
    format!("`{}`", default.as_str())
}

/// Returns the state tables of all kinds, for the page of `status/outcome-changed`.
fn allowed_transitions(rule: &Rule) -> Result<String> {
    if rule.id() != "status/outcome-changed" {
        return Ok(String::new());
    }
    let mut text =
        "| kind | from | to | controller | condition | source |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for kind in managed_by::kinds() {
        for row in kind.allowed_transitions() {
            let name = crate::kinds::name(kind);
            writeln!(
                text,
                "| {name} | {} | {} | {} | {} | {} |",
                row.from, row.to, row.reconciled_by, row.condition, row.source
            )?;
        }
    }
    Ok(text + "\n")
}

/// Returns true if the rule also applies to kinds that are not built in, where kube-apiserver does not check it.
fn is_for_custom_kinds(rule: &Rule) -> bool {
    let mut custom = managed_by::kinds()
        .iter()
        .filter(|kind| !kind.is_built_in());
    custom.any(|kind| rule.applies_to(kind))
}

/// Returns a table of the rules of each family, with links to their pages.
pub(crate) fn table() -> Result<String> {
    let mut text = String::new();
    for rules in families() {
        writeln!(
            text,
            "\n## {}\n\n| rule | default | runs in | description | source |\n| --- | --- | --- | --- | --- |",
            rules.first().map_or("", |rule| family(rule))
        )?;
        for rule in rules {
            let from = match (rule.is_upstream(), is_for_custom_kinds(rule)) {
                (true, true) => "kube-apiserver; this project for custom kinds",
                (true, false) => "kube-apiserver",
                (false, _) => "this project",
            };
            let (id, page) = (rule.id(), rule.page_path());
            let default = match rule.default_enforcement().as_str() {
                _ if rule.prevents_bypass() => "warn, or deny (see the page)",
                level => level,
            };
            let (title, place) = (rule.documentation().title, runs_in(rule));
            writeln!(
                text,
                "| [`{id}`](../../{page}) | {default} | {place} | {title} | {from} |"
            )?;
        }
    }
    Ok(text)
}

/// Returns the documented rules by family.
pub(crate) fn families() -> Vec<Vec<&'static Rule>> {
    let mut families: Vec<Vec<&'static Rule>> = Vec::new();
    for rule in documented_rules() {
        let known = families.iter_mut().find(|rules| {
            let first = rules.first();
            first.is_some_and(|first| family(first) == family(rule))
        });
        match known {
            Some(rules) => rules.push(rule),
            None => families.push(vec![rule]),
        }
    }
    families
}

/// Formats the objects of a request as manifests: the stored object, then the new one.
fn manifests(request: &str) -> Result<String> {
    let request: Yaml = serde_yaml_ng::from_str(request)?;
    let text = |value: &Yaml, name: &str| value.get(name).and_then(Yaml::as_str).map(str::to_owned);
    let kind = request.get("kind").context("a request without a kind")?;
    let version = text(kind, "version").unwrap_or_default();
    let mut written = match (
        text(&request, "operation").as_deref(),
        request.get("subResource"),
    ) {
        (_, Some(_)) => "status update".to_owned(),
        (operation, None) => operation.unwrap_or_default().to_lowercase(),
    };
    if let Some(user) = request
        .get("userInfo")
        .and_then(|user| text(user, "username"))
    {
        write!(written, ", by {user}")?;
    }
    let served_version = request
        .get("requestKind")
        .and_then(|kind| text(kind, "version"));
    if let Some(served_version) = served_version.filter(|served_version| *served_version != version)
    {
        write!(written, ", through version {served_version}")?;
    }
    let group = text(kind, "group").filter(|group| !group.is_empty());
    let api_version = group.map_or_else(|| version.clone(), |group| format!("{group}/{version}"));
    let kind = text(kind, "kind").unwrap_or_default();
    let mut documents = Vec::new();
    for (member, comment) in [("oldObject", "stored"), ("object", &*written)] {
        if let Some(object) = request.get(member).filter(|object| !object.is_null()) {
            let object = serde_yaml_ng::to_string(object)?;
            documents.push(format!(
                "# {comment}\napiVersion: {api_version}\nkind: {kind}\n{object}"
            ));
        }
    }
    Ok(documents.join("---\n"))
}

fn runs_in(rule: &Rule) -> &'static str {
    if *rule == *queue_rule() {
        "the queues policy, for workloads for MultiKueue with a queue"
    } else if family(rule) == "pods" {
        "the pods policy"
    } else if rule.is_for_manifests() {
        "`lint` and `diff`"
    } else {
        "the policy and all tools"
    }
}

pub(crate) fn family(rule: &Rule) -> &str {
    rule.id().split('/').next().unwrap_or_default()
}

/// Writes the page of a rule: what it checks, examples, what to do, and where it runs.
fn page(rule: &Rule, webhook_calls: Option<&str>) -> Result<String> {
    let docs = rule.documentation();
    let response = rejection(rule)?;
    let mut text = format!(
        "# {}\n\n{}.\n\n{}\n\n{}## Examples\n",
        rule.id(),
        docs.title,
        docs.text,
        allowed_transitions(rule)?,
    );
    for (title, example) in [("Rejected", docs.rejected), ("Accepted", docs.accepted)] {
        let with = match example.settings {
            "{}" => String::new(),
            settings => format!(" with settings `{settings}`"),
        };
        write!(
            text,
            "\n{title}{with}:\n\n```yaml\n{}```\n",
            manifests(&example.request())?
        )?;
        if title == "Rejected" {
            let response = match (&response.code, &response.message) {
                (Some(code), Some(message)) => {
                    format!("The response, with code {code}:\n\n```text\n{message}\n```")
                }
                _ if response.warnings.is_empty() => {
                    bail!("{}: the rejected example is allowed", rule.id())
                }
                _ => format!(
                    "The request is allowed, with a warning:\n\n```text\n{}\n```",
                    response.warnings.join("\n")
                ),
            };
            write!(text, "\n{response}\n")?;
        }
    }
    // The playground supports neither lookups nor an object of 1 MiB.
    let is_short = docs.rejected.full_request() == docs.rejected.request();
    let request: Value = from_str(&docs.rejected.request())?;
    if is_short && request["kind"]["kind"] != "Pod" && *rule != *queue_rule() {
        writeln!(
            text,
            "\n[Change the rejected example in the playground]({PLAYGROUND}#rule={})",
            rule.id()
        )?;
    }
    write!(
        text,
        "\n## What to do\n\n{}\n\n## Where it runs\n\n- Runs in: {}\n- Default: {}\n- Source: {}\n",
        docs.fix,
        runs_in(rule),
        default_level(rule),
        rule.source(),
    )?;
    if let Some(calls) = webhook_calls {
        writeln!(text, "- {calls}")?;
    }
    if rule.is_upstream() && is_for_custom_kinds(rule) {
        text.push_str("- Source for custom kinds: this project\n");
    }
    if let RuleSource::Upstream {
        deviation: Some(deviation),
        ..
    } = *rule.source()
    {
        writeln!(text, "- Deviation: {deviation}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn pages_have_the_match_conditions_the_response_and_a_link_to_the_playground() {
        let pages = pages("managed-by/reserved\tIt calls the webhook").unwrap();
        let is_reserved = |page: &&super::Page| page.target == "rules/managed-by/reserved.md";
        let reserved = &pages.iter().find(is_reserved).unwrap().text;
        for part in [
            "\n- Default: `deny`\n",
            "\n- It calls the webhook\n",
            "\nspec:\n  managedBy: kubernetes.io/job-controller\n",
            "\nThe response, with code 422:\n\n```text\nJob.batch \"pi\" is invalid: ",
        ] {
            assert!(reserved.contains(part), "{part}: {reserved}");
        }
        let without = pages
            .iter()
            .filter(|page| !page.text.contains("/playground/#rule="));
        let without: Vec<_> = without.map(|page| &*page.target).collect();
        let unsupported = [
            "managed-by/object-too-large",
            "pods/delegated-owner",
            "delegation/unusable-queue",
        ];
        assert_eq!(without, unsupported.map(|id| format!("rules/{id}.md")));
    }
}
