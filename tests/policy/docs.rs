//! What is generated into documentation from the code. `make docs` writes it anew; a test fails where it would change.

use std::fmt::Write as _;
use std::{env, fs};

use managed_by::Release;
use managed_by::catalogue::RULES;
use managed_by::rule::{Anchor, Rule};
use serde_json::{Value, from_str};

use crate::support::{natively, root};

fn anchor(rule: &Rule) -> String {
    match rule.anchor {
        Anchor::Upstream {
            function,
            option,
            since,
            until,
            ..
        } => {
            let to = until.unwrap_or_default().as_str();
            let option = option.map(|o| format!(" with `{o}`")).unwrap_or_default();
            format!(
                "kube-apiserver: `{function}`{option}, {} to {to}",
                since.as_str()
            )
        }
        Anchor::Ours { source } => format!("ours: {source}"),
    }
}

fn table() -> String {
    let mut text =
        "| rule | default | checks that | from |\n| --- | --- | --- | --- |\n".to_owned();
    for rule in RULES {
        let from = if rule.is_upstream() {
            "kube-apiserver"
        } else {
            "this project"
        };
        let (id, default) = (rule.id, rule.default.as_str());
        let link = id.replace('/', "");
        let mut title = rule.documentation().title.to_owned();
        title.get_mut(..1).unwrap().make_ascii_lowercase();
        writeln!(
            text,
            "| [`{id}`](docs/rules.md#{link}) | {default} | {title} | {from} |"
        )
        .unwrap();
    }
    text
}

fn pretty(json: &str) -> String {
    let value: Value = from_str(json).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

fn rules() -> String {
    let mut text =
        "# Rules\n\nGenerated from the code (`make docs`); the examples are run by the tests.\n"
            .to_owned();
    for rule in RULES {
        let request: Value = from_str(rule.documentation().rejected.request).unwrap();
        let settings: Value = from_str(rule.documentation().rejected.settings).unwrap();
        let message = natively(&request, &settings).message.unwrap();
        write!(
            text,
            "\n## {}\n\n{}.\n\n{}\n\n- Default: `{}`\n- Source: {}\n",
            rule.id,
            rule.documentation().title,
            rule.documentation().text,
            rule.default.as_str(),
            anchor(rule),
        )
        .unwrap();
        if let Anchor::Upstream {
            deviation: Some(deviation),
            ..
        } = rule.anchor
        {
            writeln!(text, "- Deviation: {deviation}").unwrap();
        }
        for (title, example) in [
            ("Accepted", rule.documentation().accepted),
            ("Rejected", rule.documentation().rejected),
        ] {
            let with = match example.settings {
                "{}" => String::new(),
                settings => format!(" with settings `{settings}`"),
            };
            write!(
                text,
                "\n{title}{with}:\n\n```json\n{}\n```\n",
                pretty(example.request)
            )
            .unwrap();
        }
        write!(text, "\n```text\n{message}\n```\n").unwrap();
    }
    text
}

/// What to read in a new release: upstream's functions with the options that they are given, and the rules that follow
/// them.
fn anchors() -> String {
    let mut functions: Vec<(&str, Vec<String>)> = Vec::new();
    for rule in RULES {
        let Anchor::Upstream {
            function,
            option,
            since,
            until,
            ..
        } = rule.anchor
        else {
            continue;
        };
        let option = option.map_or_else(|| "always".to_owned(), |o| format!("`{o}`"));
        let releases = match (since.as_str(), until) {
            (since, Some(until)) if since == until.as_str() => format!("{since} only"),
            (since, Some(until)) => format!("{since} to {}", until.as_str()),
            ("1.30", None) => "all".to_owned(),
            (since, None) => format!("{since} on"),
        };
        let row = format!("| {option} | {releases} | `{}` |\n", rule.id);
        match functions.iter_mut().find(|(known, _)| *known == function) {
            Some((_, rows)) => rows.push(row),
            None => functions.push((function, vec![row])),
        }
    }
    let mut text = String::new();
    for (function, rows) in functions {
        let rows = rows.concat();
        write!(
            text,
            "\n`{function}`\n\n| switched on by | releases | rule |\n| --- | --- | --- |\n{rows}"
        )
        .unwrap();
    }
    text
}

/// A file with what stands between the two marks of that name made anew.
fn between_marks(file: &str, mark: &str, made: &str) -> String {
    let text = fs::read_to_string(root(file)).unwrap();
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
    let (before, rest) = text.split_once(&open).unwrap();
    let (_, after) = rest.split_once(&close).unwrap();
    format!("{before}{open}{made}{close}{after}")
}

#[test]
fn generated_documentation_is_up_to_date() {
    for (file, text) in [
        ("docs/rules.md", rules()),
        ("README.md", between_marks("README.md", "rules", &table())),
        (
            "docs/conformance.md",
            between_marks("docs/conformance.md", "anchors", &anchors()),
        ),
    ] {
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(root(file), &text).unwrap();
        }
        let committed = fs::read_to_string(root(file)).unwrap_or_default();
        assert_eq!(committed, text, "{file}: make docs");
    }
}

/// Releases stand in code, in the README and in the oracle's module files.
#[test]
fn the_same_releases_are_named_everywhere() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let makefile = fs::read_to_string(root("Makefile")).unwrap();
    let all = Release::ALL.map(Release::as_str);
    assert!(makefile.contains(&format!("RELEASES := {}\n", all.join(" "))));
    assert!(readme.contains(&format!("`\"{}\"` to `\"{}\"`", all[0], all[7])));
    for release in all {
        assert!(
            root(&format!("conformance/oracle/v{release}.mod")).exists(),
            "{release}"
        );
    }
}
