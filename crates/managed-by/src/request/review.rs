//! A document with a request in it.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};

use super::AdmissionRequest;
use super::reading::{ObjectDecoding, RequestReading};
use super::source::Source;
use crate::decode::fields::{Text, put, put_seed};
use crate::decode::{Malformed, Outline, OutlineOf, Result, Strict, VisitContainer, decode};

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
        let reading = |objects| {
            let reading = decode(bytes, ReviewSeed(objects))?;
            let request = reading
                .request
                .ok_or_else(|| Malformed::unexpected("request", "an object", "nothing"))?;
            let request = request.finish(Source::Review(bytes));
            Ok(Self {
                request: request.map_err(|e| e.within("request"))?,
                settings: reading.settings,
            })
        };
        ObjectDecoding::read(reading)
    }
}

struct ReviewReading<'a> {
    objects: ObjectDecoding,
    request: Option<RequestReading<'a>>,
    settings: Option<Outline<'a>>,
}

struct ReviewSeed(ObjectDecoding);

impl<'a> DeserializeSeed<'a> for ReviewSeed {
    type Value = ReviewReading<'a>;

    fn deserialize<D: Deserializer<'a>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        let mut reading = ReviewReading {
            objects: self.0,
            request: None,
            settings: None,
        };
        json.deserialize_map(Strict(&mut reading))?;
        Ok(reading)
    }
}

impl<'a> VisitContainer<'a> for ReviewReading<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.objects) {
                ("request", objects) => put_seed(&mut self.request, &mut map, objects)?,
                ("settings", ObjectDecoding::Inline) => {
                    put_seed(&mut self.settings, &mut map, OutlineOf(LARGE_SETTINGS))?;
                }
                ("settings", ObjectDecoding::Deferred) => {
                    let mut text = self.settings.take().map(|outline| outline.raw);
                    put(&mut text, &mut map)?;
                    self.settings = text.map(Outline::of);
                }
                _ => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}
