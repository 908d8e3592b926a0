//! The arguments of the commands.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use managed_by::{Enforcement, did_you_mean, nearest_name, rule, rules};
use managed_by_console::diagnostic::Diagnostic;
use managed_by_console::value::{parse_namespace, suggestion};
use managed_by_offline::ReleaseSelector;

/// Returns the families of rules, which rule ids start with.
pub fn families() -> BTreeSet<&'static str> {
    let ids = rules().iter().map(|rule| rule.id());
    ids.filter_map(|id| Some(id.split_once('/')?.0)).collect()
}

#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
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
pub struct LintArgs {
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
    pub manifests: ManifestArgs,
}

#[derive(Debug, ClapArgs)]
pub struct DiffArgs {
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
    pub manifests: ManifestArgs,
}

#[derive(Debug, ClapArgs)]
pub struct ReviewArgs {
    /// Files, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
pub struct ReplayArgs {
    /// Files, or - for standard input; audit events are merged by time
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the first N requests with findings in full; by default all for text from standard input, otherwise none; ndjson always prints all
    #[arg(long, value_name = "N")]
    pub(crate) show: Option<usize>,
    #[command(flatten)]
    pub evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
pub struct WritersArgs {
    /// Audit logs, which are merged by time, or - for standard input; optionally compressed with gzip or zstd
    #[arg(value_name = "AUDIT.LOG", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Policy settings, which may declare custom kinds
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct ManifestArgs {
    #[command(flatten)]
    pub(crate) directories: DirectoryArgs,
    #[command(flatten)]
    pub(crate) user: ImpersonationArgs,
    #[command(flatten)]
    pub evaluation: EvaluationArgs,
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Directories")]
pub struct DirectoryArgs {
    /// Exclude files and directories by a .gitignore pattern, relative to the working directory, such as 'charts/*/templates'
    /// (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Also apply --exclude to files given as arguments, which is how pre-commit passes them
    #[arg(long)]
    pub(crate) force_exclude: bool,
    /// Include files that .gitignore or .ignore excludes and git does not track
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// Skip files that are neither YAML nor JSON instead of exiting with code 2
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
    /// Directory that the patterns are relative to, if it is not the working directory.
    #[arg(skip)]
    pub(crate) root: Option<PathBuf>,
}

/// Arguments that control the evaluation and its output.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Evaluation")]
pub struct EvaluationArgs {
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
    pub output: Output,
    /// What `managed-by.toml` of the evaluated tree chooses, which may hide findings.
    #[arg(skip)]
    pub(crate) chosen_by: Option<Diagnostic>,
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Request")]
pub struct ImpersonationArgs {
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
pub enum Output {
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
pub enum ListOutput {
    /// A table.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleOverride {
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

pub(crate) fn unknown_rule(id: &str) -> String {
    let ids = rules().iter().map(|rule| rule.id());
    let near = ids.clone().find(|rule| rule.contains(id));
    match near.or_else(|| nearest_name(id, ids)) {
        Some(rule) => format!("unknown rule {id}; {}", did_you_mean(rule)),
        None => format!("unknown rule {id}; `managed-by rules` lists all rules"),
    }
}
