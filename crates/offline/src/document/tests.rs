//! Tests of parsed documents and the positions of their values.

use super::Document;
use crate::path::Path;

fn json(text: &str) -> Vec<Result<String, String>> {
    let documents = Document::parse_all(text).into_iter();
    documents
        .map(|d| match d {
            Ok(document) => Ok(document.json().to_owned()),
            Err(malformed) => Err(malformed.to_string()),
        })
        .collect()
}

fn ok(text: &str) -> String {
    let mut all = json(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0).unwrap()
}

fn malformed(text: &str) -> String {
    let mut all = json(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0).unwrap_err()
}

/// Cases not covered by `tests/kubectl.rs`. The one with `%YAML` differs: kubectl rejects it.
#[test]
fn yaml_converts_to_json_as_in_kubectl() {
    for (yaml, expected) in [
        ("a: !!str 1", "{\"a\":\"1\"}"),
        ("a: !python/name:x", "{\"a\":\"\"}"),
        ("a: !x 1", "{\"a\":\"1\"}"),
        ("a: ! 1", "{\"a\":\"1\"}"),
        // Quoted text and flow collections may end at or left of the indentation of their key.
        (
            "a:\n  b: \"x\n  y\n\"\nc: 1",
            "{\"a\":{\"b\":\"x y \"},\"c\":1}",
        ),
        (
            "a:\n  b: {\n    x: 1\n  }\n  c: [\n    1\n  ]\n",
            "{\"a\":{\"b\":{\"x\":1},\"c\":[1]}}",
        ),
        ("a:\n- b: {\n  x: 1\n}\n", "{\"a\":[{\"b\":{\"x\":1}}]}"),
        ("%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}"),
        ("\t\n{\"a\":\t1}", "{\"a\":\t1}"),
    ] {
        assert_eq!(ok(yaml), expected, "{yaml}");
    }
}

#[test]
fn malformed_document_does_not_affect_others() {
    let text = "# Source: chart\n---\na: 1\n---\na: [\n---\n# nothing\n---\nb: 2\n";
    let all = json(text);
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(all[0].as_deref(), Ok("{\"a\":1}"));
    assert!(all[1].as_ref().unwrap_err().starts_with("line "), "{all:?}");
    assert_eq!(all[2].as_deref(), Ok("{\"b\":2}"));
    assert_eq!(json("{\"a\":1}\n{\"b\":2}").len(), 2);
    assert_eq!(json(""), []);
    assert_eq!(json("# only a comment\n"), []);
}

/// Covers truncated NDJSON lines and truncated lists.
#[test]
fn malformed_value_does_not_affect_others() {
    for (text, expected) in [
        (
            "{\"a\":1}\n{\"a\":\n{\"b\":2}\n{\"c\":3}",
            &["{\"a\":1}", "line 4", "{\"b\":2}", "{\"c\":3}"][..],
        ),
        (
            "{\"a\":1}\n{\"a\":2}}\n{\"b\":2}",
            &["{\"a\":1}", "{\"a\":2}", "line 2", "{\"b\":2}"],
        ),
        ("{\"a\":1}\n\n  {\"b\":\n", &["{\"a\":1}", "line 4"]),
        (
            "[\n{\"a\":1},\n{\"a\":}\n]\n{\"b\":2}",
            &["line 3", "{\"b\":2}"],
        ),
    ] {
        let all = json(text);
        assert_eq!(all.len(), expected.len(), "{all:?}");
        for (read, expected) in all.iter().zip(expected) {
            match read {
                Ok(json) => assert_eq!(json, expected),
                Err(malformed) => assert!(
                    malformed.starts_with(&format!("{expected},")),
                    "{malformed}"
                ),
            }
        }
    }
}

#[test]
fn errors_have_positions() {
    for (text, expected) in [
        (
            "a:\n  b: .inf",
            "line 2, column 6: invalid number: not finite",
        ),
        (
            "a: *x",
            "line 1, column 4: invalid YAML: while parsing node, found unknown anchor",
        ),
        (
            "a: &x [*x]",
            "line 1, column 8: invalid alias: the value contains itself",
        ),
        (
            "? [a]\n: b",
            "line 1, column 3: invalid key: expected a string",
        ),
    ] {
        assert_eq!(malformed(text), expected, "{text}");
    }
}

/// Covers a "billion laughs" document, and collections that are nested too deeply, in flow and block style.
#[test]
fn aliases_and_nesting_are_bounded() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let before = level - 1;
        let ten = vec![format!("*a{before}"); 10].join(", ");
        text = format!("{text}a{level}: &a{level} [{ten}]\n");
    }
    assert!(
        malformed(&text).contains("aliases expand the document to more than "),
        "{}",
        malformed(&text)
    );
    let deep = "[".repeat(300) + &"]".repeat(300);
    let deep = malformed(&format!("a: {deep}"));
    assert!(deep.contains("recursion limit exceeded"), "{deep}");
    let deep: Vec<_> = (0..300).map(|i| " ".repeat(i) + "a:").collect();
    let deep = malformed(&deep.join("\n"));
    assert!(deep.contains("nested deeper than 200 levels"), "{deep}");
}

/// Merge keys are bounded too, because they add tree entries before the document is written.
#[test]
fn merge_keys_are_bounded() {
    let keys: Vec<_> = (0..2000).map(|i| format!("k{i}: v")).collect();
    let defaults = format!("a: &a {{{}}}\n", keys.join(", "));
    // A realistic number for a chart.
    let few = format!("{defaults}b:\n{}", "- {<<: *a}\n".repeat(20));
    assert_eq!(ok(&few).matches("\"k1999\":\"v\"").count(), 21);
    for each in ["- {<<: *a}\n", "- {<<: [*a, *a, *a]}\n"] {
        let many = format!("{defaults}b:\n{}", each.repeat(2000));
        let malformed = malformed(&many);
        let expected = "line 1, column 7: merge keys expand the document to more than ";
        assert!(malformed.starts_with(expected), "{malformed}");
    }
}

/// The parser's markers count characters; lines and columns must still be right.
#[test]
fn positions_do_not_depend_on_preceding_text() {
    for (before, after) in [
        ("", ""),
        ("# \u{e4}\u{1f600}\r\nx: \u{e4} # \u{e4}\r\n", "\r\n"),
        ("%YAML 1.1\n--- # \u{e4}\n", ""),
        ("x: |\n  \u{e4}\n   \u{1f600}\n\n", ""),
        ("x: >-\r\n  \u{e4}\r\n\r\n  b\r\n", ""),
        ("x: \"\u{e4}\\\n  \u{e4}\\u00e4\"\n", ""),
        ("x: '\u{e4}''\n\n  b'\n", ""),
        ("x: [\u{e4}, \t\u{e4} ,\n \u{e4}] # \u{e4}\n", ""),
        ("? \u{e4}\n: \u{e4}\n", ""),
        ("x: !!str \u{e4}\ny: &\u{e4} \u{e4}\nz: *\u{e4}\n", ""),
        ("x: \u{e4}\n  b\n\n  c\n", ""),
    ] {
        for fill in [0, 1, 63, 64, 65, 1000] {
            let fill = "\u{e4}".repeat(fill);
            let text = format!("{before}\"k{fill}\": &name \"{fill}\"\nwanted: me{after}");
            let document = Document::parse_all(&text).remove(0).unwrap();
            let located = document.locate(&Path::parse("wanted"));
            assert_eq!(text.get(located.span), Some("me"), "{text}");
            assert_eq!(located.column, 9, "{text}");
            let line = text.split("wanted").next().unwrap().matches('\n').count() + 1;
            assert_eq!(located.line, line, "{text}");
        }
    }
}

#[test]
fn mapping_with_many_keys_is_complete() {
    let lines: Vec<_> = (0..20_000).map(|i| format!("k{i}: v\n")).collect();
    let text = lines.concat();
    let mut json: Vec<_> = (0..20_000).map(|i| format!("\"k{i}\":\"v\"")).collect();
    // kubectl sorts the keys too.
    json.sort_unstable();
    assert_eq!(ok(&text), format!("{{{}}}", json.join(",")));
    for known in [0, 15, 16, 17, 19_999] {
        let twice = format!("{text}k{known}: w\n");
        let expected = format!(
            "line 20001, column 1: duplicate field \"k{known}\", first on line {}",
            known + 1
        );
        assert_eq!(malformed(&twice), expected);
    }
}

#[test]
fn path_resolves_to_its_value_or_the_nearest_enclosing_one() {
    let yaml =
        "apiVersion: batch/v1\nspec:\n  managedBy: \"a.io/x\"\n  list:\n  - name: ä\n    x: y\n";
    let inside = "{\n  \"apiVersion\": \"batch/v1\",\n  \"spec\": {\"managedBy\": \"a.io/x\", \"list\": [{\"x\": \"y\"}]}\n}";
    for (text, path, place, shown, is_exact) in [
        (yaml, "spec.managedBy", (3, 14), "\"a.io/x\"", true),
        (yaml, "spec.list[0].x", (6, 8), "y", true),
        (yaml, "spec.list[0].z", (5, 5), "", false),
        (yaml, "spec.absent.more", (2, 1), "spec", false),
        (yaml, "spec", (2, 1), "spec", true),
        (inside, "spec.managedBy", (3, 25), "\"a.io/x\"", true),
        (inside, "spec.list[0].x", (3, 50), "\"y\"", true),
    ] {
        let documents = Document::parse_all(text);
        let document = documents.into_iter().next().unwrap().unwrap();
        let located = document.locate(&Path::parse(path));
        assert_eq!((located.line, located.column), place, "{path}");
        assert_eq!(located.is_exact, is_exact, "{path}");
        if !shown.is_empty() {
            assert_eq!(text.get(located.span), Some(shown), "{path}");
        }
    }
}

#[test]
fn comment_of_helm_names_the_template() {
    let text = "---\n# Source: app/templates/job.yaml\na: 1\n---\n# Source: app/charts/db/crds/x.yaml\r\na: 1\n\
        ---\n# Source: https://example.com/templates/job.yaml\na: 1\n---\na: 1\n# Source: app/templates/job.yaml\n";
    let documents = Document::parse_all(text);
    let templates: Vec<_> = documents
        .iter()
        .map(|document| document.as_ref().unwrap().helm_template())
        .collect();
    assert_eq!(
        templates,
        [
            Some(("app/templates/job.yaml", 2)),
            Some(("app/charts/db/crds/x.yaml", 5)),
            None,
            None
        ]
    );
    assert_eq!(
        Document::parse_all("{}").remove(0).unwrap().helm_template(),
        None
    );
}
