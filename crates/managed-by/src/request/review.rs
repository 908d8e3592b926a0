//! A document with a request in it.

use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess};

use super::AdmissionRequest;
use super::reading::{ObjectDecoding, RequestReading};
use super::source::Source;
use crate::decode::fields::{Text, put};
use crate::decode::{Collect, Malformed, Outline, Result, VisitContainer, decode};

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
            let (request, settings) = (None, None);
            let reading = ReviewReading {
                objects,
                request,
                settings,
            };
            let reading = decode(bytes, Collect(reading))?;
            let missing = || Malformed::unexpected("request", "an object", "nothing");
            let request = reading.request.ok_or_else(missing)?;
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

impl<'a> VisitContainer<'a> for ReviewReading<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.objects) {
                ("request", objects) => {
                    let request = Collect(RequestReading::new(objects));
                    put(&mut self.request, &mut map, request)?;
                }
                ("settings", ObjectDecoding::Inline) => {
                    let settings = Collect(Outline::splitting(LARGE_SETTINGS));
                    put(&mut self.settings, &mut map, settings)?;
                }
                ("settings", ObjectDecoding::Deferred) => {
                    let mut text = self.settings.take().map(|outline| outline.raw);
                    put(&mut text, &mut map, PhantomData)?;
                    self.settings = text.map(Outline::of);
                }
                _ => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}
