//! Reads the objects in files, evaluates the supported ones and reports errors.

use std::path::Path;
use std::sync::Arc;

use managed_by::{DecodeError, Finding, UserInfo};
use managed_by_console::diagnostic::{
    Diagnostic, DiagnosticKind, SourceLine, Span, locate, locate_key,
};
use managed_by_console::exit::CliError;
use managed_by_console::input::Input;
use managed_by_console::settings::ResolvedSettings;
use managed_by_console::stream::{MAX_DOCUMENT, document_too_large};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectRef;
use managed_by_offline::{Document, Evaluator, MalformedText, Request, decode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::args::ManifestArgs;
use crate::exception::{ANNOTATION, exceptions};
use crate::hint;
use crate::report::Report;
use crate::result::RequestResult;

/// Settings, namespace and user of the evaluated requests.
pub(super) struct Context<'c> {
    pub(super) evaluator: Evaluator<'c>,
    pub(super) namespace: &'c str,
    pub(super) user: UserInfo<'c>,
}

impl<'c> Context<'c> {
    pub(super) fn new(
        settings: &'c ResolvedSettings,
        args: &'c ManifestArgs,
    ) -> Result<Self, CliError> {
        let user = &args.user;
        Ok(Self {
            evaluator: settings.evaluator(true)?,
            namespace: user.namespace.as_deref().unwrap_or("default"),
            user: UserInfo {
                username: (&*user.user).into(),
                groups: user.groups.iter().map(|group| (&**group).into()).collect(),
            },
        })
    }

    pub(super) fn supports(&self, name: &ObjectRef) -> bool {
        self.evaluator
            .supports(&name.group, &name.version, &name.kind)
    }
}

/// Applies a function to each object of a file, which returns true if it evaluates the object. Parts that are not objects are
/// reported.
pub(super) fn for_each_object(
    input: &Input,
    report: &mut Report,
    mut each: impl FnMut(&LocatedObject<'_, '_>, &mut Report) -> bool,
) {
    for_each_document(input, report, |text, document, report| {
        // A line of a pipe cannot be opened. A file with the output of Helm keeps its name.
        let template = document.helm_template().filter(|_| input.is_stream());
        let (file, lines_before) = match template {
            Some((template, line)) => (&Arc::from(template), line),
            None => (&input.name, 0),
        };
        let mut is_evaluated = false;
        for object in manifest::objects(document) {
            match object {
                Ok(object) => {
                    let object = LocatedObject {
                        file,
                        lines_before,
                        text,
                        document,
                        object,
                    };
                    is_evaluated |= each(&object, report);
                }
                Err(malformed) => {
                    let malformed = Diagnostic::new(&input.name, malformed);
                    report.diagnostics.push(malformed);
                }
            }
        }
        // Without a supported object, duplicate keys do not matter.
        if is_evaluated {
            let duplicates = document.duplicate_fields().iter().cloned();
            report.diagnostics.extend(duplicates.map(|field| {
                Diagnostic::new(&input.name, field).with_kind(DiagnosticKind::DuplicateField)
            }));
        }
    });
}

/// Applies a function to each document of a file. Unreadable documents are reported.
pub(super) fn for_each_document(
    input: &Input,
    report: &mut Report,
    mut each: impl FnMut(&str, &Document<'_>, &mut Report),
) {
    let bytes = match input.bytes() {
        Ok(bytes) => bytes,
        Err(error) => return report.diagnostics.push(error),
    };
    let unreadable =
        |malformed| Diagnostic::new(&input.name, malformed).with_kind(DiagnosticKind::Unreadable);
    let text = match decode(&bytes) {
        Ok(text) => text,
        Err(malformed) => return report.diagnostics.push(unreadable(malformed)),
    };
    if text.trim().is_empty() {
        if input.may_be_empty {
            report.empty = report.empty.saturating_add(1);
        } else {
            report.diagnostics.push(input.empty_file_error());
        }
        return;
    }
    // No block of YAML has such a line.
    let mut lines = text.lines();
    if let Some(line) = lines.position(|line| line.starts_with("<<<<<<< ")) {
        let text = "merge conflict marker, resolve the conflict";
        let marker = MalformedText::at(line.saturating_add(1), 1, text);
        return report.diagnostics.push(unreadable(marker));
    }
    let mut errors = Vec::new();
    Document::for_each(&text, |document| match document {
        Ok(document) if document.json().len() > MAX_DOCUMENT => {
            let diagnostic = Diagnostic::of_file(&input.name, document_too_large());
            report.diagnostics.push(diagnostic);
        }
        Ok(document) => each(&text, &document, report),
        // Never skip a document that kubectl accepts: its objects would go unchecked.
        Err(malformed) if malformed.is_unsupported => {
            report
                .diagnostics
                .push(Diagnostic::new(&input.name, malformed));
        }
        Err(malformed) => errors.push(unreadable(malformed)),
    });
    if let Some(first) = errors.first_mut()
        && let Some(chart) = chart_of(&input.name, &text)
    {
        first.message = format!(
            "Helm template: render it with `helm template {chart} | managed-by lint` ({})",
            first.message
        );
        errors.truncate(1);
    }
    report.diagnostics.append(&mut errors);
}

/// Returns the chart directory to pass to Helm if an unreadable file is a template: it is in a chart, or it parses without
/// its template actions.
fn chart_of(file: &str, text: &str) -> Option<String> {
    let mut without_actions = String::new();
    let mut rest = text;
    while let Some((before, action)) = rest.split_once("{{") {
        let (_, after) = action.split_once("}}")?;
        without_actions.push_str(before);
        // An action alone on its line produces the contents of the line.
        let line = without_actions.trim_end_matches(' ');
        let is_alone = line.is_empty() || line.ends_with('\n');
        if !(is_alone && (after.is_empty() || after.starts_with('\n'))) {
            without_actions.push('x');
        }
        rest = after;
    }
    without_actions.push_str(rest);
    if without_actions == text {
        return None;
    }
    let mut directories = Path::new(file).ancestors().skip(1);
    let chart = directories.find(|directory| directory.join("Chart.yaml").is_file());
    match chart.map(|chart| chart.display().to_string()) {
        Some(chart) if chart.is_empty() => Some(".".to_owned()),
        Some(chart) => Some(chart),
        None => {
            let mut is_valid = true;
            Document::for_each(&without_actions, |document| is_valid &= document.is_ok());
            is_valid.then(|| "CHART".to_owned())
        }
    }
}

/// An object in a document of a file.
pub(super) struct LocatedObject<'a, 't> {
    /// The file; for the output of `helm template`, the template.
    pub(super) file: &'a Arc<str>,
    /// Number of lines before the rendered template.
    lines_before: usize,
    pub(super) text: &'a str,
    pub(super) document: &'a Document<'t>,
    pub(super) object: Object<'a>,
}

impl LocatedObject<'_, '_> {
    /// Returns the range of a path in the object, and its line in the file.
    fn locate(&self, path: &str) -> (Span, Option<SourceLine>) {
        let path = self.object.document_path(path);
        self.in_file(locate(self.text, self.document, &path))
    }

    /// Converts a position in the text to one in the file.
    fn in_file(&self, (span, source): (Span, Option<SourceLine>)) -> (Span, Option<SourceLine>) {
        let line = |line: usize| line.saturating_sub(self.lines_before);
        let (line, end_line) = (line(span.line), line(span.end_line));
        let span = Span {
            line,
            end_line,
            ..span
        };
        (span, source)
    }

    /// Returns the position of a finding: the value, or the key that is wrong.
    fn locate_finding(&self, finding: &Finding) -> (Span, Option<SourceLine>) {
        if finding.is_about_key() {
            let path = self.object.document_path(&finding.path);
            self.in_file(locate_key(self.text, self.document, &path))
        } else {
            self.locate(&finding.path)
        }
    }

    /// Returns the name of the object if it can be evaluated. Otherwise reports a template that is not rendered, or counts the kind.
    pub(super) fn supported_name(
        &self,
        context: &Context<'_>,
        report: &mut Report,
    ) -> Option<ObjectRef> {
        let name = self.object.full_name(context.namespace);
        if context.supports(&name) {
            if let Some((path, text)) = self.object.placeholder() {
                let diagnostic =
                    Diagnostic::at(self.file, self.locate(&path), format!("{name}: {text}"));
                report.diagnostics.push(diagnostic);
                return None;
            }
            if let Some((path, text)) = self.mistyped_metadata() {
                let text = format!("{name}: {path}: {text}");
                let diagnostic = Diagnostic::at(self.file, self.locate(&path), text);
                report
                    .diagnostics
                    .push(diagnostic.with_kind(DiagnosticKind::Malformed));
                return None;
            }
            return Some(name);
        }
        let (group, kind) = (&*name.group, &*name.kind);
        let (warning, hint) = if kind.is_empty() {
            match hint::for_missing_kind(group, self.object.json()) {
                Some((text, true)) => (Some(text), None),
                hint => (None, hint.map(|(text, _)| text)),
            }
        } else {
            let warning = hint::for_version(group, Some(&name.version), kind);
            let warning = warning.or_else(|| hint::for_typo(group, kind));
            (warning, hint::for_command(group, kind))
        };
        if let Some(text) = warning {
            let is_kind = kind.is_empty() || text.starts_with("unsupported kind");
            let at = if is_kind { "kind" } else { "apiVersion" };
            let text = match kind {
                "" => text,
                _ => format!("{name}: {text}"),
            };
            let diagnostic = Diagnostic::at(self.file, self.locate(at), text);
            report
                .diagnostics
                .push(diagnostic.with_kind(DiagnosticKind::UnsupportedVersion));
        } else if let Some(hint) = hint {
            report.add_hint(hint, || {
                format!("{}:{}", self.file, self.locate("kind").0.line)
            });
        }
        let kind = if kind.is_empty() {
            String::new()
        } else {
            name.kind_and_group()
        };
        report.count_unsupported(kind, 1);
        None
    }

    /// Returns the first label or annotation that is no string, with its path. The API server rejects the object.
    fn mistyped_metadata(&self) -> Option<(String, String)> {
        let parts: MetadataParts<'_> = serde_json::from_str(self.object.json()).ok()?;
        parts.mistyped("")
    }

    /// Applies the object's exceptions to its results, which start at index `first`.
    pub(super) fn apply_exceptions(&self, first: usize, report: &mut Report) {
        let outcomes = report.results.get_mut(first..).unwrap_or_default();
        let Some(name) = outcomes.first().map(|result| result.object.to_string()) else {
            return;
        };
        let diagnostic = |text: String| {
            let path = format!("metadata.annotations[\"{ANNOTATION}\"]");
            let text = format!("{name}: {ANNOTATION}: {text}");
            Diagnostic::at(self.file, self.locate(&path), text)
        };
        let exceptions = match exceptions(self.object.json()) {
            Ok(exceptions) => exceptions,
            Err(text) => return report.diagnostics.push(diagnostic(text)),
        };
        for (rule, reason) in exceptions {
            let mut is_used = false;
            for result in &mut *outcomes {
                is_used |= result.suppress(rule, &reason);
            }
            if !is_used {
                let unused = diagnostic(format!("unused exception for {rule}, remove the line"));
                report
                    .diagnostics
                    .push(unused.with_kind(DiagnosticKind::UnusedSuppression));
            }
        }
    }

    /// Adds the evaluation of a request on the object.
    pub(super) fn evaluate(
        &self,
        context: &Context<'_>,
        request: &Request<'_>,
        name: ObjectRef,
        report: &mut Report,
    ) {
        let evaluator = &context.evaluator;
        let evaluated = request.with_request(|request| {
            let evaluated = evaluator.evaluate(request)?;
            Ok((evaluated, evaluator.releases_dropping_managed_by(request)))
        });
        match evaluated.flatten() {
            Ok((evaluated, releases_dropping_managed_by)) => {
                let locate = |finding: &Finding| Some(self.locate_finding(finding));
                let operation = request.operation;
                report.results.push(RequestResult {
                    note: request.note,
                    releases_dropping_managed_by: Some(releases_dropping_managed_by)
                        .filter(|releases| !releases.is_empty()),
                    span: Some(self.locate("kind").0),
                    ..RequestResult::new(self.file, name, operation, evaluated, locate)
                });
            }
            Err(malformed) => report.diagnostics.push(self.error(&name, &malformed)),
        }
    }

    /// Creates a denial at the position of a field of the wrong type.
    pub(super) fn error(&self, name: &ObjectRef, malformed: &DecodeError) -> Diagnostic {
        let text = malformed.to_string();
        let text = text.strip_prefix("object.").unwrap_or(&text);
        // The path is relative to the request.
        let path = malformed.path().unwrap_or_default();
        let path = path.strip_prefix("object.").unwrap_or_default();
        Diagnostic::at(self.file, self.locate(path), format!("{name}: {text}"))
            .with_kind(DiagnosticKind::Malformed)
    }
}

/// The metadata of an object and of its templates.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MetadataParts<'j> {
    #[serde(borrow)]
    metadata: Option<&'j RawValue>,
    spec: Option<Box<Self>>,
    template: Option<Box<Self>>,
    job_template: Option<Box<Self>>,
}

impl MetadataParts<'_> {
    fn mistyped(&self, path: &str) -> Option<(String, String)> {
        let metadata = self.metadata.map(RawValue::get).unwrap_or_default();
        let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
        let own = ["labels", "annotations"].iter().find_map(|field| {
            let path = format!("{path}metadata.{field}");
            let values = match metadata.get(field)? {
                Value::Null => return None,
                Value::Object(values) => values,
                other => {
                    return Some((
                        path,
                        format!("expected an object, got {}", type_name(other)),
                    ));
                }
            };
            let mut values = values.iter();
            // The API server reads null as an empty string.
            let (name, value) = values.find(|(_, value)| !value.is_string() && !value.is_null())?;
            let got = type_name(value);
            let hint = match value {
                Value::Array(_) | Value::Object(_) => "",
                _ => "; quote the value",
            };
            let text = format!("expected a string, got {got}{hint}");
            Some((format!("{path}[\"{name}\"]"), text))
        });
        let parts = [
            ("spec", &self.spec),
            ("template", &self.template),
            ("jobTemplate", &self.job_template),
        ];
        let mut parts = parts.iter();
        own.or_else(|| {
            parts.find_map(|(name, part)| part.as_ref()?.mistyped(&format!("{path}{name}.")))
        })
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
