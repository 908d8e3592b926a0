//! The arguments of the program.

mod status;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use managed_by::{Enforcement, did_you_mean, nearest, nearest_name, rule, rules};
use managed_by_offline::ReleaseSelector;
use managed_by_offline::profile::{PROFILES, Profile, profile};

pub(crate) use status::{StatusArgs, StatusOutput};

/// Checks Kubernetes workloads with `managedBy`: manifests, changes and recordings without a cluster, and the workloads in one.
#[derive(Debug, Parser)]
#[command(
    name = "managed-by",
    version,
    after_help = "Exit codes: 0 nothing denied, 1 something denied, 2 something could not be evaluated, 3 nothing was evaluated or a profile is incomplete.\n`-` is standard input for every command."
)]
pub(crate) struct Args {
    /// Color the output: auto (on a terminal, unless `NO_COLOR` is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
    /// Suppress summaries and progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Ignore managed-by.toml in the current directory and its parents
    #[arg(long, global = true)]
    pub(crate) no_config: bool,
    /// Command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Command to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Evaluate manifests as if they were created: YAML, JSON, lists, directories
    #[command(
        after_help = "Examples:\n  managed-by lint job.yaml\n  helm template . | managed-by lint --kubernetes 1.36\n  managed-by lint manifests/ --exclude node_modules -o github\n  managed-by lint manifests/ --baseline old.json --write-baseline"
    )]
    Lint(LintArgs),
    /// Evaluate the updates between two files or directories, or since a commit
    #[command(
        override_usage = "managed-by diff [OPTIONS] <OLD> <NEW>\n       managed-by diff [OPTIONS] --git <COMMIT> [PATH]...",
        after_help = "Examples:\n  managed-by diff stored.yaml new.yaml\n  managed-by diff --git main manifests/\n  managed-by diff --status old.json new.json --kubernetes all"
    )]
    Diff(DiffArgs),
    /// Answer AdmissionReview or AdmissionRequest objects: JSON, NDJSON or YAML
    #[command(
        after_help = "Examples:\n  managed-by review review.json --settings settings.yml\n  managed-by review reviews.ndjson -o ndjson"
    )]
    Review(ReviewArgs),
    /// Evaluate recorded history: `kubectl get -w -o json`, watch events, audit logs; optionally compressed with gzip or zstd
    #[command(
        after_help = "Examples:\n  kubectl get jobs -A -w -o json | managed-by replay\n  managed-by replay audit-1.log.gz audit-2.log --kubernetes 1.36 --show 5"
    )]
    Replay(ReplayArgs),
    /// Report on a controller: recorded writes that a release denies, and rules that no write tested
    #[command(
        after_help = "Example:\n  managed-by conformance watch.ndjson --controller kueue.x-k8s.io/multikueue"
    )]
    Conformance(ConformanceArgs),
    /// Report who runs each workload in a cluster, and which ones have no controller
    #[command(
        after_help = "Examples:\n  managed-by status -A --problems\n  managed-by status job/pi -n team-a\n  managed-by status -A -o json\n\nIt only reads. Without a permission, it reports what it could not check."
    )]
    Status(StatusArgs),
    /// List the rules
    #[command(
        after_help = "Examples:\n  managed-by rules --kind RayJob\n  managed-by rules --family job-status -o json"
    )]
    Rules {
        /// List only rules of the given family
        #[arg(long, value_parser = PossibleValuesParser::new(families()))]
        family: Option<String>,
        /// List only rules for objects of the given kind, such as RayJob
        #[arg(long)]
        kind: Option<String>,
        /// Output format
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: ListOutput,
    },
    /// Explain a rule: its check, the reason and the fix
    #[command(after_help = "Example:\n  managed-by explain managed-by/immutable")]
    Explain {
        /// Rule id, such as managed-by/immutable
        rule: String,
    },
    /// List the supported kinds
    #[command(after_help = "Example:\n  managed-by kinds -o json")]
    Kinds {
        /// Output format
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: ListOutput,
    },
    /// Check settings, propose status writers, or print the schema
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
        /// Shell
        shell: Shell,
    },
    /// Print the manual page of the program or of a command
    #[command(after_help = "Example:\n  managed-by man lint | man -l -")]
    Man {
        /// Command, such as `settings check`
        command: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Print every problem of the settings, each with its position
    #[command(
        after_help = "Examples:\n  managed-by settings check settings.yml\n  managed-by settings check deploy/policies.yml"
    )]
    Check {
        /// Files with settings or policy manifests, or - for standard input
        #[arg(value_name = "FILE", default_value = "-")]
        files: Vec<PathBuf>,
        /// Output format
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
        /// Print which settings the CEL policies enforce, and which require the module
        #[arg(long)]
        cel: bool,
    },
    /// Propose `builtin_status_writers` and `status_writers` from audit logs
    #[command(
        after_help = "Example:\n  managed-by settings writers audit.log > writers.yml\n\nRead each line before you copy it into the settings."
    )]
    Writers(WritersArgs),
    /// Print the JSON Schema of the settings
    #[command(after_help = "Example:\n  managed-by settings schema > settings.schema.json")]
    Schema,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LintArgs {
    /// Files, directories, or - for standard input
    #[arg(value_name = "PATH", default_value = "-")]
    pub(crate) paths: Vec<PathBuf>,
    /// Correct names that differ from a known one only in case, a separator or a letter, in the files
    #[arg(long)]
    pub(crate) fix: bool,
    /// Print the changes of --fix as a diff instead of the findings, and leave the files alone
    #[arg(long)]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) manifests: ManifestArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// The stored and the new objects, each a file, a directory or /dev/null; with --git, files and directories to compare [default: .]
    #[arg(value_name = "PATH", required_unless_present = "git")]
    pub(crate) paths: Vec<PathBuf>,
    /// Compare the working tree with a git commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) git: Option<String>,
    /// Evaluate only updates of the status
    #[arg(long)]
    pub(crate) status: bool,
    #[command(flatten)]
    pub(crate) manifests: ManifestArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReviewArgs {
    /// Files, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// Files, or - for standard input; audit events are merged by time
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the first N requests with findings in full; by default all for text from standard input, otherwise none; ndjson always prints all
    #[arg(long, value_name = "N")]
    pub(crate) show: Option<usize>,
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConformanceArgs {
    /// Recordings, as for replay
    #[arg(value_name = "RECORDING", default_value = "-")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Name of the controller in managedBy, or a reserved value for objects that are not delegated
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) controller: String,
    /// Profiles that the controller supports besides Core, such as Suspend,Indexed
    #[arg(long = "profile", value_name = "NAME", value_delimiter = ',', value_parser = parse_profile)]
    pub(crate) profiles: Vec<&'static Profile>,
    /// Kubernetes releases to evaluate, such as 1.33.4,1.36.3 or 1.31+ (default: all)
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kubernetes: Option<ReleaseSelector>,
    /// Policy settings, which may declare custom kinds
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Exit with 0 if the recording is empty or has no writes to objects of the controller
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Exit with 0 if the recording does not exercise all of the profiles, or an object is unfinished
    #[arg(long)]
    pub(crate) allow_incomplete: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ConformanceOutput,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WritersArgs {
    /// Audit logs, which are merged by time, or - for standard input; optionally compressed with gzip or zstd
    #[arg(value_name = "AUDIT.LOG", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Policy settings, which may declare custom kinds
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManifestArgs {
    #[command(flatten)]
    pub(crate) directories: DirectoryArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    #[command(flatten)]
    pub(crate) user: ImpersonationArgs,
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Directories")]
pub(crate) struct DirectoryArgs {
    /// Exclude files and directories by a .gitignore pattern, relative to the working directory, such as 'charts/*/templates'
    /// (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Also apply --exclude to files given as arguments, which is how pre-commit passes them
    #[arg(long)]
    pub(crate) force_exclude: bool,
    /// Include files that .gitignore and .ignore exclude
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// Skip files that are neither YAML nor JSON instead of exiting with code 2
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
    /// Directory that the patterns are relative to, if it is not the working directory.
    #[arg(skip)]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Baseline")]
pub(crate) struct BaselineArgs {
    /// Baseline file: count the findings that it lists, but don't fail on them
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to the --baseline file
    #[arg(long)]
    pub(crate) write_baseline: bool,
}

/// Arguments that control the evaluation and its output.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Evaluation")]
pub(crate) struct EvaluationArgs {
    /// Policy settings, standalone or in a policy manifest
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Kubernetes release whose rules apply, such as 1.36.3, or 1.36 for its newest patch release; or several, each with its verdict:
    /// 1.31-1.33, 1.33.4+, a list, or all. Releases 1.30 and 1.31 are evaluated with the feature gate `JobManagedBy` enabled; without it, they drop the field
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kubernetes: Option<ReleaseSelector>,
    /// Enforcement of a rule: ID=deny, ID=warn or ID=off (repeatable)
    #[arg(long = "rule", value_name = "ID=LEVEL")]
    pub(crate) rules: Vec<RuleOverride>,
    /// Exit with 1 for warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Override --deny-warnings, which the pre-commit hook and the GitHub Action set
    #[arg(long, overrides_with = "deny_warnings")]
    pub(crate) allow_warnings: bool,
    /// Exit with 0 if nothing was evaluated or a file is empty
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Output format
    #[arg(
        long,
        short,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Output"
    )]
    pub(crate) output: Output,
}

/// Returns the families of rules, which rule ids start with.
fn families() -> BTreeSet<&'static str> {
    let ids = rules().iter().map(|rule| rule.id());
    ids.filter_map(|id| Some(id.split_once('/')?.0)).collect()
}

/// Parses the name of a conformance profile.
fn parse_profile(name: &str) -> Result<&'static Profile, String> {
    profile(name).ok_or_else(|| {
        let names: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
        let hint = suggestion(name, names.iter().copied());
        format!("expected {}{hint}", names.join(", "))
    })
}

/// Parses the name of a namespace: a label as in `IsDNS1123Label` of `k8s.io/apimachinery`.
pub(crate) fn parse_namespace(name: &str) -> Result<String, String> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_valid_ends = !name.starts_with('-') && !name.ends_with('-');
    // Empty for objects of kinds without a namespace.
    if name.len() > 63 || !has_valid_ends || !name.chars().all(is_valid) {
        let text = "expected at most 63 lowercase letters, digits and `-`, with a letter or digit at both ends";
        return Err(text.to_owned());
    }
    Ok(name.to_owned())
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Request")]
pub(crate) struct ImpersonationArgs {
    /// Namespace of objects without one; `default` if not set
    #[arg(long, short, value_parser = parse_namespace)]
    pub(crate) namespace: Option<String>,
    /// User to impersonate
    #[arg(
        long = "as",
        value_name = "USER",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) user: String,
    /// Group to impersonate (repeatable)
    #[arg(long = "as-group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Human-readable text.
    Text,
    /// One JSON document.
    Json,
    /// One JSON document per line.
    Ndjson,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// GitHub Actions workflow commands.
    Github,
    /// GitLab Code Quality report.
    Gitlab,
}

impl Output {
    /// Returns true if the format contains the number of evaluated objects.
    pub(crate) const fn has_totals(self) -> bool {
        match self {
            Self::Json | Self::Ndjson | Self::Junit => true,
            Self::Text | Self::Sarif | Self::Github | Self::Gitlab => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOutput {
    /// A table.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConformanceOutput {
    /// A table.
    Text,
    /// One JSON document.
    Json,
    /// A summary for a CI job's page, for example `$GITHUB_STEP_SUMMARY`.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuleOverride {
    pub(crate) rule: &'static str,
    pub(crate) enforcement: Enforcement,
}

impl FromStr for RuleOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, level) = text
            .split_once('=')
            .ok_or("expected ID=deny, ID=warn or ID=off")?;
        let rule = rule(id).ok_or_else(|| unknown_rule(id))?.id();
        let mut levels = Enforcement::ALL.iter().copied();
        let enforcement = levels.find(|enforcement| enforcement.as_str() == level);
        let enforcement = enforcement.ok_or_else(|| {
            let hint = suggestion(level, Enforcement::ALL.iter().map(|level| level.as_str()));
            format!("got {level}, expected deny, warn or off{hint}")
        })?;
        Ok(Self { rule, enforcement })
    }
}

/// Formats the suggestion `; did you mean "deny"?`, if a known word is similar.
pub(crate) fn suggestion<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest(word, words).map_or_else(String::new, |near| format!("; {}", did_you_mean(near)))
}

pub(crate) fn unknown_rule(id: &str) -> String {
    let ids = rules().iter().map(|rule| rule.id());
    let near = ids.clone().find(|rule| rule.contains(id));
    match near.or_else(|| nearest_name(id, ids)) {
        Some(rule) => format!("unknown rule {id}; {}", did_you_mean(rule)),
        None => format!("unknown rule {id}; `managed-by rules` lists all rules"),
    }
}
