//! Settings: which ones a command judges by, and what is wrong with them.

use std::path::{Path, PathBuf};

use managed_by::{Release, ReleaseSet, Settings};
use managed_by_offline::{Judge, MalformedText, SettingsText, decode, overlaid};

use crate::args::Judging;
use crate::diagnostic::{Diagnostic, key_place, place};
use crate::error::CliError;
use crate::input::Input;
use crate::release::Kubernetes;
use crate::report::{Kind, Report};

/// The schema of the settings, which `make docs` writes.
pub(super) const SCHEMA: &str = include_str!("../../../../docs/settings.schema.json");

/// The settings that a command judges by.
pub(super) struct Chosen {
    json: String,
    /// The releases to ask; without a set, the settings choose.
    releases: Option<ReleaseSet>,
}

impl Chosen {
    /// Reads what the arguments choose.
    ///
    /// # Errors
    /// If the file of settings cannot be read, or has problems.
    pub(super) fn new(judging: &Judging) -> Result<Self, CliError> {
        let mut chosen = Self::of_file(judging.settings.as_deref())?;
        let mut release = None;
        match judging.kubernetes {
            None => {}
            Some(Kubernetes::One(one)) => release = Some(one),
            Some(Kubernetes::Each(releases)) => chosen.releases = Some(releases),
        }
        let rules = judging.rules.iter();
        let rules: Vec<_> = rules.map(|one| (one.rule, one.enforcement)).collect();
        chosen.json = overlaid(&chosen.json, release, &rules);
        Ok(chosen)
    }

    /// The settings in a file, or those that hold without one.
    pub(super) fn of_file(path: Option<&Path>) -> Result<Self, CliError> {
        let json = path.map_or_else(|| Ok("{}".to_owned()), read)?;
        Ok(Self {
            json,
            releases: None,
        })
    }

    /// The one release whose rules apply, if one is chosen.
    pub(super) fn release(&self) -> Option<Release> {
        let settings = Settings::from_json(self.json.as_bytes()).ok()?;
        let chosen = settings.kubernetes_version();
        chosen.filter(|_| self.releases.is_none())
    }

    pub(super) fn json(&self) -> &str {
        &self.json
    }

    pub(super) fn settings(&self) -> Result<Settings<'_>, CliError> {
        let settings = Settings::from_json(self.json.as_bytes());
        settings.map_err(|problems| CliError::Error(problems.to_string()))
    }

    /// Who judges by them beside an API server or without one: rules are on that are off in the policy only because the API
    /// server is there to say it.
    ///
    /// # Errors
    /// If they have problems, which only what the arguments put over them can bring.
    pub(super) fn judge(&self) -> Result<Judge<'_>, CliError> {
        Ok(Judge::new(self.settings()?.for_tools(), self.releases))
    }

    /// Who judges by them as the policy does.
    pub(super) fn policy(&self) -> Result<Judge<'_>, CliError> {
        Ok(Judge::new(self.settings()?, self.releases))
    }
}

/// The one set of settings in a file, as JSON.
fn read(path: &Path) -> Result<String, CliError> {
    let input = Input::new(path);
    let bytes = input
        .bytes()
        .map_err(|unjudged| CliError::Diagnostics(vec![unjudged]))?;
    let unreadable =
        |malformed| CliError::Diagnostics(vec![Diagnostic::new(&input.name, malformed)]);
    let text = &*decode(&bytes).map_err(unreadable)?;
    let all = SettingsText::all(text).map_err(unreadable)?;
    let [settings] = &*all else {
        let what = match all.len() {
            0 => "holds no settings".to_owned(),
            count => format!("holds {count} sets of settings, expected one"),
        };
        return Err(unreadable(MalformedText::whole(what)));
    };
    let problems = problems(&input, text, settings);
    if problems.is_empty() {
        Ok(settings.json().to_owned())
    } else {
        Err(CliError::Diagnostics(problems))
    }
}

/// Every problem of settings, each with its place in the text.
fn problems(input: &Input, text: &str, settings: &SettingsText<'_>) -> Vec<Diagnostic> {
    let Err(problems) = settings.read() else {
        return Vec::new();
    };
    let at = |problem: &managed_by::Problem| {
        let path = settings.path_of(problem.path());
        let (place, source) = if problem.is_key() {
            key_place(text, &settings.document, &path)
        } else {
            place(text, &settings.document, &path)
        };
        Diagnostic {
            suggestion: problem.suggestion().map(str::to_owned),
            ..Diagnostic::at(&input.name, &place, source, problem.to_string())
        }
    };
    problems.as_slice().iter().map(at).collect()
}

/// Tells every problem of the settings in files.
pub(super) fn check(files: &[PathBuf]) -> Report {
    let mut report = Report {
        kind: Kind::SettingsCheck,
        ..Report::default()
    };
    for file in files {
        let input = Input::new(file);
        match input.bytes() {
            Ok(bytes) => check_one(&input, &bytes, &mut report),
            Err(unjudged) => report.unjudged.push(unjudged),
        }
    }
    report
}

fn check_one(input: &Input, bytes: &[u8], report: &mut Report) {
    let malformed = |malformed| Diagnostic::new(&input.name, malformed);
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(error) => return report.add(malformed(error)),
    };
    let text = &*text;
    let (all, others) = match SettingsText::apart(text) {
        Ok((all, _)) if all.is_empty() => {
            return report.add(malformed(MalformedText::whole("holds no settings")));
        }
        Ok(found) => found,
        Err(error) => return report.add(malformed(error)),
    };
    for settings in &all {
        report.unjudged.extend(problems(input, text, settings));
    }
    for other in &others {
        let (place, _) = key_place(text, &other.document, &other.path);
        let what = "not checked: the module is not named as those of this project";
        report.hint(what.to_owned(), || format!("{}:{}", input.name, place.line));
    }
}

#[cfg(test)]
mod tests {
    use managed_by_offline::SettingsText;

    #[test]
    fn settings_are_found_in_manifests() {
        let found = |text: &str| -> Vec<String> {
            let all = SettingsText::all(text).unwrap();
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
            // Of several policies those of this project, of one whatever it is called.
            let other = text.replace("spec:", "spec:\n  module: r/other:v1");
            assert_eq!(found(&format!("{text}---\n{other}")), [worker]);
            assert_eq!(found(&other), [worker]);
        }
        let server = "a:\n  module: registry://r/managed-by-policy:v1\n  settings: {role: worker}\nb:\n  module: file:///annotated-pods-policy.wasm\n  policyMode: monitor\nc:\n  module: r/psp:v1\n  settings: {x: y}\nd:\n  policies:\n    e: {module: r/managed-by-policy, settings: {role: worker}}\n  expression: e()\n";
        assert_eq!(found(server), [worker, "null", worker]);
        assert_eq!(found("role: worker"), [worker]);
        let other = "apiVersion: v1\nkind: ConfigMap\n";
        assert_eq!(found(other), [""; 0]);
    }
}
