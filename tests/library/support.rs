//! Functions with which all tests call the library.

#[path = "../policy/support/cluster.rs"]
#[expect(dead_code, reason = "tests of the module use other clusters too")]
mod cluster;

pub(crate) use cluster::{review, review_with};
pub(crate) use managed_by_testing::library::{
    ValidationResponse, settings_error, validate_payload,
};
pub(crate) use managed_by_testing::root;
