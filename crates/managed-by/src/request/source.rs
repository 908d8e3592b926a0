//! Where a request was read from.

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::Raw;
use crate::upstream::go;

/// The document that a request was read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// None: the objects were read by themselves.
    Objects(Part<'a>, Option<Part<'a>>),
    /// The request alone.
    Request(&'a [u8]),
    /// A document with the request as its member `request`.
    Review(&'a [u8]),
    /// No document: a typed Job, whose status may be dropped, and the one that is stored, if one is.
    #[cfg(feature = "k8s-openapi")]
    Typed(&'a Job, StatusOf<'a>, Option<&'a Job>),
}

/// An object of a request by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    pub(super) status: StatusOf<'a>,
}

/// Which status an object of a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusOf<'a> {
    Itself,
    /// None: the API server drops it.
    Nothing,
    /// The one of the object with this text.
    Other(&'a str),
}

impl Part<'_> {
    /// More bytes than an API server writes.
    fn most(self) -> usize {
        let other = match self.status {
            StatusOf::Other(text) => text.len(),
            StatusOf::Itself | StatusOf::Nothing => 0,
        };
        let read = self.text.len().saturating_add(other);
        read.saturating_mul(go::MAX_JSON_GROWTH)
    }

    /// How many bytes an API server writes.
    fn size(self) -> usize {
        let whole = go::json_size(self.text.as_bytes());
        let without = || whole.saturating_sub(status_size(self.text));
        match self.status {
            StatusOf::Itself => whole,
            StatusOf::Nothing => without(),
            StatusOf::Other(text) => without().saturating_add(status_size(text)),
        }
    }
}

/// How many bytes the status is of an object with this text.
fn status_size(object: &str) -> usize {
    let mut members = Raw::unread(object).members().into_iter();
    let status = members.rfind(|(name, _)| name == "status");
    let size = status.map(|(_, value)| go::json_size(value.as_str().as_bytes()));
    size.map_or(0, |size| size.saturating_add("\"status\":,".len()))
}

impl<'a> Source<'a> {
    /// Whether the object is, to the byte, the one that is stored. The document is read again.
    pub(super) fn is_noop(self) -> bool {
        #[cfg(feature = "k8s-openapi")]
        if let Self::Typed(new, _, old) = self {
            return old == Some(new);
        }
        if let Self::Objects(object, old) = self {
            return old == Some(object);
        }
        let [object, old] = self.objects();
        object.is_some() && object == old
    }

    /// How many bytes the object and the stored one have as an API server writes them, or 0 if both are small. The document is read
    /// again if one of them may have more than `limit`.
    pub(super) fn object_sizes(self, limit: usize) -> [usize; 2] {
        let document = match self {
            Self::Objects(object, old) => {
                let parts = [Some(object), old];
                let most = parts.iter().flatten().map(|part| part.most());
                return if most.fold(0, usize::saturating_add) <= limit {
                    [0, 0]
                } else {
                    parts.map(|part| part.map_or(0, Part::size))
                };
            }
            Self::Request(bytes) | Self::Review(bytes) => bytes,
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(object, status, old) => {
                let json = |job| serde_json::to_vec(job).unwrap_or_default();
                if status == StatusOf::Nothing {
                    let created = Job {
                        status: None,
                        ..object.clone()
                    };
                    return [go::json_size(&json(&created)), 0];
                }
                return [Some(object), old]
                    .map(|job| job.map_or(0, |job| go::json_size(&json(job))));
            }
        };
        let is_small = document.len().saturating_mul(go::MAX_JSON_GROWTH) <= limit;
        if is_small || go::json_size(document) <= limit {
            return [0, 0];
        }
        let size = |text: Option<&str>| text.map_or(0, |text| go::json_size(text.as_bytes()));
        self.objects().map(size)
    }

    /// The text of the object and of the stored one.
    fn objects(self) -> [Option<&'a str>; 2] {
        let request = match self {
            Self::Objects(object, old) => return [Some(object.text), old.map(|old| old.text)],
            Self::Request(bytes) => Raw::document_again(bytes),
            Self::Review(bytes) => {
                let review = Raw::document_again(bytes);
                review.and_then(|review| {
                    let mut members = review.members().into_iter();
                    let request = members.rfind(|(name, _)| name == "request");
                    request.map(|(_, value)| value)
                })
            }
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(..) => None,
        };
        let (mut new, mut old) = (None, None);
        for (name, value) in request.map(Raw::members).unwrap_or_default() {
            match &*name {
                "object" => new = Some(value.as_str()),
                "oldObject" => old = Some(value.as_str()),
                _ => {}
            }
        }
        [new, old]
    }
}
