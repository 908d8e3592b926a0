//! Manifests: the objects in a text as creates, and the updates between two texts.

use managed_by::{AdmissionRequest, Release, Settings, review};
use managed_by_requests::manifest::{self, Object, User};
use managed_by_requests::{Document, Path};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::settings;
use crate::trouble::Trouble;
use crate::verdict::{Place, Verdict};

/// How the objects of a text are judged.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Options {
    namespace: String,
    username: String,
    groups: Vec<String>,
    sub_resource: Option<SubResource>,
    releases: Option<All>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SubResource {
    Status,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

/// What there is to say about a text.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Lint {
    /// The objects of known kinds, in the order of the text.
    pub objects: Vec<Judged>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Objects of kinds that the policy does not know: `Pod`, `Deployment.apps`, each as often as it is there.
    pub unknown: Vec<String>,
}

/// An object with the answer to it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Judged {
    /// The request that was judged. It holds the object.
    #[cfg_attr(feature = "package", ts(type = "AdmissionRequest"))]
    pub request: Box<RawValue>,
    /// The answer. Each finding has its place in the text.
    pub verdict: Verdict,
    /// What each release of Kubernetes says, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub releases: Option<Vec<ReleaseVerdict>>,
}

/// What the policy answers with `kubernetes_version` set to a release.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ReleaseVerdict {
    /// For example `1.37`.
    pub release: &'static str,
    /// The answer.
    pub verdict: Verdict,
}

/// A part of a text that is no object, or is none that could be judged.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Unreadable {
    /// Which text: `old` of `diff`, else `new`.
    #[cfg_attr(feature = "package", ts(type = "\"old\" | \"new\""))]
    pub text: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What is wrong.
    pub message: String,
}

/// Reads the options and the settings.
fn prepared<T>(
    settings: &str,
    options: &str,
    act: impl FnOnce(&Settings<'_>, &Options) -> T,
) -> Result<T, Trouble> {
    let options: Options = serde_json::from_str(options)
        .map_err(|e| Trouble::argument("options", &without_place(&e)))?;
    settings::with(settings, |settings| act(settings, &options))
}

/// An error of `serde_json` without line and column: the options were an object.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next();
    text.unwrap_or_default().to_owned()
}

pub(crate) fn lint(text: &str, settings: &str, options: &str) -> Result<Lint, Trouble> {
    prepared(settings, options, |settings, options| {
        let mut answers = Answers::new(settings, options);
        let documents = answers.documents(text, "new");
        for document in &documents {
            for object in answers.objects(text, document, "new") {
                let request = object.create_request(&options.namespace, &answers.user);
                answers.judge(text, document, &object, &request);
            }
        }
        answers.lint
    })
}

pub(crate) fn diff(old: &str, new: &str, settings: &str, options: &str) -> Result<Lint, Trouble> {
    prepared(settings, options, |settings, options| {
        let mut answers = Answers::new(settings, options);
        let is_status = options.sub_resource == Some(SubResource::Status);
        let documents = answers.documents(old, "old");
        let olds = documents.iter().map(|d| answers.objects(old, d, "old"));
        let olds: Vec<Object<'_>> = olds.collect::<Vec<_>>().into_iter().flatten().collect();
        let documents = answers.documents(new, "new");
        let news = documents
            .iter()
            .map(|d| (d, answers.objects(new, d, "new")));
        let news: Vec<(&Document<'_>, Vec<Object<'_>>)> = news.collect();
        let count = news
            .iter()
            .map(|(_, objects)| objects.len())
            .fold(0, usize::saturating_add);
        for (document, objects) in news {
            for object in objects {
                // Two objects are a pair, whatever they are called: the library says what it thinks of that.
                let pair = match &*olds {
                    [only] if count == 1 => Some(only),
                    olds => olds.iter().find(|old| is_same(old, &object)),
                };
                if let Some(old) = pair {
                    let request = manifest::update(
                        old,
                        &object,
                        is_status,
                        &options.namespace,
                        &answers.user,
                    );
                    answers.judge(new, document, &object, &request);
                } else {
                    let message = format!("the old text has no {} of this name", object.kind());
                    let place = document.locate(&object.path_of("metadata.name"));
                    answers.unreadable("new", Place::of(new, &place), message);
                }
            }
        }
        answers.lint
    })
}

/// Whether two states are of one object.
fn is_same(a: &Object<'_>, b: &Object<'_>) -> bool {
    let name = |o: &Object<'_>| [o.group(), o.kind(), o.namespace(), o.name()].map(str::to_owned);
    name(a) == name(b)
}

/// What is answered, as it is made.
struct Answers<'s> {
    settings: &'s Settings<'s>,
    /// Each release with the settings for it, if all are asked.
    releases: Vec<(Release, Settings<'s>)>,
    user: User,
    lint: Lint,
}

impl<'s> Answers<'s> {
    fn new(settings: &'s Settings<'s>, options: &Options) -> Self {
        let all = options.releases.iter().flat_map(|_| Release::ALL);
        Self {
            settings,
            releases: all
                .map(|&release| (release, settings.clone().with_kubernetes_version(release)))
                .collect(),
            user: User {
                name: options.username.clone(),
                groups: options.groups.clone(),
            },
            lint: Lint {
                objects: Vec::new(),
                unreadable: Vec::new(),
                unknown: Vec::new(),
            },
        }
    }

    fn unreadable(&mut self, text: &'static str, place: Place, message: String) {
        let unreadable = Unreadable {
            text,
            place,
            message,
        };
        self.lint.unreadable.push(unreadable);
    }

    fn documents<'t>(&mut self, text: &'t str, which: &'static str) -> Vec<Document<'t>> {
        let mut documents = Vec::new();
        for document in Document::all(text) {
            match document {
                Ok(document) => documents.push(document),
                Err(e) => self.unreadable(which, Place::at(text, e.line, e.column), e.text),
            }
        }
        documents
    }

    /// The objects in a document.
    fn objects<'d>(
        &mut self,
        text: &str,
        document: &'d Document<'_>,
        which: &'static str,
    ) -> Vec<Object<'d>> {
        let mut objects = match manifest::objects(document) {
            Ok(objects) => objects,
            Err(e) => {
                self.unreadable(which, Place::at(text, e.line, e.column), e.text);
                return Vec::new();
            }
        };
        objects.retain(|object| {
            let is_object = !object.kind().is_empty();
            if !is_object {
                let place = Place::of(text, &document.locate_key(&object.path_of("kind")));
                self.unreadable(which, place, "expected an object with a kind".to_owned());
            }
            is_object
        });
        objects
    }

    fn judge(&mut self, text: &str, document: &Document<'_>, object: &Object<'_>, request: &[u8]) {
        let Some(raw) = raw(request) else {
            return;
        };
        let read = AdmissionRequest::from_json(request);
        let verdict = |settings: &Settings<'_>| match &read {
            Ok(request) => Verdict::of(&review(request, settings), settings),
            Err(reason) => Verdict::of(&managed_by::Verdict::malformed(reason), settings),
        };
        let verdict_of_settings = verdict(self.settings);
        // A kind that the settings declare is judged, and so has a mode.
        let annotations = &verdict_of_settings.audit_annotations;
        if !object.is_known() && !annotations.iter().any(|(key, _)| *key == "mode") {
            let dot = if object.group().is_empty() { "" } else { "." };
            let name = format!("{}{dot}{}", object.kind(), object.group());
            self.lint.unknown.push(name);
            return;
        }
        let mut judged = Judged {
            request: raw,
            verdict: verdict_of_settings,
            releases: (!self.releases.is_empty()).then(|| {
                let each = self.releases.iter();
                each.map(|(release, settings)| ReleaseVerdict {
                    release: release.as_str(),
                    verdict: verdict(settings),
                })
                .collect()
            }),
        };
        for finding in &mut judged.verdict.findings {
            finding.place = Some(place(text, document, &object.path_of(&finding.path)));
        }
        if let Err(reason) = &read {
            let path = reason.path().and_then(|path| path.strip_prefix("object"));
            let path = path
                .map(|path| path.trim_start_matches('.'))
                .unwrap_or_default();
            let place = place(text, document, &object.path_of(path));
            self.unreadable("new", place, reason.to_string());
        }
        self.lint.objects.push(judged);
    }
}

/// The value at a path, or the key that it would stand below: all of what is around it would be too much to underline.
fn place(text: &str, document: &Document<'_>, path: &Path) -> Place {
    let located = document.locate(path);
    if located.is_exact {
        return Place::of(text, &located);
    }
    Place::of(text, &document.locate_key(path))
}

/// The request as it is.
fn raw(request: &[u8]) -> Option<Box<RawValue>> {
    let text = String::from_utf8(request.to_vec()).ok()?;
    RawValue::from_string(text).ok()
}
