//! `lint --fix`: only the bytes of the value change, or nothing.

use std::fs;

use crate::support::run_in;

/// Runs it on a file, and gives the file with what was said.
fn fix(name: &str, text: &[u8], args: &[&str]) -> (i32, Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    let args = [&["lint", "--fix", name][..], args].concat();
    let ran = run_in(folder.path(), &args, b"");
    (ran.code, fs::read(file).unwrap(), ran.err)
}

const MEANT: &str = "kubernetes.io/job-controller";

/// What stands behind the field, and where else; `VALUE` is what is mistyped.
fn job(field: &str) -> String {
    format!(
        "# a comment\r\napiVersion: batch/v1 # another\nkind:   Job\nmetadata: {{name: pi, labels: {{a: &l kubernetes.io/job-controler}}}}\nspec:\n  managedBy: {field}\n  parallelism: 2 # one more\n"
    )
}

#[test]
fn only_the_bytes_of_the_value_change() {
    for field in [
        "VALUE",
        "VALUE   # why",
        "\"VALUE\"",
        "'VALUE' # why",
        "\n    VALUE",
        ">-\n    VALUE",
        "\"VALUE\"\r",
    ] {
        let wrong = job(&field.replace("VALUE", "kubernetes.io/job-controler"));
        let right = job(&field.replace("VALUE", MEANT));
        let (code, fixed, err) = fix("job.yaml", wrong.as_bytes(), &[]);
        assert_eq!(String::from_utf8(fixed).unwrap(), right, "{err}");
        assert_eq!(
            (code, &*err),
            (0, "1 object judged: 0 denied, 0 with warnings; 1 fixed\n")
        );
    }
    // With a byte order mark, in a list, in JSON, in two documents.
    let wrong = job("kubernetes.io/job-controler");
    let two = format!(
        "\u{feff}---\n{wrong}---\n{{\"apiVersion\": \"batch/v1\", \"kind\": \"JobList\", \"items\": [{{\"metadata\": {{\"name\": \"b\"}}, \"spec\": {{\"managedBy\":\"kubernetes.io/job-controler\"}}}}]}}\n"
    );
    let (code, fixed, err) = fix("job.yaml", two.as_bytes(), &[]);
    let label = "&l kubernetes.io/job-controler";
    let right = two
        .replace("controler", "controller")
        .replace(&label.replace("controler", "controller"), label);
    assert_eq!(String::from_utf8(fixed).unwrap(), right);
    assert!(code == 0 && err.ends_with("; 2 fixed\n"), "{err}");
}

const WHY: &str = "it has an anchor, a tag, an escape or several lines";

#[test]
fn what_would_lose_something_is_left_alone() {
    for (field, why) in [
        ("*l", WHY),
        ("&m kubernetes.io/job-controler", WHY),
        ("!!str kubernetes.io/job-controler", WHY),
        ("&m\n    kubernetes.io/job-controler", WHY),
        ("\"kubernetes.io/job\\x2dcontroler\"", WHY),
    ] {
        let text = job(field);
        let (code, left, err) = fix("job.yaml", text.as_bytes(), &[]);
        assert_eq!(String::from_utf8(left).unwrap(), text, "{field}");
        assert_eq!(code, 0);
        assert!(
            err.contains("help: job.yaml:") && err.contains(": not fixed: ") && err.contains(why),
            "{field}: {err}"
        );
    }
    // A value that is merged into two objects.
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\nspec:\n";
    let both = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}- {}",
        format!(
            "{}  x: &x\n    managedBy: kubernetes.io/job-controler\n",
            job.replace("NAME", "a")
        )
        .replace('\n', "\n  ")
        .trim_end_matches(' '),
        format!("{}  <<: *x\n", job.replace("NAME", "b"))
            .replace('\n', "\n  ")
            .trim_end_matches(' '),
    );
    let (_, left, err) = fix("job.yaml", both.as_bytes(), &[]);
    assert_eq!(String::from_utf8(left).unwrap(), both);
    assert!(
        err.contains("help: job.yaml: not fixed: more than the values would be different\n"),
        "{err}"
    );
}

#[test]
fn what_nobody_can_mean_is_not_guessed() {
    let other = job("runner");
    let (code, left, _) = fix("job.yaml", other.as_bytes(), &[]);
    assert_eq!((code, left), (1, other.into_bytes()));
    let excepted = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: {managed-by-policy.github.io/except: 'managed-by/reserved-domain: ours'}}\nspec: {managedBy: kubernetes.io/job-controler}\n";
    let (code, left, _) = fix("job.yaml", excepted.as_bytes(), &[]);
    assert_eq!((code, left), (0, excepted.into()));
    // Standard input is no file.
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(
        folder.path(),
        &["lint", "--fix"],
        job("kubernetes.io/job-controler").as_bytes(),
    );
    assert_eq!(
        (ran.code, &*ran.err),
        (
            2,
            "error: stdin: cannot be written: it is no file\n0 objects judged: 0 denied, 0 with warnings; 1 could not be judged\n"
        )
    );
}
