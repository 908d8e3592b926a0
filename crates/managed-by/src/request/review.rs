//! A document with a request in it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::AdmissionRequest;
use super::reading::{ObjectDecoding, RequestReading};
use super::source::Source;
use crate::decode::fields::{Text, put_seed};
use crate::decode::{Malformed, Outline, OutlineOf, Result, decode};

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

#[derive(Default)]
struct ReviewReading<'a> {
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
        json.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for ReviewSeed {
    type Value = ReviewReading<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut reading = ReviewReading::default();
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.0) {
                ("request", objects) => put_seed(&mut reading.request, &mut map, objects)?,
                ("settings", ObjectDecoding::Inline) => {
                    put_seed(&mut reading.settings, &mut map, OutlineOf(LARGE_SETTINGS))?;
                }
                ("settings", ObjectDecoding::Deferred) => {
                    reading.settings = Some(Outline::of(map.next_value()?));
                }
                _ => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(reading)
    }
}
