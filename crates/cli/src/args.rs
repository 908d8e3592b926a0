//! The arguments of the program.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use managed_by::{Enforcement, Release, nearest, nearest_name, rule, rules};

use crate::release::{Kubernetes, release};

/// Checks Kubernetes workloads with `managedBy`: manifests, changes and recordings, without a cluster.
#[derive(Debug, Parser)]
#[command(
    name = "managed-by",
    version,
    after_help = "Exit codes: 0 nothing denied, 1 something denied, 2 something could not be judged, 3 nothing was judged at all.\n`-` is standard input everywhere."
)]
pub(crate) struct Args {
    /// When to use colors
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print neither summaries nor progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Read no managed-by.toml, of this folder or of one above it
    #[arg(long, global = true)]
    pub(crate) no_config: bool,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Where it is a terminal, and `NO_COLOR` is not set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge manifests as if they were created: YAML, JSON, lists, folders
    #[command(
        after_help = "Examples:\n  managed-by lint job.yaml\n  helm template . | managed-by lint --kubernetes 1.36\n  managed-by lint manifests/ --exclude node_modules -o github\n  managed-by lint manifests/ --baseline old.json --write-baseline"
    )]
    Lint(Lint),
    /// Judge the updates between two files or folders, or since a commit: objects of the same kinds and names
    #[command(
        after_help = "Examples:\n  managed-by diff stored.yaml new.yaml\n  managed-by diff --git main manifests/\n  managed-by diff --status old.json new.json --kubernetes all"
    )]
    Diff(Diff),
    /// Answer AdmissionReview or AdmissionRequest objects: JSON, NDJSON or YAML
    #[command(
        after_help = "Examples:\n  managed-by review review.json --settings settings.yml\n  managed-by review reviews.ndjson -o ndjson"
    )]
    Review(Review),
    /// Judge recorded history: `kubectl get -w -o json`, watch events, audit logs; also gzip and zstd
    #[command(
        after_help = "Examples:\n  kubectl get jobs -A -w -o json | managed-by replay\n  managed-by replay audit-1.log.gz audit-2.log --kubernetes 1.36 --show 5"
    )]
    Replay(Replay),
    /// Report on a controller: which recorded writes each release denies, and which rules no write tested
    #[command(
        after_help = "Example:\n  managed-by conformance watch.ndjson --controller kueue.x-k8s.io/multikueue --html report.html"
    )]
    Conformance(Conformance),
    /// List the rules
    #[command(
        after_help = "Examples:\n  managed-by rules --kind RayJob\n  managed-by rules --family job-status -o json"
    )]
    Rules {
        /// Only rules of a family: managed-by, job-spec, job-status, status, status-writer, pods
        #[arg(long)]
        family: Option<String>,
        /// Only rules that judge objects of a kind, such as RayJob
        #[arg(long)]
        kind: Option<String>,
        /// text or json
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: ListOutput,
    },
    /// Explain a rule: what it checks, why, what to do
    #[command(after_help = "Example:\n  managed-by explain managed-by/immutable")]
    Explain {
        /// The id of the rule, such as managed-by/immutable
        rule: String,
    },
    /// List the kinds
    #[command(after_help = "Example:\n  managed-by kinds -o json")]
    Kinds {
        /// text or json
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: ListOutput,
    },
    /// Check settings, propose the writers in them, or print their schema
    #[command(
        subcommand,
        after_help = "Example:\n  managed-by settings check settings.yml"
    )]
    Settings(SettingsCommand),
    /// Print the completions for a shell
    #[command(
        after_help = "Example:\n  managed-by completions bash > /etc/bash_completion.d/managed-by"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of the program or of one of its commands
    #[command(after_help = "Example:\n  managed-by man lint | man -l -")]
    Man {
        /// The command, such as `settings check`
        command: Vec<String>,
    },
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Print every problem of the settings, each with its place
    #[command(
        after_help = "Examples:\n  managed-by settings check settings.yml\n  managed-by settings check deploy/policies.yml"
    )]
    Check {
        /// A file of settings, a manifest of a policy, or - for standard input
        #[arg(value_name = "FILE", default_value = "-")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        printing: Printing,
    },
    /// Propose `builtin_status_writers` and `status_writers`: who wrote which status, as audit logs tell it
    #[command(
        after_help = "Example:\n  managed-by settings writers audit.log > writers.yml\n\nRead each line before you copy it into the settings."
    )]
    Writers(Writers),
    /// Print the JSON Schema of the settings
    #[command(after_help = "Example:\n  managed-by settings schema > settings.schema.json")]
    Schema,
}

/// What `lint` judges.
#[derive(Debug, ClapArgs)]
pub(crate) struct Lint {
    /// Files, folders, or - for standard input
    #[arg(value_name = "PATH", default_value = "-")]
    pub(crate) paths: Vec<PathBuf>,
    /// Write the values that rules suggest into the files
    #[arg(long)]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) manifests: Manifests,
}

/// What `diff` compares.
#[derive(Debug, ClapArgs)]
pub(crate) struct Diff {
    /// The stored objects: a file, a folder or /dev/null; with --git, the new ones
    pub(crate) old: PathBuf,
    /// The new objects
    #[arg(required_unless_present = "git", conflicts_with = "git")]
    pub(crate) new: Option<PathBuf>,
    /// Take the stored objects from a commit of git
    #[arg(long, value_name = "COMMIT")]
    pub(crate) git: Option<String>,
    /// Judge an update of the status
    #[arg(long)]
    pub(crate) status: bool,
    #[command(flatten)]
    pub(crate) manifests: Manifests,
}

/// What `review` answers.
#[derive(Debug, ClapArgs)]
pub(crate) struct Review {
    /// Files, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What `replay` judges.
#[derive(Debug, ClapArgs)]
pub(crate) struct Replay {
    /// Files, which are merged by the time of audit events, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the first N requests with findings in full: 0 of files, and from standard input all, when they come
    #[arg(long, value_name = "N")]
    pub(crate) show: Option<usize>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What `conformance` reports on.
#[derive(Debug, ClapArgs)]
pub(crate) struct Conformance {
    /// Recordings, as for replay
    #[arg(value_name = "TRACE", default_value = "-")]
    pub(crate) traces: Vec<PathBuf>,
    /// The controller's name in managedBy; a reserved value for objects that are not delegated
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) controller: String,
    /// Ask this release and the newer ones, not all
    #[arg(long, value_name = "RELEASE", value_parser = release)]
    pub(crate) since: Option<Release>,
    /// Write the report as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the badge, an SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
    /// The policy's settings, for kinds that they declare
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// End with exit code 0, not 3, where the recording has no write to an object of the controller
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// text or json
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ListOutput,
}

/// What `settings writers` reads.
#[derive(Debug, ClapArgs)]
pub(crate) struct Writers {
    /// Audit logs, which are merged by time, or - for standard input; also gzip and zstd
    #[arg(value_name = "AUDIT.LOG", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// The policy's settings, for kinds that they declare
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// The format
    #[arg(long, short, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: WritersOutput,
}

/// How manifests are read and judged.
#[derive(Debug, ClapArgs)]
pub(crate) struct Manifests {
    #[command(flatten)]
    pub(crate) folders: Folders,
    #[command(flatten)]
    pub(crate) known: Known,
    #[command(flatten)]
    pub(crate) who: Who,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Which files of folders are read.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Folders")]
pub(crate) struct Folders {
    /// Files and folders of a folder to leave out, as .gitignore has patterns, relative to the working directory, such as
    /// 'charts/*/templates' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Also leave out files that are named themselves, as pre-commit does
    #[arg(long)]
    pub(crate) force_exclude: bool,
    /// Also read what .gitignore and .ignore name
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// Count files that are neither YAML nor JSON, and do not end with exit code 2 for them
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
    /// The folder that the patterns are relative to, if it is not the working directory.
    #[arg(skip)]
    pub(crate) root: Option<PathBuf>,
}

/// What was found before.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Old findings")]
pub(crate) struct Known {
    /// Count the findings in a file, and do not deny for them
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what is found to the file of --baseline
    #[arg(long)]
    pub(crate) write_baseline: bool,
}

/// By what is judged.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Judging")]
pub(crate) struct Judging {
    /// The policy's settings, alone or in a manifest of the policy
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// The release whose rules apply, such as 1.36; or what each of several says: 1.31-1.33, 1.31+ or all. For 1.30 and 1.31
    /// they are the rules with the feature `JobManagedBy`, without which these releases drop the field from a Job
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kubernetes: Option<Kubernetes>,
    /// What a rule does: ID=deny, ID=warn or ID=off (repeatable)
    #[arg(long = "rule", value_name = "ID=LEVEL")]
    pub(crate) rules: Vec<Choice>,
    /// End with exit code 1 for warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Take back --deny-warnings, which the hook for pre-commit and the GitHub Action give
    #[arg(long, overrides_with = "deny_warnings")]
    pub(crate) allow_warnings: bool,
    /// End with exit code 0, not 3, where nothing was judged at all
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

/// Who asks, and where.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "The request")]
pub(crate) struct Who {
    /// The namespace of objects that name none; without it, `default`
    #[arg(long, short)]
    pub(crate) namespace: Option<String>,
    /// The user who asks
    #[arg(
        long = "as",
        value_name = "USER",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) user: String,
    /// A group of the user (repeatable)
    #[arg(long = "as-group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
}

impl Who {
    /// Returns the namespace of objects without one.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}

/// How to print.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct Printing {
    /// The format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A JSON document a line.
    Ndjson,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// Workflow commands of GitHub Actions.
    Github,
    /// A Code Quality report of GitLab.
    Gitlab,
}

/// A format of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOutput {
    /// A table.
    Text,
    /// One JSON document.
    Json,
}

/// A format of lists of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WritersOutput {
    /// For the settings, with comments.
    Yaml,
    /// One JSON document.
    Json,
}

/// An override of a rule's enforcement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    /// The id of the rule.
    pub(crate) rule: &'static str,
    pub(crate) enforcement: Enforcement,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, level) = text
            .split_once('=')
            .ok_or("expected ID=deny, ID=warn or ID=off")?;
        let rule = rule(id).ok_or_else(|| unknown_rule(id))?;
        let mut all = Enforcement::ALL.iter().copied();
        let enforcement = all
            .find(|enforcement| enforcement.as_str() == level)
            .ok_or_else(|| {
                let levels = Enforcement::ALL.iter().map(|level| level.as_str());
                format!(
                    "got {level}, expected deny, warn or off{}",
                    did_you_mean(level, levels)
                )
            })?;
        Ok(Self {
            rule: rule.id(),
            enforcement,
        })
    }
}

/// Formats the suggestion `; did you mean deny?`, if a known word is similar.
pub(crate) fn did_you_mean<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest(word, words).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// Returns the message for an unknown rule id.
pub(crate) fn unknown_rule(id: &str) -> String {
    let short = |rule: &str| rule.split('/').nth(1).map(str::to_owned);
    let near = rules().iter().find(|rule| {
        let name = short(rule.id()).unwrap_or_default();
        rule.id().starts_with(id) || name == id || rule.id().contains(id)
    });
    let near = near
        .map(|rule| rule.id())
        .or_else(|| nearest_name(id, rules().iter().map(|rule| rule.id())));
    let hint = near.map(|rule| format!("; did you mean {rule}?"));
    let hint = hint.unwrap_or_else(|| "; `managed-by rules` lists them".to_owned());
    format!("no rule is called {id}{hint}")
}
