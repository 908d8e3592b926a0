//! Tests the integrations: the pre-commit hook, the steps of the GitHub Action, the CI recipes, and the installers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use managed_by_testing::root;
use serde_json::Value;

use crate::blocks::blocks;
use crate::formats::{GITLAB, check};

const BAD: &str =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {managedBy: runner}\n";

/// Runs a program. Returns its exit code and its output on both streams.
fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(both).unwrap();
    (output.status.code().unwrap(), text)
}

fn git(directory: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@acme.io"];
    let mut git = Command::new("git");
    let (code, text) = run(git.args(identity).args(args).current_dir(directory));
    assert_eq!(code, 0, "git {args:?}: {text}");
    text.trim().to_owned()
}

/// Returns a PATH that starts with the tested program.
fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_managed-by"));
    let directory = program.parent().unwrap().display();
    format!("{directory}:{}", env::var("PATH").unwrap())
}

#[test]
#[ignore = "needs pre-commit: `make pre-commit-test`"]
fn pre_commit_runs_the_hook() {
    let directory = tempfile::tempdir().unwrap();
    let hooks = directory.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    fs::copy(
        root(".pre-commit-hooks.yaml"),
        hooks.join(".pre-commit-hooks.yaml"),
    )
    .unwrap();
    git(&hooks, &["init", "--quiet"]);
    git(&hooks, &["add", "."]);
    git(&hooks, &["commit", "--quiet", "--message", "a"]);
    let rev = git(&hooks, &["rev-parse", "HEAD"]);

    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    git(&work, &["init", "--quiet"]);
    let config = format!(
        "repos:\n  - repo: {}\n    rev: {rev}\n    hooks:\n      - id: managed-by\n",
        hooks.display()
    );
    fs::write(work.join(".pre-commit-config.yaml"), &config).unwrap();
    let hook = |files: &[(&str, &str)]| {
        for (name, text) in files {
            fs::write(work.join(name), text).unwrap();
        }
        git(&work, &["add", "."]);
        let mut pre_commit = Command::new("pre-commit");
        run(pre_commit
            .args(["run", "--all-files", "--color", "never"])
            .env("PATH", path())
            .env("PRE_COMMIT_HOME", directory.path().join("cache"))
            .current_dir(&work))
    };
    // A file without a workload, and a bad manifest with an extension that the hook does not select.
    let (code, text) = hook(&[("a.json", "{}"), ("b.txt", BAD)]);
    assert_eq!(code, 0, "{text}");
    // A probable mistake.
    let typo = typo();
    let (code, text) = hook(&[("job.yaml", &typo)]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("did you mean \"kueue.x-k8s.io/multikueue\""),
        "{text}"
    );
    // An option allows it, and it is still shown.
    fs::write(
        work.join(".pre-commit-config.yaml"),
        format!("{config}        args: [--allow-warnings]\n"),
    )
    .unwrap();
    let (code, text) = hook(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("did you mean \"kueue.x-k8s.io/multikueue\""),
        "{text}"
    );
    // Excludes in the repository's config apply to explicitly named files too.
    let leave_out = [
        ("managed-by.toml", "exclude = [\"job.yaml\"]\n"),
        ("job.yaml", BAD),
    ];
    let (code, text) = hook(&leave_out);
    assert_eq!(code, 0, "{text}");
    // The configuration on the page.
    let config = recipe("repos:")
        .replace(env!("CARGO_PKG_REPOSITORY"), hooks.to_str().unwrap())
        .replace(concat!("v", env!("CARGO_PKG_VERSION")), &rev);
    add_typo(&work);
    let (code, text) = hook(&[
        (".pre-commit-config.yaml", &config),
        ("managed-by.toml", ""),
    ]);
    assert_eq!(code, 1, "{text}");
    let found = "error[managed-by/allowed]";
    assert!(
        text.contains(found) && text.contains("--> manifests/job.yaml:9"),
        "{text}"
    );
}

/// Returns the Job of the tutorial, with its typo.
fn typo() -> String {
    let page = fs::read_to_string(root("docs/tutorials/first-policy.md")).unwrap();
    let manifest = page.split("   # pi.yaml\n").nth(1).unwrap();
    let manifest = manifest.split("   ```\n").next().unwrap();
    assert!(manifest.contains("multikeue"), "{manifest}");
    manifest.to_owned()
}

/// Downloads of releases: the tested program, in an archive like that of `make cli-archive`.
static RELEASES: LazyLock<PathBuf> = LazyLock::new(|| {
    let releases = Path::new(env!("CARGO_TARGET_TMPDIR")).join("releases");
    let version = env!("CARGO_PKG_VERSION");
    let release = releases.join(format!("v{version}"));
    let name = format!("managed-by-{version}-x86_64-unknown-linux-gnu");
    let packed = release.join(&name);
    fs::create_dir_all(&packed).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_managed-by"), packed.join("managed-by")).unwrap();
    // `gh` verifies attestations, which only GitHub has.
    let script = "tar -czf $0.tar.gz $0 && shasum --algorithm 256 $0.tar.gz > $0.tar.gz.sha256 && \
        printf '#!/bin/sh\n[ \"$1 $2 $3\" = \"attestation verify '$0'.tar.gz\" ]' > ../gh && chmod +x ../gh";
    let (code, text) = run(Command::new("sh")
        .args(["-c", script, &name])
        .current_dir(&release));
    assert_eq!(code, 0, "{text}");
    releases
});

/// The Action's steps, run like the runner does, except for steps that are Actions themselves.
struct Action {
    directory: tempfile::TempDir,
    steps: Vec<Value>,
    inputs: BTreeMap<String, String>,
}

struct RunOutput {
    code: i32,
    text: String,
    outputs: String,
}

impl Action {
    /// Prepares a job in a new directory.
    fn new(inputs: &[(&str, &str)]) -> Self {
        let text = fs::read_to_string(root(".github/actions/check/action.yml")).unwrap();
        let action: Value = serde_yaml_ng::from_str(&text).unwrap();
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            all.insert(name.clone(), input["default"].as_str().unwrap().to_owned());
        }
        for (name, value) in inputs {
            assert!(all.contains_key(*name), "{name}");
            all.insert((*name).to_owned(), (*value).to_owned());
        }
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        fs::create_dir(directory.path().join("temp")).unwrap();
        let steps = action["runs"]["steps"].as_array().unwrap().clone();
        let inputs = all;
        Self {
            directory,
            steps,
            inputs,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn step(&self, name: &str) -> RunOutput {
        let mut steps = self.steps.iter();
        let step = steps.find(|step| step["name"] == name).unwrap();
        let script = self.file("script");
        fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        let outputs = self.file("outputs");
        fs::write(&outputs, "").unwrap();
        let path = format!("{}:{}", RELEASES.display(), env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&script)
            .current_dir(self.file("work"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("RUNNER_TEMP", self.file("temp"))
            .env("GITHUB_OUTPUT", &outputs)
            .env("PATH", path);
        for (name, value) in step["env"].as_object().unwrap() {
            let value = value.as_str().unwrap();
            let input = value.strip_prefix("${{ inputs.");
            let value = match input.and_then(|input| input.strip_suffix(" }}")) {
                Some(input) => self.inputs[input].clone(),
                None => format!("file://{}", RELEASES.display()),
            };
            bash.env(name, value);
        }
        let (code, text) = run(&mut bash);
        RunOutput {
            code,
            text,
            outputs: fs::read_to_string(outputs).unwrap(),
        }
    }
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn action_annotates_and_writes_sarif() {
    let action = Action::new(&[
        ("args", "lint . --kubernetes 1.36"),
        ("upload-sarif", "true"),
    ]);
    fs::write(action.file("work/job.yaml"), BAD).unwrap();
    let installed = action.step("Install managed-by");
    assert_eq!(installed.code, 0, "{}", installed.text);
    let ran = action.step("Run managed-by");
    assert_eq!(ran.code, 1, "{}", ran.text);
    let annotation =
        "::error file=job.yaml,line=4,endLine=4,col=19,endColumn=25,title=managed-by/format::";
    assert!(ran.text.starts_with(annotation), "{}", ran.text);
    let sarif = ran.outputs.strip_prefix("sarif=").unwrap().trim_end();
    let sarif: Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["ruleId"],
        "managed-by/format"
    );
}

/// Checks that the typo in the README fails the job, and that the reviewer sees its position.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn action_denies_warnings_by_default() {
    let args = ("args", "lint .\n--kubernetes 1.36\n");
    for (inputs, expected) in [(vec![args], 1), (vec![args, ("deny-warnings", "false")], 0)] {
        let action = Action::new(&inputs);
        fs::write(action.file("work/job.yaml"), typo()).unwrap();
        assert_eq!(action.step("Install managed-by").code, 0);
        let ran = action.step("Run managed-by");
        assert_eq!(ran.code, expected, "{}", ran.text);
        assert!(
            ran.text.starts_with("::warning file=job.yaml,line="),
            "{}",
            ran.text
        );
    }
    // A command without the option.
    let action = Action::new(&[("args", "settings check none.yml")]);
    assert_eq!(action.step("Install managed-by").code, 0);
    let ran = action.step("Run managed-by");
    assert!(ran.text.contains("no such file"), "{}", ran.text);
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn action_finds_the_command_among_its_arguments() {
    for (args, expected) in [
        ("-q lint .", 1),
        ("--color never lint .", 1),
        ("lint -- .", 1),
        ("lint\n.", 1),
        ("-q lint lint", 2),
        ("rules", 2),
    ] {
        let action = Action::new(&[("args", args)]);
        fs::write(action.file("work/job.yaml"), typo()).unwrap();
        assert_eq!(action.step("Install managed-by").code, 0);
        let ran = action.step("Run managed-by");
        assert_eq!(ran.code, expected, "{args}: {}", ran.text);
    }
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn action_validates_its_inputs() {
    assert_eq!(Action::new(&[]).step("Validate the inputs").code, 0);
    for (input, value) in [
        ("deny-warnings", "True"),
        ("deny-warnings", ""),
        ("upload-sarif", "yes"),
        ("version", "main"),
        ("version", "v1.0.0/../x"),
        ("sha256", "abc"),
    ] {
        let validated = Action::new(&[(input, value)]).step("Validate the inputs");
        assert_eq!(validated.code, 2, "{input}={value}");
        let expected = format!("::error::{input}: expected");
        assert!(validated.text.starts_with(&expected), "{}", validated.text);
    }
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn github_recipe_fails_for_the_typo_of_the_tutorial() {
    let recipe: Value = serde_yaml_ng::from_str(&recipe("on: pull_request")).unwrap();
    let steps = recipe["jobs"]["managed-by"]["steps"].as_array().unwrap();
    let is_ours = |step: &&Value| step["uses"].as_str().unwrap().contains("/actions/check@v");
    let steps: Vec<_> = steps.iter().filter(is_ours).collect();
    assert_eq!(steps.len(), 2);
    for step in steps {
        let inputs = step["with"].as_object().unwrap().iter();
        let inputs = inputs.map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
        let action = Action::new(&inputs.collect::<Vec<_>>());
        let work = action.file("work");
        git(&work, &["init", "--quiet"]);
        git(
            &work,
            &["commit", "--quiet", "--allow-empty", "--message", "a"],
        );
        git(&work, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
        add_typo(&work);
        git(&work, &["add", "."]);
        git(&work, &["commit", "--quiet", "--message", "b"]);
        for step in ["Validate the inputs", "Install managed-by"] {
            assert_eq!(action.step(step).code, 0, "{step}");
        }
        let ran = action.step("Run managed-by");
        assert_eq!(ran.code, 1, "{}", ran.text);
        let annotation = "::error file=manifests/job.yaml,line=9";
        assert!(ran.text.contains(annotation), "{}", ran.text);
    }
}

/// Returns the block of the page that begins with a text.
fn recipe(start: &str) -> String {
    let page = fs::read_to_string(root("docs/tasks/check-in-ci.md")).unwrap();
    let mut bodies = blocks(&page).into_iter().map(|(_, body)| body);
    bodies.find(|body| body.starts_with(start)).unwrap()
}

/// Adds the Job of the tutorial, and the policy of a management cluster, to a repository as on the page.
fn add_typo(repository: &Path) {
    fs::create_dir(repository.join("manifests")).unwrap();
    fs::write(repository.join("manifests/job.yaml"), typo()).unwrap();
    fs::copy(root("deploy/management.yml"), repository.join("policy.yml")).unwrap();
}

/// Runs the documented GitLab recipe like GitLab's runner does.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn gitlab_recipe_fails_and_writes_both_reports() {
    let recipe: Value = serde_yaml_ng::from_str(&recipe("managed-by:\n  image")).unwrap();
    let job = &recipe["managed-by"];
    let action = Action::new(&[]);
    let work = action.file("work");
    add_typo(&work);
    let releases = RELEASES.display().to_string();
    let mut script = format!(
        "set -eo pipefail\nexport RELEASES=file://{releases} ARCHIVE={}\n",
        job["variables"]["ARCHIVE"].as_str().unwrap()
    );
    for part in ["before_script", "script"] {
        for line in job[part].as_array().unwrap() {
            script.push_str(line.as_str().unwrap());
            script.push('\n');
        }
    }
    let (code, text) = run(Command::new("bash")
        .args(["-c", &script])
        .current_dir(&work));
    assert_eq!(code, 1, "{text}");
    let reports = &job["artifacts"]["reports"];
    let read =
        |report: &str| fs::read_to_string(work.join(reports[report].as_str().unwrap())).unwrap();
    let quality: Value = serde_json::from_str(&read("codequality")).unwrap();
    check(&GITLAB, &quality);
    assert_eq!(quality[0]["location"]["path"], "manifests/job.yaml");
    assert_eq!(quality[0]["check_name"], "managed-by/reserved-domain");
    assert!(
        read("junit").contains("<failure message="),
        "{}",
        read("junit")
    );
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn action_verifies_the_checksum() {
    let other = "0".repeat(64);
    let action = Action::new(&[("sha256", &other)]);
    let installed = action.step("Install managed-by");
    assert_eq!(installed.code, 2, "{}", installed.text);
    assert!(
        installed.text.contains("does not match its checksum"),
        "{}",
        installed.text
    );
    assert!(!action.file("temp/managed-by/managed-by").exists());
    // With invalid arguments there is nothing to upload.
    let action = Action::new(&[("args", "lnt"), ("upload-sarif", "true")]);
    assert_eq!(action.step("Install managed-by").code, 0);
    let ran = action.step("Run managed-by");
    assert_eq!((ran.code, &*ran.outputs), (2, ""), "{}", ran.text);
}

/// Checks that `cargo binstall`, Krew and `make cli-archive` use the same archive name.
#[test]
fn installers_use_the_release_archives() {
    let manifest = fs::read_to_string(root("crates/cli/Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let krew = fs::read_to_string(root("crates/cli/krew.yml")).unwrap();
    let krew: Value = serde_yaml_ng::from_str(&krew).unwrap();
    let platforms = krew["spec"]["platforms"].as_array().unwrap();
    let hosts = [
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "aarch64-apple-darwin",
    ];
    assert_eq!(platforms.len(), hosts.len());
    for (platform, host) in platforms.iter().zip(hosts) {
        let filled = |key: &str| {
            let text = binstall[key].as_str().unwrap();
            text.replace("{ repo }", env!("CARGO_PKG_REPOSITORY"))
                .replace("{ version }", "VERSION")
                .replace("{ target }", host)
        };
        assert_eq!(platform["uri"], filled("pkg-url"));
        assert_eq!(platform["sha256"], format!("SHA256-{host}"));
        let archive = format!("managed-by-VERSION-{host}");
        assert!(filled("pkg-url").ends_with(&format!("/vVERSION/{archive}.tar.gz")));
        assert_eq!(
            filled("bin-dir"),
            format!("{archive}/{{ bin }}{{ binary-ext }}")
        );
    }
    let makefile = fs::read_to_string(root("Makefile")).unwrap();
    assert!(makefile.contains("CLI_ARCHIVE = managed-by-$(VERSION)-$(RUST_HOST)\n"));
}
