//! The arguments of the program.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use managed_by_conformance::ConformanceArgs;
use managed_by_linter::args::{
    DiffArgs, LintArgs, ListOutput, ReplayArgs, ReviewArgs, SettingsCommand, families,
};
use managed_by_status::StatusArgs;

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
    /// Use this file instead of managed-by.toml, such as one of the base branch, which a pull request can't change
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Command to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Evaluate manifests as if they were created: YAML, JSON, lists, directories
    #[command(
        after_help = "Examples:\n  managed-by lint job.yaml\n  helm template . | managed-by lint --kubernetes 1.36\n  managed-by lint manifests/ --exclude node_modules -o github"
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
        after_help = "Examples:\n  managed-by status -A --problems\n  managed-by status job/pi -n team-a\n  managed-by status -A -o json\n\nIt writes nothing, unless you ask for reports. Without a permission, it reports what it could not check."
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
