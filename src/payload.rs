//! The envelope in which Kubewarden hands over a request.

use managed_by::json::{Malformed, Reader};
use managed_by::request::AdmissionRequest;
use managed_by::settings::{Problems, Settings};

/// `{"request": {...}, "settings": {...}}`
pub(crate) struct Payload<'a> {
    pub(crate) request: AdmissionRequest<'a>,
    /// The settings, as far as every request needs them.
    pub(crate) settings: Result<Settings<'a>, Problems>,
}

impl<'a> Payload<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut request = None;
        let mut settings = Ok(Settings::default());
        let mut reader = Reader::new(bytes)?;
        reader.object(|reader, key| {
            match key {
                b"request" => {
                    let read = AdmissionRequest::read(reader);
                    request = Some(read.map_err(|e| e.within("request"))?);
                }
                b"settings" => settings = Settings::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        reader.end()?;
        let missing = || Malformed::shape("an object", "nothing").within("request");
        Ok(Self {
            request: request.ok_or_else(missing)?,
            settings,
        })
    }
}
