//! Where a request was read from.

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::Raw;
use crate::upstream::go;

/// The document that a request was read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// None: the objects were read by themselves.
    Objects(&'a str, Option<&'a str>),
    /// The request alone.
    Request(&'a [u8]),
    /// A document with the request as its member `request`.
    Review(&'a [u8]),
    /// No document: a typed Job, and the one that is stored, if one is.
    #[cfg(feature = "k8s-openapi")]
    Typed(&'a Job, Option<&'a Job>),
}

impl<'a> Source<'a> {
    /// Whether the object is, to the byte, the one that is stored. The document is read again.
    pub(super) fn is_noop(self) -> bool {
        #[cfg(feature = "k8s-openapi")]
        if let Self::Typed(new, old) = self {
            return old == Some(new);
        }
        let [object, old] = self.objects();
        object.is_some() && object == old
    }

    /// How many bytes the object and the stored one have as an API server writes them. The document is read again if one of them
    /// may have more than `limit`.
    pub(super) fn object_sizes(self, limit: usize) -> [usize; 2] {
        let document = match self {
            Self::Objects(object, old) => {
                return [Some(object), old]
                    .map(|text| text.map_or(0, |t| go::json_size(t.as_bytes())));
            }
            Self::Request(bytes) | Self::Review(bytes) => bytes,
            #[cfg(feature = "k8s-openapi")]
            Self::Typed(object, old) => {
                let json = |job| serde_json::to_vec(job).unwrap_or_default();
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
            Self::Objects(object, old) => return [Some(object), old],
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
