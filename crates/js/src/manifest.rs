//! Implements `lint` and `diff`: reviews the objects in a text as creates, and the differences between two texts as updates.

use managed_by::{Evaluation, Finding, NoCluster, ReleaseSet, Settings, Verdict, resolve};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::{Document, MalformedText, Request};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::RequestOptions;
use crate::error::Error;
use crate::position::{Position, PositionIndex};
use crate::releases::ReleasesOption;
use crate::settings::with_settings;

/// Result of `lint` or `diff`.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "LintResponse"))]
pub struct Lint {
    /// Objects of supported kinds, in the order of the text. `diff` lists an object twice if its status and other fields change.
    pub objects: Vec<ObjectVerdict>,
    /// Parts of the text that could not be reviewed: invalid documents and objects, and for `diff`, objects that the old text does
    /// not have.
    pub errors: Vec<TextError>,
    /// Kinds of the other objects, one entry per object: `Pod`, `Deployment.apps`.
    pub unsupported: Vec<String>,
    /// Notes about the option `releases`: versions that are newer than each known patch release.
    pub notes: Vec<String>,
}

impl Lint {
    fn not_reviewed_count(&self) -> usize {
        self.errors.len().saturating_add(self.unsupported.len())
    }
}

/// An object with its verdict.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ObjectVerdict {
    /// Reviewed request, which contains the object.
    #[cfg_attr(feature = "package", ts(type = "AdmissionRequest"))]
    pub request: Box<RawValue>,
    /// Verdict. With the option `releases`, a denial of any release is a denial.
    #[cfg_attr(feature = "package", ts(type = "Evaluation"))]
    pub verdict: Evaluation,
    /// Position of the object.
    pub position: Position,
    /// Position of each path with a finding.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "package", ts(type = "Record<string, Position>"))]
    pub positions: Vec<(String, Position)>,
    /// Note that the API server drops the status of a create, or that the object is reviewed as a stored one. Not a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub note: Option<&'static str>,
    /// `true` if the object is reviewed as a stored one, with its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "true"))]
    pub stored: Option<bool>,
}

/// Serializes pairs as an object. A map would add a sort implementation to the module.
fn as_map<S: Serializer>(pairs: &[(String, Position)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(path, position)| (path, position)))
}

/// A part of a text that could not be reviewed, with the reason.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct TextError {
    /// Text that contains the part: `old` or `new` for `diff`, `new` for `lint`.
    #[cfg_attr(feature = "package", ts(type = "\"old\" | \"new\""))]
    pub text: &'static str,
    /// Position in the text.
    pub position: Position,
    /// Error message.
    pub message: String,
}

pub(crate) fn lint(text: &str, settings: &str, options: &RequestOptions) -> Result<Lint, Error> {
    let releases = ReleasesOption::parse(options.releases.as_deref())?;
    with_settings(settings, |settings| {
        // As in the CLI, all rules are enabled, because no API server validates the text afterwards.
        let settings = settings.clone().for_tools();
        let mut builder = LintBuilder::new(&settings, releases);
        let source = Source::new("new", text);
        // One document at a time, because a document needs many times the memory of its text.
        Document::for_each(text, |document| {
            let Some(document) = builder.document(&source, document) else {
                return;
            };
            for object in builder.objects(&source, &document) {
                let request = object.request(&options.namespace, &options.user);
                builder.review(&source, &document, &object, &request);
            }
        });
        builder.lint
    })
}

pub(crate) fn diff(
    old: &str,
    new: &str,
    is_status: bool,
    settings: &str,
    options: &RequestOptions,
) -> Result<Lint, Error> {
    let releases = ReleasesOption::parse(options.releases.as_deref())?;
    with_settings(settings, |settings| {
        let settings = settings.clone().for_tools();
        let mut builder = LintBuilder::new(&settings, releases);
        let (old, new) = (Source::new("old", old), Source::new("new", new));
        let old_documents = builder.documents(&old);
        let mut old_objects: Vec<Object<'_>> = Vec::new();
        for document in &old_documents {
            old_objects.extend(builder.objects(&old, document));
        }
        let documents = builder.documents(&new);
        let mut objects: Vec<(&Document<'_>, Object<'_>)> = Vec::new();
        for document in &documents {
            let in_document = builder.objects(&new, document).into_iter();
            objects.extend(in_document.map(|object| (document, object)));
        }
        let count = objects.len();
        let mut next = 0_usize;
        for (document, object) in objects {
            // Two single objects are a pair even if their names differ.
            let index = match &*old_objects {
                [_] if count == 1 => Some(0),
                _ => find_from(next, &old_objects, |old| is_same(old, &object)),
            };
            next = index.map_or(next, |index| index.saturating_add(1));
            let pair = index.and_then(|index| old_objects.get(index));
            if let Some(old) = pair {
                let (namespace, user) = (&options.namespace, &options.user);
                let requests = manifest::updates(old, &object, is_status, namespace, user);
                for request in &requests {
                    let reported = builder.lint.not_reviewed_count();
                    builder.review(&new, document, &object, request);
                    // Further requests contain the same object and would report it again.
                    if builder.lint.not_reviewed_count() > reported {
                        break;
                    }
                }
            } else {
                let message = format!(
                    "the old text has no {} with this namespace and name",
                    object.kind()
                );
                let name = document.locate(&object.document_path("metadata.name"));
                builder.add_error(&new, new.positions.located(&name), message);
            }
        }
        builder.lint
    })
}

/// Returns the index of the first match at or after `start`, wrapping around to the beginning. Both texts usually have the same
/// order.
fn find_from<T>(start: usize, items: &[T], is_match: impl Fn(&T) -> bool) -> Option<usize> {
    let indexes = (start..items.len()).chain(0..start.min(items.len()));
    let mut matches = indexes.filter(|index| items.get(*index).is_some_and(&is_match));
    matches.next()
}

/// Returns true if both have the same kind, namespace and name.
fn is_same(a: &Object<'_>, b: &Object<'_>) -> bool {
    (a.name(), a.namespace(), a.kind(), a.group()) == (b.name(), b.namespace(), b.kind(), b.group())
}

/// A text that contains objects.
struct Source<'t> {
    /// Name of the text in the result: `old` or `new`.
    name: &'static str,
    text: &'t str,
    positions: PositionIndex<'t>,
}

impl<'t> Source<'t> {
    const fn new(name: &'static str, text: &'t str) -> Self {
        Self {
            name,
            text,
            positions: PositionIndex::new(text),
        }
    }
}

/// Collector of the result.
struct LintBuilder<'s> {
    settings: &'s Settings<'s>,
    /// Releases to evaluate; [`None`] uses the settings.
    releases: Option<ReleaseSet>,
    lint: Lint,
}

impl<'s> LintBuilder<'s> {
    fn new(settings: &'s Settings<'s>, option: ReleasesOption) -> Self {
        let ReleasesOption { releases, notes } = option;
        Self {
            settings,
            releases,
            lint: Lint {
                notes,
                ..Lint::default()
            },
        }
    }

    fn add_error(&mut self, source: &Source<'_>, position: Position, message: String) {
        let error = TextError {
            text: source.name,
            position,
            message,
        };
        self.lint.errors.push(error);
    }

    fn malformed(&mut self, source: &Source<'_>, malformed: MalformedText) {
        let MalformedText {
            line, column, text, ..
        } = malformed;
        self.add_error(source, source.positions.to_line_end(line, column), text);
    }

    /// Returns the documents of a text, and records invalid ones.
    fn documents<'t>(&mut self, source: &Source<'t>) -> Vec<Document<'t>> {
        let mut documents = Vec::new();
        Document::for_each(source.text, |document| {
            documents.extend(self.document(source, document));
        });
        documents
    }

    /// Returns a document without duplicate keys, or records the error.
    fn document<'t>(
        &mut self,
        source: &Source<'t>,
        document: Result<Document<'t>, MalformedText>,
    ) -> Option<Document<'t>> {
        let valid = document.and_then(Document::without_duplicate_fields);
        valid.map_err(|e| self.malformed(source, e)).ok()
    }

    /// Returns the objects in a document, and records invalid ones.
    fn objects<'d>(&mut self, source: &Source<'_>, document: &'d Document<'_>) -> Vec<Object<'d>> {
        let mut objects = Vec::new();
        for object in manifest::objects(document) {
            match object {
                Ok(object) if object.kind().is_empty() => {
                    let kind = document.locate_key(&object.document_path("kind"));
                    let message = "expected an object with a kind".to_owned();
                    self.add_error(source, source.positions.located(&kind), message);
                }
                Ok(object) => match object.placeholder().filter(|_| object.is_supported()) {
                    None => objects.push(object),
                    Some((path, message)) => {
                        let at = document.locate(&object.document_path(&path));
                        self.add_error(source, source.positions.located(&at), message);
                    }
                },
                Err(e) => self.malformed(source, e),
            }
        }
        objects
    }

    fn review(
        &mut self,
        source: &Source<'_>,
        document: &Document<'_>,
        object: &Object<'_>,
        request: &Request<'_>,
    ) {
        let Ok(written) = to_raw_value(request) else {
            return;
        };
        let releases = self.releases;
        let result = request.with_request(|request| {
            resolve(request, self.settings, |resolved| {
                match resolved.malformed_object() {
                    Some(malformed) => Err(malformed.clone()),
                    // A release that is requested denies the object.
                    None => Ok(resolved.evaluate(releases, &NoCluster)),
                }
            })
        });
        let (evaluation, malformed) = match result.flatten() {
            Ok(evaluation) => (evaluation, None),
            Err(reason) => {
                let verdict = Verdict::malformed_object(&reason);
                (Evaluation::uniform(verdict, releases), Some(reason))
            }
        };
        // Only reviewed objects have the annotation `mode`, including custom kinds in the settings.
        let has_mode = || {
            let mut annotations = evaluation.verdict.audit_annotations.iter();
            annotations.any(|(key, _)| *key == "mode")
        };
        if !object.is_supported() && malformed.is_none() && !has_mode() {
            let dot = if object.group().is_empty() { "" } else { "." };
            let name = format!("{}{dot}{}", object.kind(), object.group());
            self.lint.unsupported.push(name);
            return;
        }
        // The position of the value at a path, or of the nearest parent key if the value is missing.
        let position_of = |path: &str| {
            let path = object.document_path(path);
            let located = document.locate(&path);
            if located.is_exact {
                return source.positions.located(&located);
            }
            source.positions.located(&document.locate_key(&path))
        };
        let mut positions: Vec<(String, Position)> = Vec::new();
        for Finding { path, .. } in &evaluation.findings {
            if positions.iter().all(|(known, _)| known != path) {
                positions.push((path.clone(), position_of(path)));
            }
        }
        if let Some(reason) = &malformed {
            let path = reason.path().and_then(|path| path.strip_prefix("object"));
            let path = path
                .map(|path| path.trim_start_matches('.'))
                .unwrap_or_default();
            self.add_error(source, position_of(path), reason.to_string());
        }
        self.lint.objects.push(ObjectVerdict {
            request: written,
            verdict: evaluation,
            position: position_of(""),
            positions,
            note: request.note,
            stored: request.operation.is_stored().then_some(true),
        });
    }
}
