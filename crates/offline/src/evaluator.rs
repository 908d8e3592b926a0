//! Evaluates requests with the library and keeps owned results.

use managed_by::{
    AdmissionRequest, DecodeError, Evaluation, Kind, NoCluster, RESERVED_VALUES, ReleaseSet,
    Settings, WorkloadState, kinds, resolve,
};

use crate::object_ref::ObjectRef;

#[derive(Debug)]
pub struct Evaluator<'s> {
    pub(crate) settings: Settings<'s>,
    /// Releases to evaluate; [`None`] uses the settings.
    releases: Option<ReleaseSet>,
}

impl<'s> Evaluator<'s> {
    /// Creates an evaluator. With `releases`, each release is evaluated and [`Evaluation::release_verdicts`] lists the verdicts;
    /// otherwise `kubernetes_version` of the settings applies, as in [`managed_by::review`].
    pub fn new(settings: Settings<'s>, releases: Option<ReleaseSet>) -> Self {
        Self { settings, releases }
    }

    /// Returns true if the library supports the kind or the settings declare it.
    pub fn supports(&self, group: &str, version: &str, kind: &str) -> bool {
        Kind::find(group, version, kind).is_some() || self.settings.declares(group, version, kind)
    }

    /// Returns true if the library supports the object's kind in some version, or the settings declare it.
    pub fn knows(&self, name: &ObjectRef) -> bool {
        let mut known = kinds().iter();
        known.any(|known| known.group() == name.group && known.name() == name.kind)
            || self.supports(&name.group, &name.version, &name.kind)
    }

    /// Returns the names of the known controllers: those of the settings, and the reserved values of all kinds.
    pub fn known_controllers(&self) -> impl Iterator<Item = &str> {
        let reserved = RESERVED_VALUES.iter().map(|(name, _)| *name);
        self.settings.controller_names().chain(reserved)
    }

    /// Returns the state of a stored workload, or [`None`] for other objects and for a kind that is not supported.
    pub fn workload_state(&self, request: &AdmissionRequest<'_>) -> Option<WorkloadState> {
        resolve(request, &self.settings, |resolved| {
            resolved.workload_state()
        })
    }

    /// Evaluates a request.
    ///
    /// # Errors
    /// Returns an error if the object is of a kind that the settings declare, and has a field of the wrong type. A request in JSON is
    /// denied instead.
    pub fn evaluate(&self, request: &AdmissionRequest<'_>) -> Result<Evaluation, DecodeError> {
        resolve(request, &self.settings, |resolved| {
            match resolved.malformed_object() {
                Some(malformed) => Err(malformed.clone()),
                None => Ok(resolved.evaluate(self.releases, &NoCluster)),
            }
        })
    }

    /// Decodes an object of a kind that the settings declare. Other objects are decoded with the request.
    pub(crate) fn check(&self, request: &AdmissionRequest<'_>) -> Result<(), DecodeError> {
        resolve(request, &self.settings, |resolved| {
            resolved.malformed_object().cloned().map_or(Ok(()), Err)
        })
    }

    /// Returns the evaluated releases that drop `managedBy` from the object unless their feature gate is enabled.
    pub fn releases_dropping_managed_by(&self, request: &AdmissionRequest<'_>) -> ReleaseSet {
        let configured = self.settings.kubernetes_version().map(ReleaseSet::from);
        let evaluated = self.releases.or(configured).unwrap_or_default();
        request
            .releases_dropping_managed_by()
            .intersection(evaluated)
    }
}
