//! The tests of the module that its library can take alone: what `make mutants` runs against each mutant, because it builds no module of it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod cases;
mod catalogue;
mod examples;
mod generated;
mod judgement;
mod kinds;
mod large;

/// What the tests of the module share, with the library in its place.
mod support {
    #[expect(dead_code, reason = "the module is tested in other clusters too")]
    mod cluster;

    use managed_by_testing::{Error, GuestSettingsVerdict};
    use serde_json::Value;
    use xtask::judge::{judge_in, refusal};

    pub(crate) use xtask::judge::{Answer, review_of as in_engine};
    pub(crate) use xtask::root;

    pub(crate) struct Library;

    pub(crate) static GUEST: Library = Library;

    impl Library {
        #[expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "as the module"
        )]
        pub(crate) fn validate_settings(
            &self,
            settings: &Value,
        ) -> Result<GuestSettingsVerdict, Error> {
            let message = refusal(settings);
            let valid = message.is_none();
            Ok(GuestSettingsVerdict { valid, message })
        }
    }

    pub(crate) use everywhere as natively;

    pub(crate) fn everywhere(request: &Value, settings: &Value) -> Answer {
        natively_from(request, &settings.to_string())
    }

    pub(crate) fn natively_from(request: &Value, settings: &str) -> Answer {
        judge_in(&cluster::Played::Recorded, &request.to_string(), settings)
    }
}
