//! Where a request was read from.

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::Raw;

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

impl Source<'_> {
    /// Whether the object is, to the byte, the one that is stored. The document is read again.
    pub(super) fn is_noop(self) -> bool {
        let request = match self {
            Self::Objects(object, old) => return Some(object) == old,
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
            Self::Typed(new, old) => return old == Some(new),
        };
        let (mut new, mut old) = (None, None);
        for (name, value) in request.map(Raw::members).unwrap_or_default() {
            match &*name {
                "object" => new = Some(value),
                "oldObject" => old = Some(value),
                _ => {}
            }
        }
        new.is_some() && new == old
    }
}
