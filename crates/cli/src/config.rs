//! Repository-wide defaults: `managed-by.toml`, in the working directory or an ancestor.

use std::env;
use std::path::{Path, PathBuf};

use managed_by::nearest;
use managed_by_offline::{MalformedText, decode};
use serde::Deserialize;

use crate::args::{
    Args, Command, Conformance, Diff, Judging, Lint, Manifests, Replay, Review, SettingsCommand,
    Writers,
};
use crate::diagnostic::{Diagnostic, place_of};
use crate::error::CliError;
use crate::input::Input;
use crate::release::Kubernetes;

const NAME: &str = "managed-by.toml";

/// Pattern of releases, for editors: `1.36`, `v1.36.3-eks-abc`, `1.31-1.33`, `1.31+`, `all`.
#[cfg(test)]
const RELEASES: &str = r"^(all|v?1\.\d+(\.\d+)?(\+|-v?1\.\d+(\.\d+)?)?|v?1\.\d+\.\d+[-+].+)$";

/// What the file may say. The arguments of the command line count more.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Config {
    /// The policy's settings, alone or in a manifest of the policy: a file, as seen from the folder of this one
    settings: Option<PathBuf>,
    /// The release whose rules apply, such as 1.36; or what each of several says: 1.31-1.33, 1.31+ or all
    #[cfg_attr(test, schemars(with = "Option<String>", regex(pattern = RELEASES)))]
    kubernetes: Option<Kubernetes>,
    /// Files and folders to leave out of the folders that lint and diff read, as seen from the folder of this file
    exclude: Vec<String>,
    /// The namespace of objects that name none
    namespace: Option<String>,
    /// Old findings, which lint and diff count and do not deny for: a file that --write-baseline makes
    baseline: Option<PathBuf>,
    /// Path of the file.
    #[serde(skip)]
    folder: PathBuf,
}

/// Applies the file's values where the arguments set none, if the command evaluates anything.
///
/// # Errors
/// Returns an error if the file exists and is invalid.
pub(crate) fn fill(args: &mut Args) -> Result<(), CliError> {
    if args.no_config {
        return Ok(());
    }
    match &mut args.command {
        Command::Lint(Lint { manifests, .. }) | Command::Diff(Diff { manifests, .. }) => {
            let config = Config::find()?;
            config.judging(&mut manifests.judging);
            config.manifests(manifests);
        }
        Command::Review(Review { judging, .. }) | Command::Replay(Replay { judging, .. }) => {
            Config::find()?.judging(judging);
        }
        Command::Conformance(Conformance { settings, .. })
        | Command::Settings(SettingsCommand::Writers(Writers { settings, .. })) => {
            Config::find()?.settings(settings);
        }
        _ => {}
    }
    Ok(())
}

impl Config {
    /// Reads the nearest file, if there is one.
    fn find() -> Result<Self, CliError> {
        let here = env::current_dir()?;
        let mut files = here.ancestors().map(|folder| folder.join(NAME));
        let Some(path) = files.find(|path| path.is_file()) else {
            return Ok(Self::default());
        };
        let path = path.strip_prefix(&here).unwrap_or(&path);
        let input = Input::new(path);
        let stop = |unjudged| CliError::Diagnostics(vec![unjudged]);
        let bytes = input.bytes().map_err(stop)?;
        let unreadable = |malformed: MalformedText| stop(Diagnostic::new(&input.name, malformed));
        let text = &*decode(&bytes).map_err(unreadable)?;
        let config = toml::from_str(text).map_err(|e: toml::de::Error| {
            let (place, source) = place_of(text, &e.span().unwrap_or_default());
            let text = format!("{}{}", e.message(), meant(e.message()));
            stop(Diagnostic::at(&input.name, &place, source, text))
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { folder, ..config })
    }

    /// Applies the defaults for evaluation.
    fn judging(&self, judging: &mut Judging) {
        self.settings(&mut judging.settings);
        judging.kubernetes = judging.kubernetes.or(self.kubernetes);
    }

    fn settings(&self, settings: &mut Option<PathBuf>) {
        if let (None, Some(file)) = (&settings, &self.settings) {
            *settings = Some(self.folder.join(file));
        }
    }

    /// Applies the defaults for files, the namespace and the baseline.
    fn manifests(&self, asked: &mut Manifests) {
        if let (None, Some(file)) = (&asked.known.baseline, &self.baseline) {
            asked.known.baseline = Some(self.folder.join(file));
        }
        if asked.folders.exclude.is_empty() {
            asked.folders.exclude.clone_from(&self.exclude);
            asked.folders.root = Some(self.folder.clone());
        }
        if asked.who.namespace.is_none() {
            asked.who.namespace.clone_from(&self.namespace);
        }
    }
}

/// Suggests a key, if the message reports an unknown one and lists the valid ones.
fn meant(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted
        .next()
        .filter(|_| message.starts_with("unknown field"));
    let near = unknown.and_then(|unknown| nearest(unknown, quoted));
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Config;

    const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.schema.json");

    /// Editors use the schema for completion and validation.
    #[test]
    fn the_schema_is_that_of_the_code() {
        let mut schema = schemars::schema_for!(Config);
        let id = "https://raw.githubusercontent.com/managed-by-policy/managed-by-policy/main/docs/config.schema.json";
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), "managed-by.toml".into());
        let made = format!("{:#}\n", schema.as_value());
        if std::env::var_os("UPDATE_CLI").is_some() {
            fs::write(SCHEMA, &made).unwrap();
        }
        let written = fs::read_to_string(SCHEMA).unwrap();
        assert_eq!(written, made, "UPDATE_CLI=1 writes it");
    }
}
