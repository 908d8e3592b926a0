//! The arguments of `managed-by conformance`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};
use managed_by_console::value::suggestion;
use managed_by_offline::ReleaseSelector;
use managed_by_offline::profile::{PROFILES, Profile, profile};

#[derive(Debug, ClapArgs)]
pub struct ConformanceArgs {
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
    pub settings: Option<PathBuf>,
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

/// Parses the name of a conformance profile.
fn parse_profile(name: &str) -> Result<&'static Profile, String> {
    profile(name).ok_or_else(|| {
        let names: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
        let hint = suggestion(name, names.iter().copied());
        format!("expected {}{hint}", names.join(", "))
    })
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
