//! What `diff` compares: files, folders, nothing, and a commit.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::run_in;

fn job(name: &str, managed_by: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name}\nspec: {{managedBy: {managed_by}}}\n---\n"
    )
}

fn with_status(job: &str, failed: &str) -> String {
    job.replace("---", &format!("status: {{failed: {failed}}}"))
}

fn write(folder: &Path, files: &[(&str, String)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn files_folders_and_nothing_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = ("{name: a}", "{name: b}");
    let generated = "{generateName: g-}";
    write(
        folder.path(),
        &[
            ("old/1.yaml", job(a, "a.io/a")),
            ("old/2.yaml", job(b, "a.io/b")),
            // Objects are found whatever file they are in.
            ("new/3.yaml", job(b, "a.io/x")),
            ("new/4.yaml", job(a, "a.io/a")),
            (
                "generated-1.yaml",
                [
                    job(generated, "a.io/a"),
                    job(generated, "a.io/b"),
                    job("{generateName: h-}", "a.io/c"),
                ]
                .concat(),
            ),
            (
                "generated-2.yaml",
                [
                    job("{generateName: h-}", "a.io/c"),
                    job(generated, "a.io/a"),
                    job(generated, "a.io/x"),
                ]
                .concat(),
            ),
        ],
    );
    let immutable = "spec.managedBy: Invalid value: \"a.io/x\": field is immutable";
    for (args, code, out, err) in [
        (
            ["old", "new"],
            1,
            immutable,
            "2 objects judged: 1 denied, 0 with warnings\n",
        ),
        (
            ["/dev/null", "new"],
            0,
            "",
            "created: Job.batch default/b\ncreated: Job.batch default/a\n2 objects judged: 0 denied, 0 with warnings\n",
        ),
        (
            ["old", "/dev/null"],
            0,
            "",
            "deleted: Job.batch default/a\ndeleted: Job.batch default/b\n0 objects judged: 0 denied, 0 with warnings; 2 gone\n",
        ),
        (
            ["old", "new/4.yaml"],
            0,
            "",
            "deleted: Job.batch default/b\n1 object judged: 0 denied, 0 with warnings; 1 gone\n",
        ),
        // By template and order, not as one object without a name.
        (
            ["generated-1.yaml", "generated-2.yaml"],
            1,
            immutable,
            "3 objects judged: 1 denied, 0 with warnings\n",
        ),
    ] {
        let ran = run_in(folder.path(), &["diff", args[0], args[1]], b"");
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.out.contains(out), "{args:?}: {}", ran.out);
        assert!(ran.err.contains(err), "{args:?}: {}", ran.err);
        assert_eq!(
            ran.out.matches("error[").count(),
            usize::from(!out.is_empty()),
            "{}",
            ran.out
        );
    }
}

#[test]
fn what_is_wrong_with_an_object_is_shown_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let a = "{name: a}";
    write(
        folder.path(),
        &[
            ("mistyped.yaml", format!("# one\n{}", job(a, "7"))),
            ("right.yaml", job(a, "a.io/a")),
            ("spec.yaml", with_status(&job(a, "7"), "1")),
            ("status.yaml", with_status(&job(a, "a.io/b"), "x")),
            ("sound.yaml", with_status(&job(a, "a.io/a"), "2")),
        ],
    );
    for (old, new, err) in [
        (
            "mistyped.yaml",
            "right.yaml",
            "expected a string, got a number\n --> mistyped.yaml:5:19\n",
        ),
        // Also where the spec and the status change, which is two requests.
        (
            "spec.yaml",
            "sound.yaml",
            "expected a string, got a number\n --> spec.yaml:4:19\n",
        ),
        (
            "status.yaml",
            "sound.yaml",
            "expected a 32-bit integer, got a string\n --> status.yaml:5:18\n",
        ),
        (
            "sound.yaml",
            "status.yaml",
            "expected a 32-bit integer, got a string\n --> status.yaml:5:18\n",
        ),
        // One error each.
        ("spec.yaml", "status.yaml", "; 2 could not be judged\n"),
    ] {
        let ran = run_in(folder.path(), &["diff", old, new], b"");
        assert_eq!((ran.code, &*ran.out), (2, ""), "{old} {new}: {ran:?}");
        assert!(ran.err.contains(err), "{old} {new}: {}", ran.err);
    }
}

#[test]
fn what_cannot_be_read_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let a = "{name: a}";
    write(
        folder.path(),
        &[
            ("old/a.yaml", job(a, "a.io/a")),
            ("new/a.yaml", job(a, "a.io/x")),
            ("new/template.yaml", "kind: {{ .Values.kind }}\n".to_owned()),
        ],
    );
    for (option, code, sums) in [
        (None, 2, "; 1 could not be judged\n"),
        (
            Some("--skip-unreadable"),
            1,
            "; 1 skipped, which could not be read\n",
        ),
        (
            Some("--exclude=template.yaml"),
            1,
            "1 denied, 0 with warnings\n",
        ),
    ] {
        let args: Vec<_> = ["diff", "old", "new"].into_iter().chain(option).collect();
        let ran = run_in(folder.path(), &args, b"");
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.ends_with(sums), "{ran:?}");
    }
}

#[test]
fn the_working_tree_is_compared_with_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@a.io"]);
        let ran = git.args(args).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    let (a, b) = ("{name: a}", "{name: b}");
    write(
        folder.path(),
        &[
            ("jobs/a.yaml", job(a, "a.io/a")),
            ("jobs/notes.txt", "kind: Job".to_owned()),
        ],
    );
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    write(
        folder.path(),
        &[
            ("jobs/a.yaml", job(a, "a.io/x")),
            ("jobs/b.yaml", job(b, "a.io/b")),
        ],
    );
    for path in ["jobs", ".", "jobs/a.yaml"] {
        let ran = run_in(folder.path(), &["diff", "--git", "HEAD", path], b"");
        assert_eq!(ran.code, 1, "{path}: {ran:?}");
        assert!(
            ran.out.contains("\"a.io/x\": field is immutable"),
            "{path}: {}",
            ran.out
        );
        assert_eq!(
            ran.err.contains("created: Job.batch default/b\n"),
            path != "jobs/a.yaml",
            "{}",
            ran.err
        );
    }
    let inside = run_in(
        &folder.path().join("jobs"),
        &["diff", "--git", "HEAD", "a.yaml"],
        b"",
    );
    assert_eq!(inside.code, 1, "{inside:?}");
    // A file that the commit does not have is new.
    let new = run_in(
        folder.path(),
        &["diff", "--git", "HEAD", "jobs/b.yaml"],
        b"",
    );
    assert_eq!((new.code, &*new.out), (0, ""), "{new:?}");
    for (commit, expected) in [
        ("none", "error: git: Not a valid object name none\n"),
        ("--output=x", "error: --git --output=x: expected a commit\n"),
    ] {
        let ran = run_in(
            folder.path(),
            &["diff", &format!("--git={commit}"), "jobs"],
            b"",
        );
        assert_eq!((ran.code, &*ran.err), (2, expected), "{ran:?}");
    }
    assert_eq!(run_in(folder.path(), &["diff", "jobs"], b"").code, 2);
    assert_eq!(
        run_in(
            folder.path(),
            &["diff", "--git", "HEAD", "jobs", "jobs"],
            b""
        )
        .code,
        2
    );
}

#[test]
fn every_word_has_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (
            &["explain", "managed-by/formt"][..],
            "no rule is called managed-by/formt; did you mean managed-by/format?",
        ),
        (
            &["explain", "imutable"],
            "did you mean managed-by/immutable?",
        ),
        (&["rules", "--kind", "RayJobb"], "; did you mean RayJob?"),
        (
            &["rules", "--family", "job-statu"],
            "; did you mean job-status?",
        ),
        (
            &["man", "lnt"],
            "there is no command lnt; did you mean lint?",
        ),
        (
            &["lint", "--rule", "managed-by/format=wran"],
            "; did you mean warn?",
        ),
        (
            &["lint", "--rule", "managed-by/formt=warn"],
            "; did you mean managed-by/format?",
        ),
        (&["lint", "-o", "jsn"], "a similar value exists: 'json'"),
        (&["lnt"], "a similar subcommand exists: 'lint'"),
    ] {
        let ran = run_in(folder.path(), args, b"");
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
}
