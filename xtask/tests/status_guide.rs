//! Runs the examples in `docs/reference/job-status.md`: accepted updates are accepted, and each mistake gets the response shown below it.
//!
//! `UPDATE_EXPECT=1` updates the responses.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use std::{env, fs};

use managed_by::{Release, ReleaseSet};
use managed_by_testing::releases::{accepting_releases, denials, spec_update, status_update};
use serde_json::{Value, json};

const GUIDE: &str = "docs/reference/job-status.md";

/// State of reading the guide: the Job's current spec and status, and the expected next response.
struct Reader {
    spec: Value,
    status: Value,
    response: Option<String>,
    accepted: usize,
    mistakes: usize,
}

/// Returns the caption above a block. GitHub does not show the text after the language of a fence.
fn caption(info: &str) -> String {
    match info {
        "spec" => "**Spec**".to_owned(),
        "from" => "**Before**".to_owned(),
        "to" => "**Accepted**".to_owned(),
        "mistake" => "**Denied**".to_owned(),
        "update" => "**Accepted** (update of the spec)".to_owned(),
        "update mistake" => "**Denied** (update of the spec)".to_owned(),
        _ => format!(
            "**Accepted, but not by {}**",
            info.trim_start_matches("to except ")
        ),
    }
}

impl Reader {
    /// Reads a block, and returns its correct content if it is out of date.
    fn block(&mut self, info: &str, body: &str) -> Option<String> {
        let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
        if kind == "text" {
            assert_eq!(rest, "response", "{info}");
            let response = self.response.take().unwrap();
            return (response != body).then_some(response);
        }
        assert!(
            self.response.is_none(),
            "{info}: the mistake before this block has no response block"
        );
        let value: Value = serde_yaml_ng::from_str(body).unwrap();
        match rest {
            "spec" => self.spec = value,
            "from" => self.status = value,
            "mistake" => self.mistake(&status_update(&self.spec, &self.status, &value)),
            "update" => {
                let request = spec_update(&self.spec, &value, &self.status);
                self.accept(&request, ReleaseSet::all(), body);
            }
            "update mistake" => self.mistake(&spec_update(&self.spec, &value, &self.status)),
            _ => {
                let except = match rest.strip_prefix("to") {
                    Some("") => None,
                    Some(except) => Some(except.strip_prefix(" except ").unwrap()),
                    None => panic!("{info}: unknown type of block"),
                };
                let except = except.map(|release| release.parse::<Release>().unwrap());
                let all = Release::ALL.iter().copied();
                let releases = all.filter(|release| Some(*release) != except).collect();
                let request = status_update(&self.spec, &self.status, &value);
                self.accept(&request, releases, body);
                self.status = value;
            }
        }
        None
    }

    fn accept(&mut self, request: &Value, releases: ReleaseSet, body: &str) {
        assert_eq!(
            accepting_releases(request).unwrap().to_string(),
            releases.to_string(),
            "{body}{:#?}",
            denials(request)
        );
        self.accepted = self.accepted.saturating_add(1);
    }

    fn mistake(&mut self, request: &Value) {
        let denials = denials(request).unwrap();
        assert!(!denials.is_empty(), "{request}: no mistake");
        let lines = denials.iter().map(|denial| denial.line() + "\n");
        self.response = Some(lines.collect());
        self.mistakes = self.mistakes.saturating_add(1);
    }
}

#[test]
fn guide_shows_the_results_of_the_library() {
    let path = managed_by_testing::root(GUIDE);
    let text = fs::read_to_string(&path).unwrap();
    let mut reader = Reader {
        spec: json!({}),
        status: json!({}),
        response: None,
        accepted: 0,
        mistakes: 0,
    };
    let mut updated = String::new();
    let mut parts = text.split("```");
    updated.push_str(parts.next().unwrap());
    while let Some(block) = parts.next() {
        let (info, body) = block.split_once('\n').unwrap();
        if let Some(info) = info.strip_prefix("yaml ") {
            let caption = format!("\n\n{}\n\n", caption(info));
            assert!(
                updated.ends_with(&caption),
                "{info} without {caption}{body}"
            );
        }
        let response = reader.block(info, body);
        let body = response.as_deref().unwrap_or(body);
        updated.extend(["```", info, "\n", body, "```", parts.next().unwrap()]);
    }
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &updated).unwrap();
    }
    let first_difference = text.lines().zip(updated.lines()).find(|(a, b)| a != b);
    assert_eq!(
        first_difference, None,
        "UPDATE_EXPECT=1 updates the responses"
    );
    assert_eq!(text.len(), updated.len());
    assert_eq!(
        reader.response, None,
        "the last mistake has no response block"
    );
    assert!(reader.accepted > 10 && reader.mistakes > 1);
}
