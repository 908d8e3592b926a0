//! Compares parsed documents with kubectl's own decoder (`parity/kubectl`).

use managed_by_offline::Document;
use serde_json::Value;

const RESULTS: &str = include_str!("../../../parity/kubectl/results.ndjson");
const PAGE: &str = include_str!("../../../parity/README.md");

/// Rows that kubectl accepts and this project rejects, with the position.
const ONLY_KUBECTL_ACCEPTS: [&str; 8] = [
    "binary",
    "NEL as a line end",
    "LS as a line end",
    "PS as a line end",
    "LS in a plain scalar",
    "NEL in a quoted scalar",
    "LS in a quoted scalar",
    "LS in a block scalar",
];

/// Rows that kubectl rejects and this project accepts. This is harmless, because kubectl does not send such a document.
const ONLY_KUBECTL_REJECTS: [&str; 22] = [
    "a duplicate key in a flow map",
    "a tab after a dash",
    "a tab in a flow map",
    "a tab on an empty line",
    "a %YAML 1.1 directive",
    "a %YAML 1.2 directive",
    "a %YAML directive with an unknown version",
    "a %TAG directive",
    "an unknown directive",
    "a flow map on the separator line",
    "a flow map on the second separator line",
    "a scalar on the separator line",
    "a tag on the separator line",
    "JSON before YAML",
    "JSON before YAML before JSON",
    "YAML with an escaped slash",
    "a trailing comma in JSON",
    "JSON with single quotes",
    "a flow map without values",
    "a flow map without a space after the colon",
    "a quoted key without a space after the colon",
    "a JSON number with a leading zero",
];

/// Returns the documents before the first malformed part, as JSON, and the error.
fn read(text: &str) -> (Vec<String>, Option<String>) {
    let (mut documents, mut malformed) = (Vec::new(), None);
    Document::for_each(text, |document| match document {
        Ok(document) if malformed.is_none() => documents.push(document.json().to_owned()),
        Ok(_) => {}
        Err(error) => malformed = malformed.take().or_else(|| Some(error.to_string())),
    });
    (documents, malformed)
}

/// Returns true if two JSON texts are equal to Go, for which `1.0` equals 1.
fn is_same(a: &str, b: &str) -> bool {
    fn is_same_value(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_value(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, a)| b.get(key).is_some_and(|b| is_same_value(a, b)))
            }
            (a, b) => a == b,
        }
    }
    let value = |text| serde_json::from_str::<Value>(text);
    match (value(a), value(b)) {
        (Ok(a), Ok(b)) => is_same_value(&a, &b),
        // A Rust string cannot contain a lone surrogate.
        _ => a == b,
    }
}

/// Counts the rows accepted by both (with equal results), by kubectl only, by this project only, and by neither. Documents
/// before the rejected one must be equal too.
#[test]
fn documents_match_kubectl() {
    let mut wrong = Vec::new();
    let (mut both, mut only_kubectl_accepts, mut only_kubectl_rejects, mut neither) =
        (0, Vec::new(), Vec::new(), 0);
    for line in RESULTS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let name = row["name"].as_str().unwrap();
        let (documents, malformed) = read(row["text"].as_str().unwrap());
        let expected = row["documents"].as_array().unwrap();
        let expected: Vec<_> = expected.iter().map(|d| d.as_str().unwrap()).collect();
        let is_as_long = documents.len() == expected.len();
        match (row["error"].as_str(), &malformed) {
            (None, Some(_)) => only_kubectl_accepts.push(name.to_owned()),
            (Some(_), None) => only_kubectl_rejects.push(name.to_owned()),
            (None, None) | (Some(_), Some(_)) if !is_as_long => {
                wrong.push(format!("{name}: got {documents:?}, expected {expected:?}"));
            }
            (None, None) => both += 1,
            (Some(_), Some(_)) => neither += 1,
        }
        let mut pairs = documents.iter().zip(&expected);
        if !pairs.all(|(a, b)| is_same(a, b)) {
            wrong.push(format!("{name}: got {documents:?}, expected {expected:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong:#?} {only_kubectl_accepts:#?} {only_kubectl_rejects:#?}"
    );
    assert_eq!(only_kubectl_accepts, ONLY_KUBECTL_ACCEPTS);
    assert_eq!(only_kubectl_rejects, ONLY_KUBECTL_REJECTS);
    assert_eq!((both, neither), (89, 31));
    let sentence = format!(
        "Both read {both} of the {} texts alike, and both reject {neither}. ",
        RESULTS.lines().count()
    );
    for sentence in [
        sentence,
        format!(
            "The command line alone rejects {}, such as",
            ONLY_KUBECTL_ACCEPTS.len()
        ),
        format!(
            "kubectl alone rejects {}, such as",
            ONLY_KUBECTL_REJECTS.len()
        ),
    ] {
        assert!(PAGE.contains(&sentence), "{sentence}");
    }
}
