use super::{Settings, SettingsError};

fn problems(json: &str) -> Vec<SettingsError> {
    let problems = Settings::from_json(json.as_bytes()).err();
    problems.map_or_else(Vec::new, |problems| problems.as_slice().to_vec())
}

fn texts(json: &str) -> Vec<String> {
    problems(json).iter().map(ToString::to_string).collect()
}

/// Each line of `problems.txt` has settings, followed by their problems and suggestions, indented. `UPDATE_EXPECT=1` writes the
/// problems.
#[test]
fn problems_have_path_and_suggestion() {
    let mut all = String::new();
    for line in include_str!("problems.txt").lines() {
        if !line.starts_with("    ") {
            all.extend([line, "\n"]);
        }
        if line.starts_with(['{', '[', '"', '1']) {
            for problem in problems(line) {
                let text = problem.to_string();
                assert!(text.starts_with(&format!("{}: ", problem.path())), "{text}");
                let is_unknown_key = text.contains("unknown ");
                assert!(problem.is_key() || !is_unknown_key, "{text}");
                all.extend(["    ", &text, "\n"]);
                if let Some(suggestion) = problem.suggestion() {
                    let part = if problem.is_key() { "key" } else { "value" };
                    all.extend(["        suggested ", part, ": ", suggestion, "\n"]);
                    let quoted = format!("\"{suggestion}\"");
                    assert!(text.contains(&quoted), "{text}");
                }
            }
        }
    }
    expect_test::expect_file!["problems.txt"].assert_eq(&all);
    // Empty settings are not a line of the file.
    let nothing = "settings: not JSON: EOF while parsing a value at line 1 column 0";
    assert_eq!(texts(""), [nothing]);
}

#[test]
fn empty_settings_are_the_default() {
    for json in [
        "{}",
        "null",
        " { } ",
        r#"{"rules":null,"kubernetes_version":null,"reserved_value":null}"#,
        r#"{"rules":{"managed-by/format":null}}"#,
    ] {
        assert_eq!(
            Settings::from_json(json.as_bytes()),
            Ok(Settings::default()),
            "{json}"
        );
    }
}

#[test]
fn lists_at_most_fifty_problems() {
    let json = |count: usize| {
        let keys: Vec<_> = (0..count).map(|i| format!(r#""x{i}":1"#)).collect();
        format!("{{{}}}", keys.join(","))
    };
    let text = |count| {
        let read = Settings::from_json(json(count).as_bytes()).map(|_| ());
        read.unwrap_err().to_string()
    };
    assert!(text(50).starts_with("invalid settings: 50 problems:\n- x0: "));
    assert_eq!(text(50).lines().count(), 51);
    assert!(text(51).starts_with("invalid settings: 51 problems:\n- x0: "));
    assert_eq!(text(51).lines().count(), 52);
    assert!(text(51).ends_with("\n- and 1 more"));
}

/// The maximum is valid, and one more is one problem.
#[test]
fn too_many_items_are_one_problem() {
    type Item = fn(usize) -> String;
    let rows: [(usize, Item, &str, &str); 5] = [
        (
            1024,
            |i| format!(r#""acme.io/{i}":"any""#),
            r#"{"controllers":{ITEMS}}"#,
            "controllers: Too many: 1025: must have at most 1024 items",
        ),
        (
            1024,
            |i| format!(r#"{{"match":["n{i}"],"delegation":"allowed"}}"#),
            r#"{"namespaces":[ITEMS]}"#,
            "namespaces: Too many: 1025: must have at most 1024 items",
        ),
        (
            16,
            |i| format!(r#""l{i}":"x""#),
            r#"{"namespaces":[{"matchLabels":{ITEMS},"delegation":"allowed"}]}"#,
            "namespaces[0].matchLabels: Invalid value: 17 labels: must have 1 to 16",
        ),
        (
            256,
            |i| format!("\"u{i}\""),
            r#"{"exempt":{"users":[ITEMS]}}"#,
            "exempt.users: Too many: 257: must have at most 256 items",
        ),
        (
            64,
            |i| format!(r#"{{"group":"a{i}.io","kind":"Job","plural":"jobs"}}"#),
            r#"{"custom_kinds":[ITEMS]}"#,
            "custom_kinds: Too many: 65: must have at most 64 items",
        ),
    ];
    for (most, item, frame, problem) in rows {
        let json = |count| {
            let items: Vec<_> = (0..count).map(item).collect();
            frame.replace("ITEMS", &items.join(","))
        };
        let valid = json(most);
        assert_eq!(Settings::from_json(valid.as_bytes()).err(), None, "{frame}");
        assert_eq!(texts(&json(most + 1)), [problem]);
    }
}

#[test]
fn patterns_are_limited() {
    // Patterns that never match are reported too, unless there are too many.
    let unreached = |entry: usize, item: usize, pattern: &str| {
        format!(
            "namespaces[{entry}].match[{item}]: Invalid value: {pattern:?}: is never reached, because namespaces[0] matches the same namespaces"
        )
    };
    let items = |i: usize| {
        (0..16)
            .map(|j| format!("\"n{i}-{j}\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let json = |entries: usize| {
        let entries: Vec<String> = (0..entries)
            .map(|i| format!(r#"{{"match":[{}],"delegation":"allowed"}}"#, items(i)))
            .collect();
        format!(r#"{{"namespaces":[{}]}}"#, entries.join(","))
    };
    assert!(Settings::from_json(json(256).as_bytes()).is_ok());
    assert_eq!(
        texts(&json(257)),
        ["namespaces: Too many: 4112: must have at most 4096 patterns"]
    );
    let twice = |entries: usize| {
        let last = entries - 1;
        json(entries).replace(&format!("n{last}-15"), "n0-0")
    };
    assert_eq!(texts(&twice(256)), [unreached(255, 15, "n0-0")]);
    assert_eq!(texts(&twice(257)).len(), 1);
    let with_star = |count: usize| {
        let entries: Vec<_> = (0..count)
            .map(|i| format!(r#"{{"match":["n{i}-*"],"delegation":"allowed"}}"#))
            .collect();
        format!(r#"{{"namespaces":[{}]}}"#, entries.join(","))
    };
    assert!(Settings::from_json(with_star(512).as_bytes()).is_ok());
    assert_eq!(
        texts(&with_star(513)),
        ["namespaces: Too many: 513: must have at most 512 patterns with *"]
    );
    let twice = |count: usize| with_star(count).replace(&format!("n{}-*", count - 1), "n0-*");
    assert_eq!(texts(&twice(512)), [unreached(511, 0, "n0-*")]);
    assert_eq!(texts(&twice(513)).len(), 1);
}
