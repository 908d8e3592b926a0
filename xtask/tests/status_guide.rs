//! Runs every step of `docs/writing-job-status.md`: what it shows as accepted is accepted, and each mistake gets the answer that
//! stands below it. `UPDATE_GUIDE=1` writes the answers anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use std::{env, fs};

use managed_by::{Release, ReleaseSet};
use serde_json::{Value, json};
use xtask::releases::{accepting, denials, spec_update, status_update};

const GUIDE: &str = "docs/writing-job-status.md";

/// The guide as far as it has been read: the Job's spec and status, and the answer that comes next.
struct Reader {
    spec: Value,
    status: Value,
    answer: Option<String>,
    accepted: usize,
    mistakes: usize,
}

/// What stands above a block: GitHub does not show what stands after the fence's language.
fn caption(what: &str) -> String {
    match what {
        "spec" => "**Spec**".to_owned(),
        "from" => "**Before**".to_owned(),
        "to" => "**Accepted**".to_owned(),
        "mistake" => "**Denied**".to_owned(),
        "update" => "**Accepted** (update of the spec)".to_owned(),
        "update mistake" => "**Denied** (update of the spec)".to_owned(),
        _ => format!(
            "**Accepted, but not by {}**",
            what.trim_start_matches("to except ")
        ),
    }
}

impl Reader {
    /// Reads a block, and gives what it should hold instead, if that is something else.
    fn block(&mut self, info: &str, body: &str) -> Option<String> {
        let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
        if kind == "text" {
            assert_eq!(rest, "answer", "{info}");
            let answer = self.answer.take().unwrap();
            return (answer != body).then_some(answer);
        }
        assert!(self.answer.is_none(), "{info}: a mistake has its answer");
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
                    None => panic!("{info}: a block of what?"),
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
            accepting(request).unwrap().to_string(),
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
        self.answer = Some(lines.collect());
        self.mistakes = self.mistakes.saturating_add(1);
    }
}

#[test]
fn every_step_of_the_guide_is_answered_as_it_says() {
    let path = xtask::root(GUIDE);
    let text = fs::read_to_string(&path).unwrap();
    let mut reader = Reader {
        spec: json!({}),
        status: json!({}),
        answer: None,
        accepted: 0,
        mistakes: 0,
    };
    let mut made = String::new();
    let mut parts = text.split("```");
    made.push_str(parts.next().unwrap());
    while let Some(block) = parts.next() {
        let (info, body) = block.split_once('\n').unwrap();
        if let Some(what) = info.strip_prefix("yaml ") {
            let caption = format!("\n\n{}\n\n", caption(what));
            assert!(made.ends_with(&caption), "{info} without {caption}{body}");
        }
        let answer = reader.block(info, body);
        let body = answer.as_deref().unwrap_or(body);
        made.extend(["```", info, "\n", body, "```", parts.next().unwrap()]);
    }
    if env::var_os("UPDATE_GUIDE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let first_difference = text.lines().zip(made.lines()).find(|(a, b)| a != b);
    assert_eq!(
        first_difference, None,
        "UPDATE_GUIDE=1 writes the answers anew"
    );
    assert_eq!(text.len(), made.len());
    assert!(reader.accepted > 10 && reader.mistakes > 12);
}
