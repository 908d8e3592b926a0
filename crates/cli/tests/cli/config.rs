//! What a repository says once: `managed-by.toml`.

use std::fs;

use crate::support::{Ran, run_in};

const JOB: &str =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {managedBy: acme.io/runner}\n";

/// A repository with a Job that its settings deny in team-a, and a folder that is left out.
fn repository(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("managed-by.toml", config),
        (
            "deploy/settings.yml",
            "namespaces: [{match: [team-a], delegation: forbidden}]\n",
        ),
        ("jobs/a/job.yaml", JOB),
        ("jobs/old/b/job.yaml", "a: ["),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn lint(folder: &tempfile::TempDir, from: &str, args: &[&str]) -> Ran {
    let args = [&["lint"][..], args].concat();
    run_in(&folder.path().join(from), &args, b"")
}

const CONFIG: &str = "settings = 'deploy/settings.yml'\nkubernetes = '1.36+'\nexclude = ['jobs/old']\nnamespace = 'team-a'\n";

#[test]
fn the_nearest_file_above_counts_and_arguments_count_more() {
    let folder = repository(CONFIG);
    for (from, args, code, expected) in [
        ("", &["jobs"][..], 1, "error[managed-by/delegation]"),
        // Paths are seen from the folder of the file, wherever the program runs.
        ("jobs", &["."], 1, "denied from 1.36 on"),
        ("jobs/a", &["../../jobs"], 1, "error[managed-by/delegation]"),
        (
            "jobs/a",
            &["job.yaml", "--namespace", "team-b"],
            0,
            "1 object judged: 0 denied",
        ),
        (
            "jobs/a",
            &["job.yaml", "--settings", "/dev/null"],
            2,
            "/dev/null: ",
        ),
        (
            "jobs/a",
            &["job.yaml", "--no-config"],
            0,
            "1 object judged: 0 denied",
        ),
        ("jobs", &[".", "--exclude", "a"], 2, "old/b/job.yaml:1:5"),
    ] {
        let ran = lint(&folder, from, args);
        let said = [&*ran.out, &*ran.err].concat();
        assert_eq!(ran.code, code, "{from} {args:?}: {said}");
        assert!(said.contains(expected), "{from} {args:?}: {said}");
    }
    // A nearer file counts alone.
    fs::write(
        folder.path().join("jobs/managed-by.toml"),
        "namespace = 'team-a'\n",
    )
    .unwrap();
    assert_eq!(lint(&folder, "jobs", &["a"]).code, 0);
    // A commit is compared without what is left out.
    let diff = run_in(folder.path(), &["diff", "/dev/null", "jobs"], b"");
    assert_eq!(diff.code, 1, "{diff:?}");
}

#[test]
fn what_is_wrong_with_the_file_is_shown_there() {
    for (config, expected) in [
        (
            "\nexclud = []\n",
            "error: unknown field `exclud`, expected one of `settings`, `kubernetes`, `exclude`, `namespace`, `baseline`; did you mean `exclude`?\n --> managed-by.toml:2:1\n",
        ),
        (
            "kubernetes = 1.31\n",
            "error: invalid type: floating point `1.31`, expected a string\n --> managed-by.toml:1:14\n",
        ),
        (
            "kubernetes = '1.29+'\n",
            "error: expected a release from 1.30 to 1.37, a range such as 1.31-1.33 or 1.31+, or all\n --> managed-by.toml:1:14\n",
        ),
        ("exclude = ['a'\n", " --> managed-by.toml:"),
        ("settings = 'no.yml'\n", "error: no.yml: no such file\n"),
        ("exclude = ['a[']\n", "error: --exclude a[: "),
    ] {
        let folder = repository(config);
        let ran = lint(&folder, "", &["jobs"]);
        assert_eq!(ran.code, 2, "{config}: {ran:?}");
        assert!(ran.err.contains(expected), "{config}: {}", ran.err);
        // What judges nothing does not read it.
        assert_eq!(run_in(folder.path(), &["kinds"], b"").code, 0);
    }
}
