//! Resolves the settings of a command.

use std::path::Path;

use managed_by::{Enforcement, Release, ReleaseSet, Settings, did_you_mean, likely_typo};
use managed_by_offline::release::{Selection, note_newer_than_known};
use managed_by_offline::{Evaluator, ReleaseSelector, SettingsText, with_overrides};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, DiagnosticKind, locate, locate_key};
use crate::exit::CliError;
use crate::input::Input;

pub struct ResolvedSettings {
    pub json: String,
    /// The releases to evaluate; [`None`] uses the settings.
    releases: Option<ReleaseSet>,
    /// Remarks about valid settings and about `--kubernetes`.
    pub remarks: Vec<Diagnostic>,
}

impl ResolvedSettings {
    /// Reads the settings in a file, and overrides its release and enforcement.
    pub fn new(
        file: Option<&Path>,
        kubernetes: Option<&ReleaseSelector>,
        rules: &[(&str, Enforcement)],
    ) -> Result<Self, CliError> {
        let mut settings = Self::from_file(file)?;
        let (release, releases) = match kubernetes.map(|k| k.selection) {
            None => (None, None),
            Some(Selection::One(release)) => (Some(release), None),
            Some(Selection::Each(releases)) => (None, Some(releases)),
        };
        let notes = kubernetes.into_iter().flat_map(release_notes);
        settings.remarks.extend(notes);
        settings.json = with_overrides(&settings.json, release, rules);
        settings.releases = releases;
        Ok(settings)
    }

    /// Reads the settings in a file, or returns the defaults.
    pub fn from_file(path: Option<&Path>) -> Result<Self, CliError> {
        let (json, remarks) = match path {
            Some(path) => read(&Input::new(path))?,
            None => ("{}".to_owned(), Vec::new()),
        };
        Ok(Self {
            json,
            releases: None,
            remarks,
        })
    }

    /// Returns the release whose rules apply, if one is selected.
    pub fn release(&self) -> Option<Release> {
        let settings = Settings::from_json(self.json.as_bytes()).ok()?;
        let release = settings.kubernetes_version();
        release.filter(|_| self.releases.is_none())
    }

    /// Returns the selected releases, or all.
    pub fn releases(&self) -> ReleaseSet {
        self.releases.unwrap_or_else(ReleaseSet::all)
    }

    /// Parses the settings.
    pub fn settings(&self) -> Result<Settings<'_>, CliError> {
        let settings = Settings::from_json(self.json.as_bytes());
        settings.map_err(|problems| CliError::Error(problems.to_string()))
    }

    /// Returns an evaluator. With `is_offline`, it enables the rules that are off in a cluster: see [`Settings::for_tools`].
    pub fn evaluator(&self, is_offline: bool) -> Result<Evaluator<'_>, CliError> {
        let settings = self.settings()?;
        let settings = if is_offline {
            settings.for_tools()
        } else {
            settings
        };
        Ok(Evaluator::new(settings, self.releases))
    }
}

/// Returns notes about versions in `--kubernetes`.
pub fn release_notes(kubernetes: &ReleaseSelector) -> Vec<Diagnostic> {
    let note = |note: &String| {
        let note = Diagnostic::of_file(&"--kubernetes".into(), note.clone());
        note.with_kind(DiagnosticKind::UnknownPatchRelease)
    };
    kubernetes.notes.iter().map(note).collect()
}

/// Reads the only set of settings in a file, as JSON, and remarks about it.
fn read(input: &Input) -> Result<(String, Vec<Diagnostic>), CliError> {
    let text = input.text()?;
    let (all, _) = find(input, &text)?;
    let [settings] = &*all else {
        let text = format!("{} sets of settings in this file, expected one", all.len());
        return Err(Diagnostic::of_file(&input.name, text).into());
    };
    let problems = problems(input, &text, settings);
    if problems.is_empty() {
        let remarks = remarks(input, &text, settings);
        Ok((settings.json().to_owned(), remarks))
    } else {
        Err(CliError::Diagnostics(problems))
    }
}

/// Finds the settings in a text, and the settings of other policies. A text without settings is an error.
pub fn find<'t>(
    input: &Input,
    text: &'t str,
) -> Result<(Vec<SettingsText<'t>>, Vec<SettingsText<'t>>), Diagnostic> {
    let (all, others) = SettingsText::find(text).map_err(|e| Diagnostic::new(&input.name, e))?;
    if all.is_empty() {
        return Err(Diagnostic::of_file(&input.name, "no settings in this file"));
    }
    Ok((all, others))
}

/// Returns all problems of the settings, each with its position.
pub fn problems(input: &Input, text: &str, settings: &SettingsText<'_>) -> Vec<Diagnostic> {
    let Err(problems) = settings.read() else {
        return Vec::new();
    };
    let diagnostics = problems.as_slice().iter().map(|problem| {
        let path = settings.document_path(problem.path());
        let locate = if problem.is_key() { locate_key } else { locate };
        let location = locate(text, &settings.document, &path);
        Diagnostic {
            suggestion: problem.suggestion().map(str::to_owned),
            ..Diagnostic::at(&input.name, location, problem.to_string())
        }
    });
    let mut diagnostics: Vec<_> = diagnostics.collect();
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    diagnostics
}

/// Returns warnings about listed controllers whose names are probably misspelled, and a note about an unknown patch release.
pub fn remarks(input: &Input, text: &str, settings: &SettingsText<'_>) -> Vec<Diagnostic> {
    let parsed = settings.read().unwrap_or_default();
    let typos = parsed.controller_names().filter_map(|name| {
        let suggestion = likely_typo(name)?;
        let path = format!("controllers[{name}]");
        let location = locate_key(text, &settings.document, &settings.document_path(&path));
        let near = did_you_mean(suggestion);
        let text = format!("{path}: no known controller has this name; {near}");
        let diagnostic = Diagnostic::at(&input.name, location, text);
        Some(Diagnostic {
            suggestion: Some(suggestion.to_owned()),
            ..diagnostic.with_kind(DiagnosticKind::LikelyTypo)
        })
    });
    let version = serde_json::from_str::<Value>(settings.json()).ok();
    let version = version.and_then(|settings| {
        let note = note_newer_than_known(settings.get("kubernetes_version")?.as_str()?)?;
        Some(format!("kubernetes_version: {note}"))
    });
    let version = version.map(|note| {
        let path = settings.document_path("kubernetes_version");
        let location = locate(text, &settings.document, &path);
        let diagnostic = Diagnostic::at(&input.name, location, note);
        diagnostic.with_kind(DiagnosticKind::UnknownPatchRelease)
    });
    typos.chain(version).collect()
}

#[cfg(test)]
mod tests {
    use managed_by_offline::SettingsText;

    #[test]
    fn settings_are_found_in_manifests() {
        let found = |text: &str| -> Vec<String> {
            let (all, _) = SettingsText::find(text).unwrap();
            all.iter().map(|s| s.json().to_owned()).collect()
        };
        let group = "spec:\n  policies:\n    ours: {module: 'registry://r/managed-by-policy:v1', settings: {role: worker}}\n    other: {module: 'registry://r/psp:v1', settings: {x: y}}\n";
        let worker = "{\"role\":\"worker\"}";
        for kind in ["ClusterAdmissionPolicy", "AdmissionPolicy"] {
            let text = format!(
                "apiVersion: policies.kubewarden.io/v1\nkind: {kind}\nspec:\n  settings:\n    role: worker\n"
            );
            assert_eq!(found(&text), [worker]);
            let group =
                format!("apiVersion: policies.kubewarden.io/v1\nkind: {kind}Group\n{group}");
            assert_eq!(found(&group), [worker]);
            // With several policies, only policies of this project count; a single policy always counts.
            let other = text.replace("spec:", "spec:\n  module: r/other:v1");
            assert_eq!(found(&format!("{text}---\n{other}")), [worker]);
            assert_eq!(found(&other), [worker]);
        }
        let server = "a:\n  module: registry://r/managed-by-policy:v1\n  settings: {role: worker}\nb:\n  module: file:///annotated-pods-policy.wasm\n  policyMode: monitor\nc:\n  module: r/psp:v1\n  settings: {x: y}\nd:\n  policies:\n    e: {module: r/managed-by-policy, settings: {role: worker}}\n  expression: e()\n";
        assert_eq!(found(server), [worker, "null", worker]);
        assert_eq!(found("role: worker"), [worker]);
        let values = "role: worker\nkubernetesVersion: auto\nmode: monitor\nsettings: {}\nmodule: {tag: v1}\n";
        assert_eq!(found(values), [worker]);
        let values = "role: worker\nmodule: {tag: v1}\nprojects: {}\n";
        assert_eq!(found(values), [worker]);
        let policies = "policy:\n  module: r/managed-by-policy\n  settings: {role: worker}\n";
        assert_eq!(found(policies), [worker]);
        let group = "policy:\n  policies:\n    a:\n      module: r/managed-by-policy\n      settings: {role: worker}\n";
        assert_eq!(found(group), [worker]);
        // Not of the chart.
        let typo = "role: worker\nkubernetesVersion: auto\n";
        assert_eq!(
            found(typo),
            [r#"{"kubernetesVersion":"auto","role":"worker"}"#]
        );
        let other = "apiVersion: v1\nkind: ConfigMap\n";
        assert_eq!(found(other), [""; 0]);
    }
}
