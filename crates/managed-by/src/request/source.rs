//! Raw JSON of a request's objects, for rules that read more of them than most requests need.

use std::borrow::Cow;

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::Raw;
use crate::upstream::go;

#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestSource<'a> {
    Request(&'a [u8]),
    /// A document with the member `request`.
    Review(&'a [u8]),
    /// Objects without a request.
    Objects(ObjectPair<&'a str>),
    /// Objects as someone wrote them, before the API server changes them.
    #[cfg(feature = "manifests")]
    Manifests(ManifestTexts<'a>),
    #[cfg(feature = "k8s-openapi")]
    Typed(ObjectPair<&'a Job>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectPair<T> {
    pub(crate) object: T,
    /// True for a create that is not an admission request: its object may still have the status, which the API server drops.
    pub(super) is_create: bool,
    pub(crate) old: Option<T>,
}

#[cfg(feature = "manifests")]
pub(crate) type ManifestTexts<'a> = ObjectPair<&'a str>;

impl<'a> RequestSource<'a> {
    /// Returns true if a document contains the request.
    pub(crate) fn is_request(self) -> bool {
        matches!(self, Self::Request(_) | Self::Review(_))
    }

    /// Returns true if the object and the stored object are byte-for-byte equal (typed Jobs: equal). Scans the document again,
    /// because few requests need it.
    pub(crate) fn is_noop(self) -> bool {
        #[cfg(feature = "k8s-openapi")]
        if let Self::Typed(jobs) = self {
            return jobs.old == Some(jobs.object);
        }
        let texts = self.texts();
        texts.is_some_and(|texts| texts.old == Some(texts.object))
    }

    /// Returns the sizes of the object and the stored object as marshaled by the API server, or 0 if both are certainly at most
    /// `limit`.
    pub(crate) fn object_sizes(self, limit: usize) -> [usize; 2] {
        let most = |bytes: usize| bytes.saturating_mul(go::MAX_JSON_GROWTH);
        let is_small = match self {
            Self::Request(bytes) | Self::Review(bytes) => {
                most(bytes.len()) <= limit || go::json_size(bytes) <= limit
            }
            #[cfg(feature = "manifests")]
            Self::Manifests(texts) => return Self::Objects(texts).object_sizes(limit),
            Self::Objects(texts) => {
                let old = texts.old.map_or(0, str::len);
                most(texts.object.len().saturating_add(old)) <= limit
            }
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(_) => false,
        };
        if is_small {
            return [0, 0];
        }
        self.json().map_or([0, 0], |json| json.sizes())
    }

    pub(crate) fn json(self) -> Option<ObjectPair<Cow<'a, str>>> {
        #[cfg(feature = "k8s-openapi")]
        if let Self::Typed(jobs) = self {
            let json = |job: &Job| Cow::Owned(serde_json::to_string(job).unwrap_or_default());
            return Some(ObjectPair {
                object: json(jobs.object),
                is_create: jobs.is_create,
                old: jobs.old.map(json),
            });
        }
        let texts = self.texts()?;
        Some(ObjectPair {
            object: texts.object.into(),
            is_create: texts.is_create,
            old: texts.old.map(Into::into),
        })
    }

    /// Returns the texts of the manifests, if the request has any.
    #[cfg(feature = "manifests")]
    pub(crate) fn manifests(self) -> Option<ManifestTexts<'a>> {
        match self {
            Self::Manifests(texts) => Some(texts),
            _ => None,
        }
    }

    pub(super) fn texts(self) -> Option<ObjectPair<&'a str>> {
        let document = |bytes| std::str::from_utf8(bytes).ok().map(Raw::new);
        let request = match self {
            Self::Request(bytes) => document(bytes)?,
            Self::Review(bytes) => document(bytes)?.member("request")?,
            Self::Objects(texts) => return Some(texts),
            #[cfg(feature = "manifests")]
            Self::Manifests(texts) => return Some(texts),
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(_) => return None,
        };
        let members = request.members();
        let text = |member| {
            let found = members.iter().rfind(|(name, _)| name == member);
            found.map(|(_, object)| object.as_str())
        };
        Some(ObjectPair {
            object: text("object")?,
            is_create: false,
            old: text("oldObject"),
        })
    }
}

impl ObjectPair<Cow<'_, str>> {
    fn sizes(&self) -> [usize; 2] {
        let size = |text: &str| go::json_size(text.as_bytes());
        let mut object = size(&self.object);
        if self.is_create
            && let Some(status) = Raw::new(&self.object).member("status")
        {
            let status = size(status.as_str()).saturating_add("\"status\":,".len());
            object = object.saturating_sub(status);
        }
        [object, self.old.as_deref().map_or(0, size)]
    }
}
