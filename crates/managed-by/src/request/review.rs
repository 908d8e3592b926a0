//! Documents that contain a request.

use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess};

use super::AdmissionRequest;
use super::decoding::{ObjectDecoding, RequestFields};
use super::source::RequestSource;
use crate::decode::fields::{Text, set_once};
use crate::decode::{Collect, DecodeError, Outline, Result, VisitContainer, decode};

/// Document with a request in its member `request`: an `AdmissionReview` of `admission.k8s.io/v1`, or the input of a policy engine,
/// with the policy's settings.
#[derive(Debug)]
#[non_exhaustive]
pub struct AdmissionReview<'a> {
    /// The request.
    pub request: AdmissionRequest<'a>,
    /// The member `settings`, if there is one.
    pub(crate) settings: Option<Outline<'a>>,
}

/// Settings that may have many entries.
const LARGE_SETTINGS: &[&str] = &["controllers", "namespaces", "rules"];

impl<'a> AdmissionReview<'a> {
    /// Decodes the document from JSON.
    ///
    /// # Errors
    /// Fails like [`AdmissionRequest::from_json`], with paths that start with `request`.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        let decode_review = |objects| {
            let (request, settings) = (None, None);
            let fields = ReviewFields {
                objects,
                request,
                settings,
            };
            let fields = decode(bytes, Collect(fields))?;
            let missing = || DecodeError::unexpected("request", "an object", "nothing");
            let request = fields.request.ok_or_else(missing)?;
            let request = request.finish(RequestSource::Review(bytes));
            Ok(Self {
                request: request.map_err(|e| e.within("request"))?,
                settings: fields.settings,
            })
        };
        ObjectDecoding::read(decode_review)
    }
}

struct ReviewFields<'a> {
    objects: ObjectDecoding,
    request: Option<RequestFields<'a>>,
    settings: Option<Outline<'a>>,
}

impl<'a> VisitContainer<'a> for ReviewFields<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.objects) {
                ("request", objects) => {
                    let request = Collect(RequestFields::new(objects));
                    set_once(&mut self.request, &mut map, request)?;
                }
                ("settings", ObjectDecoding::Inline) => {
                    let settings = Collect(Outline::splitting(LARGE_SETTINGS));
                    set_once(&mut self.settings, &mut map, settings)?;
                }
                ("settings", ObjectDecoding::Deferred) => {
                    let mut text = self.settings.take().map(|outline| outline.raw_or_empty);
                    set_once(&mut text, &mut map, PhantomData)?;
                    self.settings = text.map(Outline::from_raw);
                }
                _ => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}
