//! Runs the examples in `docs/reference/job-status.md`: the releases above each update accept it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use std::fs;

use managed_by::{Release, ReleaseSet};
use managed_by_testing::releases::{accepting_releases, denials, spec_update, status_update};
use serde_json::{Value, json};

const GUIDE: &str = "docs/reference/job-status.md";

/// State of reading the guide: the Job's current spec and status.
struct Reader {
    spec: Value,
    status: Value,
    accepted: usize,
}

/// Returns the caption above a block. GitHub does not show the text after the language of a fence.
fn caption(info: &str) -> String {
    match info {
        "spec" => "**Spec**".to_owned(),
        "from" => "**Before**".to_owned(),
        "to" => "**Accepted**".to_owned(),
        "update" => "**Accepted** (update of the spec)".to_owned(),
        _ => format!(
            "**Accepted, but not by {}**",
            info.trim_start_matches("to except ")
        ),
    }
}

impl Reader {
    fn block(&mut self, info: &str, body: &str) {
        let value: Value = serde_yaml_ng::from_str(body).unwrap();
        match info {
            "spec" => self.spec = value,
            "from" => self.status = value,
            "update" => {
                let request = spec_update(&self.spec, &value, &self.status);
                self.accept(&request, ReleaseSet::all(), body);
            }
            _ => {
                let except = match info.strip_prefix("to") {
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
}

#[test]
fn guide_shows_the_results_of_the_library() {
    let text = fs::read_to_string(managed_by_testing::root(GUIDE)).unwrap();
    let mut reader = Reader {
        spec: json!({}),
        status: json!({}),
        accepted: 0,
    };
    let mut above = "";
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 0 {
            above = part;
            continue;
        }
        let (info, body) = part.split_once('\n').unwrap();
        let info = info.strip_prefix("yaml ").unwrap();
        let caption = format!("\n\n{}\n\n", caption(info));
        assert!(above.ends_with(&caption), "{info} without {caption}{body}");
        reader.block(info, body);
    }
    assert!(reader.accepted > 10);
}

/// Each arrow of the picture is a write that the table allows: without a label, in all releases.
#[test]
fn picture_agrees_with_the_table() {
    let page = fs::read_to_string(managed_by_testing::root(GUIDE)).unwrap();
    let cells = |start: &str| {
        let row = page.lines().find(|line| line.starts_with(start)).unwrap();
        row.split('|').map(str::trim).collect::<Vec<_>>()
    };
    let picture = managed_by_testing::root("docs/pictures/job-status.svg");
    let picture = fs::read_to_string(picture).unwrap();
    let arrows: Vec<_> = picture.split("<path id=\"").skip(1).collect();
    for arrow in &arrows {
        let (from, to) = arrow.split('"').next().unwrap().split_once('-').unwrap();
        let column = cells("| from \\ to |").iter().position(|c| *c == to);
        let label = arrow.contains(">1.31+<");
        let since = ReleaseSet::since(Release::V1_31).to_string();
        let expected = if label { &since } else { "yes" };
        let row = cells(&format!("| **{from}** |"));
        assert_eq!(row[column.unwrap()], expected, "{from} to {to}");
    }
    assert_eq!(arrows.len(), 8);
}
