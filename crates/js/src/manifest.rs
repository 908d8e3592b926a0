//! Implements `lint` and `diff`: reviews the objects in a text as creates, and the differences between two texts as updates.

use managed_by::{Release, ReleaseSet, Settings};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::{Document, ObjectReport, Path, Request};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::RequestOptions;
use crate::error::Error;
use crate::settings;
use crate::verdict::{Position, ReviewVerdict};

/// Result of reviewing a text.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "LintResponse"))]
pub struct Lint {
    /// Objects of supported kinds, in the order of the text.
    pub objects: Vec<ObjectVerdict>,
    /// Parts of the text that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Kinds of the other objects, one entry per object: `Pod`, `Deployment.apps`.
    pub unknown: Vec<String>,
}

/// An object with its verdict.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ObjectVerdict {
    /// Reviewed request, which contains the object.
    #[cfg_attr(feature = "package", ts(type = "AdmissionRequest"))]
    pub request: Box<RawValue>,
    /// Verdict. Each finding has its position in the text.
    pub verdict: ReviewVerdict,
    /// Note that the API server drops the status of a create, or that the object is reviewed as a stored one. Not a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub remark: Option<&'static str>,
    /// Verdict of each Kubernetes release, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub releases: Option<Vec<ReleaseVerdict>>,
}

/// Verdict with `kubernetes_version` set to a release.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ReleaseVerdict {
    /// Release, for example `1.37`.
    pub release: &'static str,
    /// Verdict for the release.
    pub verdict: ReviewVerdict,
}

/// A part of a text that is not a valid object.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Unreadable {
    /// Text that contains the part: `old` or `new` for `diff`, `new` for `lint`.
    #[cfg_attr(feature = "package", ts(type = "\"old\" | \"new\""))]
    pub text: &'static str,
    /// Position in the text.
    pub position: Position,
    /// Error message.
    pub message: String,
}

pub(crate) fn lint(text: &str, settings: &str, options: &RequestOptions) -> Result<Lint, Error> {
    settings::with(settings, |settings| {
        // As in the CLI, all rules are enabled, because no API server validates the text afterwards.
        let settings = settings.clone().for_tools();
        let mut builder = LintBuilder::new(&settings, options.all_releases);
        let documents = builder.documents(text, "new");
        for document in &documents {
            for object in builder.objects(text, document, "new") {
                let request = object.request(&options.namespace, &options.user);
                builder.review(text, document, &object, &request);
            }
        }
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
    settings::with(settings, |settings| {
        let settings = settings.clone().for_tools();
        let mut builder = LintBuilder::new(&settings, options.all_releases);
        let old_documents = builder.documents(old, "old");
        let mut olds: Vec<Object<'_>> = Vec::new();
        for document in &old_documents {
            olds.extend(builder.objects(old, document, "old"));
        }
        let documents = builder.documents(new, "new");
        let mut news: Vec<(&Document<'_>, Object<'_>)> = Vec::new();
        for document in &documents {
            let objects = builder.objects(new, document, "new").into_iter();
            news.extend(objects.map(|object| (document, object)));
        }
        let count = news.len();
        for (document, object) in news {
            // Two single objects are a pair even if their names differ.
            let pair = match &*olds {
                [only] if count == 1 => Some(only),
                olds => olds.iter().find(|old| is_same(old, &object)),
            };
            if let Some(old) = pair {
                let (namespace, user) = (&options.namespace, &options.user);
                let requests = manifest::updates(old, &object, is_status, namespace, user);
                for request in &requests {
                    let unreadable = builder.lint.unreadable.len();
                    builder.review(new, document, &object, request);
                    // Further requests contain the same object and would report it again.
                    if builder.lint.unreadable.len() > unreadable {
                        break;
                    }
                }
            } else {
                let message = format!("the old text has no {} of this name", object.kind());
                let position = document.locate(&object.path_of("metadata.name"));
                builder.unreadable("new", Position::of(new, &position), message);
            }
        }
        builder.lint
    })
}

/// Returns true if both have the same kind, namespace and name.
fn is_same(a: &Object<'_>, b: &Object<'_>) -> bool {
    (a.group(), a.kind(), a.namespace(), a.name()) == (b.group(), b.kind(), b.namespace(), b.name())
}

/// Collector of the result.
struct LintBuilder<'s> {
    settings: &'s Settings<'s>,
    all_releases: bool,
    lint: Lint,
}

impl<'s> LintBuilder<'s> {
    fn new(settings: &'s Settings<'s>, all_releases: bool) -> Self {
        Self {
            settings,
            all_releases,
            lint: Lint::default(),
        }
    }

    fn unreadable(&mut self, text: &'static str, position: Position, message: String) {
        let unreadable = Unreadable {
            text,
            position,
            message,
        };
        self.lint.unreadable.push(unreadable);
    }

    fn documents<'t>(&mut self, text: &'t str, which: &'static str) -> Vec<Document<'t>> {
        let mut documents = Vec::new();
        for document in Document::all(text) {
            match document {
                Ok(document) => documents.push(document),
                Err(e) => self.unreadable(which, Position::at(text, e.line, e.column), e.text),
            }
        }
        documents
    }

    /// Returns the objects in a document, and records invalid ones.
    fn objects<'d>(
        &mut self,
        text: &str,
        document: &'d Document<'_>,
        which: &'static str,
    ) -> Vec<Object<'d>> {
        let mut objects = Vec::new();
        for object in manifest::objects(document) {
            match object {
                Ok(object) => objects.push(object),
                Err(e) => self.unreadable(which, Position::at(text, e.line, e.column), e.text),
            }
        }
        objects.retain(|object| {
            let is_object = !object.kind().is_empty();
            if !is_object {
                let position = Position::of(text, &document.locate_key(&object.path_of("kind")));
                self.unreadable(which, position, "expected an object with a kind".to_owned());
            }
            is_object
        });
        objects
    }

    fn review(
        &mut self,
        text: &str,
        document: &Document<'_>,
        object: &Object<'_>,
        request: &Request<'_>,
    ) {
        let Ok(written) = to_raw_value(request) else {
            return;
        };
        let of_each = |verdict: &dyn Fn(Release) -> Option<ReviewVerdict>| {
            let each = Release::ALL.iter().filter_map(|&release| {
                let (release, verdict) = (release.as_str(), verdict(release)?);
                Some(ReleaseVerdict { release, verdict })
            });
            self.all_releases.then(|| each.collect())
        };
        let result = request.with_request(|request| {
            let evaluate = |releases| managed_by::evaluate(request, self.settings, releases);
            let verdict = |report| ReviewVerdict::of(ObjectReport::new(&report));
            let all = self.all_releases.then(|| evaluate(Some(ReleaseSet::all())));
            let of_one = |release| all.as_ref()?.for_release(release).map(verdict);
            (verdict(evaluate(None)), of_each(&of_one))
        });
        let (verdict_of_settings, releases, malformed) = match result {
            Ok((verdict, releases)) => (verdict, releases, None),
            Err(reason) => {
                let verdict = ReviewVerdict::malformed(&reason);
                let releases = of_each(&|_| Some(verdict.clone()));
                (verdict, releases, Some(reason))
            }
        };
        // Only reviewed objects have the annotation `mode`, including custom kinds in the settings.
        let annotations = &verdict_of_settings.audit_annotations;
        if !object.is_supported() && !annotations.iter().any(|(key, _)| *key == "mode") {
            let dot = if object.group().is_empty() { "" } else { "." };
            let name = format!("{}{dot}{}", object.kind(), object.group());
            self.lint.unknown.push(name);
            return;
        }
        let mut object_verdict = ObjectVerdict {
            request: written,
            verdict: verdict_of_settings,
            remark: request.remark,
            releases,
        };
        for finding in &mut object_verdict.verdict.findings {
            finding.position = Some(position(
                text,
                document,
                &object.path_of(&finding.found.path),
            ));
        }
        if let Some(reason) = &malformed {
            let path = reason.path().and_then(|path| path.strip_prefix("object"));
            let path = path
                .map(|path| path.trim_start_matches('.'))
                .unwrap_or_default();
            let position = position(text, document, &object.path_of(path));
            self.unreadable("new", position, reason.to_string());
        }
        self.lint.objects.push(object_verdict);
    }
}

/// Returns the position of the value at a path, or of the nearest parent key if the value is missing.
fn position(text: &str, document: &Document<'_>, path: &Path) -> Position {
    let located = document.locate(path);
    if located.is_exact {
        return Position::of(text, &located);
    }
    Position::of(text, &document.locate_key(path))
}
