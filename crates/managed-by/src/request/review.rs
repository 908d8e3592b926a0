//! A document with a request in it.

use serde::de::Deserializer;

use super::AdmissionRequest;
use super::reading::RequestReading;
use super::source::Source;
use crate::decode::{Malformed, Members, Note, Outline, Place, Result, Value, document};

/// A document that holds a request as its member `request`: an `AdmissionReview` of `admission.k8s.io/v1`, or what a policy
/// engine sends, with the policy's settings beside it.
#[derive(Debug)]
#[non_exhaustive]
pub struct AdmissionReview<'a> {
    /// The request.
    pub request: AdmissionRequest<'a>,
    /// The member `settings`, if there is one.
    pub(crate) settings: Option<Outline<'a>>,
}

/// The settings that may have many entries.
const LARGE_SETTINGS: &[&str] = &["controllers", "namespaces", "rules"];

impl<'a> AdmissionReview<'a> {
    /// Reads the document from JSON.
    ///
    /// # Errors
    /// As [`AdmissionRequest::from_json`], with paths that begin with `request`.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        let note = Note::default();
        let reading = document(bytes, Place::root(&note), |value| {
            let mut reading = ReviewReading::default();
            value.object(&mut reading)?;
            Ok(reading)
        })?;
        let reading = note.or(reading)?;
        let nothing = || Malformed::shape("request", "an object", "nothing");
        let request = reading.request.ok_or_else(nothing)?;
        let request = request.and_then(|r| r.finish(Source::Review(bytes)));
        Ok(Self {
            request: request.map_err(|e| e.within("request"))?,
            settings: reading.settings,
        })
    }
}

#[derive(Default)]
struct ReviewReading<'a> {
    request: Option<Result<RequestReading<'a>>>,
    settings: Option<Outline<'a>>,
}

impl<'a> Members<'a> for ReviewReading<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        match name {
            "request" => self.request = Some(RequestReading::read(value)?),
            "settings" => self.settings = Some(Outline::read_object(value, LARGE_SETTINGS)?),
            _ => value.skip()?,
        }
        Ok(())
    }
}
