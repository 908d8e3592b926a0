//! Repository-wide defaults: `--config`, or `managed-by.toml` in the working directory or an ancestor.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use managed_by::{Enforcement, ReleaseSet, Rule, rule};
use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind, span_and_source};
use managed_by_console::exit::CliError;
use managed_by_console::input::Input;
use managed_by_console::value::{parse_namespace, suggestion};
use managed_by_offline::{ReleaseSelector, ValueLocation};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::args::{EvaluationArgs, ManifestArgs, RuleOverride};

/// Pattern of releases, for editors: `1.36`, `v1.36.3-eks-abc`, `1.31-1.33`, `1.31+`, `all`.
#[cfg(test)]
const RELEASES: &str = concat!(
    r"^(all|v?1\.\d+(\.\d+)?(\+|-v?1\.\d+(\.\d+)?)?|v?1\.\d+\.\d+[-+][^,]+)",
    r"(, *(all|v?1\.\d+(\.\d+)?(\+|-v?1\.\d+(\.\d+)?)?|v?1\.\d+\.\d+[-+][^,]+))*$",
);

/// Contents of the file. Command-line arguments have precedence.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Config {
    /// File with the policy's settings, standalone or in a policy manifest, relative to the directory of this file
    settings: Option<PathBuf>,
    /// Kubernetes release whose rules apply, such as 1.36.3, or 1.36 for its newest patch release; or several, each with its verdict:
    /// 1.31-1.33, 1.33.4+, a list, or all
    #[cfg_attr(test, schemars(with = "Option<String>", regex(pattern = RELEASES)))]
    kubernetes: Option<ReleaseSelector>,
    /// Files and directories that lint and diff exclude, relative to the directory of this file
    exclude: Vec<String>,
    /// Namespace of objects without one
    #[serde(deserialize_with = "namespace")]
    namespace: Option<String>,
    /// Enforcement of rules by id: deny, warn or off
    #[serde(deserialize_with = "rule_overrides")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    rules: Vec<RuleOverride>,
    /// Exit with 1 for warnings too
    deny_warnings: bool,
    /// Exit with 0 if nothing was evaluated or a file is empty
    allow_empty: bool,
    /// The directory that `exclude` is relative to, if it is not the working directory.
    #[serde(skip)]
    root: Option<PathBuf>,
    /// Name of the file, unless an argument names it.
    #[serde(skip)]
    found: Option<Arc<str>>,
}

fn namespace<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(value)?;
    parse_namespace(&name).map(Some).map_err(D::Error::custom)
}

fn rule_overrides<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<RuleOverride>, D::Error> {
    let levels = BTreeMap::<String, String>::deserialize(value)?;
    let rules = levels
        .iter()
        .map(|(id, level)| format!("{id}={level}").parse().map_err(D::Error::custom));
    rules.collect()
}

/// Applies the values of a file, or of the nearest `managed-by.toml`, where the arguments of a command that reads manifests set none.
pub fn apply_to_manifests(file: Option<&Path>, args: &mut ManifestArgs) -> Result<(), CliError> {
    let mut config = Config::find(file)?;
    let directories = &mut args.directories;
    if directories.exclude.is_empty() {
        directories.exclude.clone_from(&config.exclude);
        directories.root = config.root.take();
    } else {
        config.exclude.clear();
    }
    if args.user.namespace.is_none() {
        args.user.namespace.clone_from(&config.namespace);
    } else {
        config.namespace = None;
    }
    config.apply_to_evaluation(&mut args.evaluation);
    Ok(())
}

/// Like [`apply_to_manifests`], for the arguments that control the evaluation.
pub fn apply_to_evaluation(file: Option<&Path>, args: &mut EvaluationArgs) -> Result<(), CliError> {
    let config = Config::find(file)?;
    let config = Config {
        exclude: Vec::new(),
        namespace: None,
        ..config
    };
    config.apply_to_evaluation(args);
    Ok(())
}

/// Applies the file's settings if the arguments have none.
pub fn apply_to_settings(
    file: Option<&Path>,
    settings: &mut Option<PathBuf>,
) -> Result<(), CliError> {
    let config = Config::find(file)?;
    *settings = settings.take().or(config.settings);
    Ok(())
}

impl Config {
    /// Reads a file, or the nearest `managed-by.toml`, if there is one.
    fn find(file: Option<&Path>) -> Result<Self, CliError> {
        let parents = env::current_dir()?.ancestors().count();
        let mut files = (0..parents).map(|parents| {
            let directory: PathBuf = std::iter::repeat_n("..", parents).collect();
            directory.join("managed-by.toml")
        });
        let Some(path) = file
            .map(Path::to_owned)
            .or_else(|| files.find(|path| path.is_file()))
        else {
            return Ok(Self::default());
        };
        let input = Input::new(&path);
        let text = input.text()?;
        let mut config: Self = toml::from_str(&text).map_err(|e: toml::de::Error| {
            let located = locate(&text, e.span().unwrap_or_default());
            let message = format!("{}{}", e.message(), suggested_key(e.message()));
            Diagnostic::at(&input.name, span_and_source(&text, &located), message)
        })?;
        let directory = path.parent().unwrap_or(Path::new(""));
        config.settings = config.settings.map(|file| directory.join(file));
        if file.is_none() {
            config.root = Some(directory.to_owned());
            config.found = Some(input.name);
        }
        Ok(config)
    }

    fn apply_to_evaluation(mut self, args: &mut EvaluationArgs) {
        self.settings.take_if(|_| args.settings.is_some());
        self.kubernetes.take_if(|_| args.kubernetes.is_some());
        args.chosen_by = self.choices();
        // The last override of a rule wins.
        self.rules.append(&mut args.rules);
        args.rules = self.rules;
        args.deny_warnings |= self.deny_warnings && !args.allow_warnings;
        args.allow_empty |= self.allow_empty;
        args.settings = args.settings.take().or(self.settings);
        args.kubernetes = args.kubernetes.take().or(self.kubernetes);
    }

    /// Returns a note about what may hide findings, if the file belongs to the evaluated tree: a pull request may change it.
    fn choices(&self) -> Option<Diagnostic> {
        let file = self.found.as_ref()?;
        // `lint` and `diff` enable rules that are off by default, too.
        let weaker = self.rules.iter().filter(|level| match level.enforcement {
            Enforcement::Deny => false,
            Enforcement::Warn => {
                rule(level.rule).map(Rule::default_enforcement) != Some(Enforcement::Warn)
            }
            Enforcement::Off => true,
        });
        let weaker = weaker.map(|level| format!("{}={}", level.rule, level.enforcement.as_str()));
        let excluded = self.exclude.iter().map(|it| format!("exclude {it}"));
        let settings = self.settings.iter();
        let settings = settings.map(|file| format!("settings {}", file.display()));
        let releases = self.kubernetes.iter();
        let releases = releases.map(|selector| selector.selection.releases());
        let releases = releases.filter(|releases| *releases != ReleaseSet::all());
        let releases = releases.map(|releases| format!("kubernetes {releases}"));
        let namespace = self
            .namespace
            .iter()
            .map(|name| format!("namespace {name}"));
        let empty = self.allow_empty.then(|| "allow-empty".to_owned());
        let all = excluded.chain(settings).chain(releases).chain(namespace);
        let all: Vec<_> = all.chain(weaker).chain(empty).collect();
        let text = format!(
            "chooses {}; pin the configuration with --config",
            all.join(", ")
        );
        let note = Diagnostic::of_file(file, text).with_kind(DiagnosticKind::Configuration);
        (!all.is_empty()).then_some(note)
    }
}

fn locate(text: &str, span: std::ops::Range<usize>) -> ValueLocation {
    let before = text.get(..span.start).unwrap_or_default();
    let last = before.rsplit('\n').next().unwrap_or_default();
    ValueLocation {
        line: before.matches('\n').count().saturating_add(1),
        column: last.chars().count().saturating_add(1),
        span,
        is_exact: true,
    }
}

/// Suggests a key, if the message reports an unknown one and lists the valid ones.
fn suggested_key(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted
        .next()
        .filter(|_| message.starts_with("unknown field"));
    unknown.map_or_else(String::new, |unknown| suggestion(unknown, quoted))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Config;

    const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.schema.json");

    /// Editors use the schema for completion and validation.
    #[test]
    fn schema_matches_the_code() {
        let mut schema = schemars::schema_for!(Config);
        let id = "https://raw.githubusercontent.com/managed-by-policy/managed-by-policy/main/docs/config.schema.json";
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), "managed-by.toml".into());
        let made = format!("{:#}\n", schema.as_value());
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(SCHEMA, &made).unwrap();
        }
        let written = fs::read_to_string(SCHEMA).unwrap();
        assert_eq!(
            written, made,
            "docs/config.schema.json is out of date; run with UPDATE_EXPECT=1 to update it"
        );
    }
}
