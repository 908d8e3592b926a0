//! The text of the objects of a request, for the rules that need more of it than the view.

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::Raw;
use crate::upstream::go;

/// The document or the objects that a request was read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// The objects were read by themselves.
    Objects(Part<'a>, Option<Part<'a>>),
    /// A request.
    Request(&'a [u8]),
    /// A document with the request as its member `request`.
    Review(&'a [u8]),
    /// A typed Job, whose status may be dropped, and the stored one.
    #[cfg(feature = "k8s-openapi")]
    Typed(&'a Job, StatusOf<'a>, Option<&'a Job>),
}

/// An object of a request by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    pub(super) status: StatusOf<'a>,
}

/// The status that an object of a request has.
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
    fn max_size(self) -> usize {
        let other = match self.status {
            StatusOf::Other(text) => text.len(),
            StatusOf::Itself | StatusOf::Nothing => 0,
        };
        let read = self.text.len().saturating_add(other);
        read.saturating_mul(go::MAX_JSON_GROWTH)
    }

    /// The number of bytes that an API server writes.
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

/// The number of bytes of the status of an object.
fn status_size(object: &str) -> usize {
    let status = Raw::new(object).member("status");
    let size = status.map(|status| go::json_size(status.as_str().as_bytes()));
    size.map_or(0, |size| size.saturating_add("\"status\":,".len()))
}

impl<'a> Source<'a> {
    /// Returns true if the object is, to the byte, the stored one. Reads a document again, because few requests ask.
    pub(super) fn is_noop(self) -> bool {
        #[cfg(feature = "k8s-openapi")]
        if let Self::Typed(new, _, old) = self {
            return old == Some(new);
        }
        let [object, old] = self.parts();
        object.is_some() && object == old
    }

    /// The sizes of the object and of the stored one as an API server writes them, or 0 if both together are surely at most `limit`.
    pub(super) fn object_sizes(self, limit: usize) -> [usize; 2] {
        let is_small = match self {
            Self::Objects(object, old) => {
                let old = old.map_or(0, Part::max_size);
                object.max_size().saturating_add(old) <= limit
            }
            Self::Request(bytes) | Self::Review(bytes) => {
                let max_size = bytes.len().saturating_mul(go::MAX_JSON_GROWTH);
                max_size <= limit || go::json_size(bytes) <= limit
            }
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(object, status, old) => return typed_sizes(object, status, old),
        };
        if is_small {
            return [0, 0];
        }
        self.parts().map(|part| part.map_or(0, Part::size))
    }

    /// The object and the stored one.
    fn parts(self) -> [Option<Part<'a>>; 2] {
        let document = |bytes| std::str::from_utf8(bytes).ok().map(Raw::new);
        let request = match self {
            Self::Objects(object, old) => return [Some(object), old],
            Self::Request(bytes) => document(bytes),
            Self::Review(bytes) => document(bytes).and_then(|review| review.member("request")),
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(..) => None,
        };
        let members = request.map(Raw::members).unwrap_or_default();
        ["object", "oldObject"].map(|member| {
            let (_, object) = members.iter().find(|(name, _)| name == member)?;
            Some(Part {
                text: object.as_str(),
                status: StatusOf::Itself,
            })
        })
    }
}

#[cfg(feature = "k8s-openapi")]
fn typed_sizes(object: &Job, status: StatusOf<'_>, old: Option<&Job>) -> [usize; 2] {
    let size = |job: &Job| go::json_size(&serde_json::to_vec(job).unwrap_or_default());
    if status == StatusOf::Nothing {
        let created = Job {
            status: None,
            ..object.clone()
        };
        return [size(&created), 0];
    }
    [size(object), old.map_or(0, size)]
}
