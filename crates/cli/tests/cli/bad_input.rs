//! Bad input: a clear line on standard error that names the file and the place, the rest judged, exit code 2.

use std::fs;
use std::io::Write as _;

use crate::support::{Ran, run, run_in};

const GOOD: &str =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {managedBy: bad}\n";

/// Lints a bad file beside a good one, whose denial must be told all the same.
fn lint(name: &str, bytes: &[u8]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    fs::write(folder.path().join("zz-good.yaml"), GOOD).unwrap();
    let ran = run_in(folder.path(), &["lint", "."], b"");
    assert!(ran.out.contains("managed-by/format"), "{ran:?}");
    ran
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_judged() {
    let two_megabytes = format!(
        "apiVersion: batch/v1\nkind: Job\nspec: {{managedBy: [{}]}}\n",
        "x".repeat(2 << 20)
    );
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let ten = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs = format!("{laughs}a{level}: &a{level} [{ten}]\n");
    }
    let utf_16: Vec<u8> = "\u{feff}kind: Job\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (name, bytes, expected) in [
        ("empty.yaml", &b""[..], "error: empty.yaml: is empty\n"),
        (
            "binary.json",
            b"\x7fELF\x00\x01\x02",
            "error: binary.json: is a binary file, expected YAML or JSON\n",
        ),
        (
            "utf16.yaml",
            &utf_16,
            "error: utf16.yaml: is UTF-16, expected UTF-8\n",
        ),
        (
            "latin1.yaml",
            b"a: 1\nb: \xe4\n",
            "error: latin1.yaml:2:4: is not UTF-8\n",
        ),
        ("tab.yaml", b"spec:\n\tx: 1\n", "error: tab.yaml:2:"),
        (
            "twice.yaml",
            b"a: 1\nb: 2\na: 3\n",
            "error: twice.yaml:3:1: key \"a\" is given twice, first on line 1\n",
        ),
        (
            "laughs.yaml",
            laughs.as_bytes(),
            "error: laughs.yaml:1:25: its aliases make more than ",
        ),
        (
            "cut.json",
            b"{\"kind\": \"Job\",\n \"spec\": {",
            "error: cut.json:2:10: not JSON: EOF while parsing",
        ),
        (
            "word.yaml",
            b"just a word\n",
            "error: word.yaml:1:1: expected an object\n",
        ),
        (
            "number.yaml",
            b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec:\n  managedBy: 5\n",
            "error: Job.batch default/pi: spec.managedBy: expected a string, got a number\n --> number.yaml:5:14\n",
        ),
        (
            "long.yaml",
            two_megabytes.as_bytes(),
            "spec.managedBy: expected a string, got an array\n",
        ),
    ] {
        let ran = lint(name, bytes);
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.err.contains(expected), "{name}: {}", ran.err);
        assert!(ran.err.len() < 2000, "{name}: {} bytes", ran.err.len());
    }
}

#[test]
fn what_is_only_unusual_is_read() {
    for (name, bytes) in [
        ("crlf.yaml", GOOD.replace('\n', "\r\n")),
        ("mark.yaml", format!("\u{feff}{GOOD}")),
        ("alias.yaml", "apiVersion: batch/v1\nkind: Job\nx: &m bad\nspec: {managedBy: *m}\n".to_owned()),
        ("tabs.json", "{\"apiVersion\":\t\"batch/v1\",\n\t\"kind\": \"Job\",\n\t\"spec\": {\"managedBy\": \"bad\"}}".to_owned()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
        let ran = run_in(folder.path(), &["lint", name], b"");
        assert_eq!(ran.code, 1, "{name}: {ran:?}");
        assert!(ran.out.contains("\"bad\""), "{name}: {}", ran.out);
    }
    // A byte order mark is no column.
    let ran = run(&["lint"], format!("\u{feff}{GOOD}").as_bytes());
    assert!(ran.out.contains("stdin:4:19"), "{}", ran.out);
}

#[test]
fn a_folder_without_manifests_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let ran = run_in(folder.path(), &["lint", "empty", "gone.yaml"], b"");
    assert_eq!(ran.code, 2);
    let expected =
        "error: empty: holds no manifests (.yaml, .yml or .json)\nerror: gone.yaml: no such file\n";
    assert!(ran.err.starts_with(expected), "{}", ran.err);
}

#[test]
fn bad_usage_and_bad_settings_are_exit_code_2() {
    for (args, stdin, expected) in [
        (
            &["lint", "--rule", "managed-by/formt=off"][..],
            "",
            "no rule is called managed-by/formt",
        ),
        (
            &["lint", "--rule", "managed-by/format=of"],
            "",
            "got of, expected deny, warn or off",
        ),
        (
            &["lint", "--kubernetes", "1.99"],
            "",
            "expected a release from 1.30 to 1.37, a range such as 1.31-1.33 or 1.31+, or all",
        ),
        (
            &["explain", "no/such"],
            "",
            "error: no rule is called no/such",
        ),
        (
            &["rules", "--family", "x"],
            "",
            "error: no family is called x, expected one of managed-by",
        ),
        (
            &["rules", "--kind", "Pod"],
            "",
            "error: no kind is called Pod, expected one of Job",
        ),
        (&["man", "x"], "", "error: there is no command x"),
        (
            &["lint", "--settings", "-", "deploy"],
            "role: boss\n",
            "role: got \"boss\", expected one of hybrid",
        ),
        (
            &["lint", "--settings", "no/such", "deploy"],
            "",
            "error: no/such: no such file",
        ),
        (
            &["settings", "check", "-"],
            "kind: Job\napiVersion: batch/v1\n",
            "error: stdin: holds no settings",
        ),
        (&["settings", "check", "-"], "a: [", "error: stdin:"),
    ] {
        let ran = run(args, stdin.as_bytes());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{args:?}");
    }
}

#[test]
fn settings_are_found_wherever_people_have_them() {
    for settings in ["examples/settings/management.yml", "deploy/management.yml"] {
        let ran = run(
            &["lint", "--settings", settings],
            GOOD.replace(": bad", ": a.io/x").as_bytes(),
        );
        assert_eq!(ran.code, 1, "{settings}: {ran:?}");
        assert!(
            ran.out.contains("managed-by/allowed"),
            "{settings}: {}",
            ran.out
        );
    }
    // What the arguments say is put over them.
    let args = [
        "lint",
        "--rule",
        "managed-by/format=off",
        "--rule",
        "managed-by/reserved-domain=deny",
    ];
    let ran = run(&args, GOOD.as_bytes());
    assert_eq!((ran.code, &*ran.out), (0, ""), "{ran:?}");
    assert_eq!(
        run(
            &["lint", "--rule", "managed-by/format=warn"],
            GOOD.as_bytes()
        )
        .code,
        0
    );
    let args = [
        "lint",
        "--rule",
        "managed-by/format=warn",
        "--deny-warnings",
    ];
    assert_eq!(run(&args, GOOD.as_bytes()).code, 1);
}

/// Requests that make no sense are answered with code 400, as by the policy, and could not be judged.
#[test]
fn a_review_of_nonsense_is_answered() {
    let good =
        r#"{"uid":"2","kind":{"group":"","version":"v1","kind":"Pod"},"operation":"DELETE"}"#;
    let stdin = format!("{{\"uid\":\"1\",\"operation\":\"CREATE\"}}\n{good}\n");
    let ran = run(&["review", "-o", "ndjson"], stdin.as_bytes());
    assert_eq!(ran.code, 2);
    let lines: Vec<_> = ran.out.lines().collect();
    assert!(
        lines[0].contains("\"code\":400") && lines[0].contains("request.kind: expected"),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains("\"allowed\":true"), "{}", lines[1]);
    assert!(
        ran.err
            .contains("error: malformed admission request: kind: expected an object"),
        "{}",
        ran.err
    );
}

/// Whoever pipes into `head` does not see an error.
#[test]
fn a_broken_pipe_ends_quietly() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_managed-by"))
        .args(["rules", "-o", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}

/// What was written before a file was cut is judged.
#[test]
fn a_cut_archive_is_judged_as_far_as_it_goes() {
    let trace = fs::read(xtask::root("conformance/traces/child-jobs.ndjson")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&trace).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&*trace, 1).unwrap();
    let plain = run(&["replay", "--kubernetes", "1.30"], &trace);
    assert_eq!(plain.code, 1);
    for (name, packed) in [("gzip", gzip), ("zstd", zstd)] {
        let whole = run(&["replay", "--kubernetes", "1.30"], &packed);
        assert_eq!((whole.code, &whole.out), (1, &plain.out), "{name}");
        let (half, _) = packed.split_at(packed.len() / 2);
        let cut = run(&["replay", "--kubernetes", "1.30"], half);
        assert_eq!(cut.code, 2, "{name}: {cut:?}");
        assert!(
            cut.err.contains(&format!(
                "error: stdin: is {name} that was cut or damaged: "
            )),
            "{}",
            cut.err
        );
        assert!(cut.out.contains("job-status/"), "{name}: {cut:?}");
    }
}

/// The API server takes the last of members that are given twice, and so does the policy.
#[test]
fn the_last_request_of_a_review_counts() {
    let request = r#"{"uid":"b","operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},"object":{"metadata":{"name":"x"},"spec":{"managedBy":"bad"}}}"#;
    let review = format!("{{\"request\":{{\"uid\":\"a\"}},\"request\":{request}}}");
    for twice in [
        review,
        request.replacen('{', "{\"operation\":\"DELETE\",", 1),
    ] {
        let ran = run(&["review", "-o", "ndjson"], twice.as_bytes());
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("\"uid\":\"b\""), "{}", ran.out);
    }
}
