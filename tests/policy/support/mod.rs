//! Functions that the tests of the module share: built modules and the library's responses.

pub(crate) mod cluster;
pub(crate) mod payload;

use std::sync::{Arc, LazyLock};

use managed_by_testing::metadata::Metadata;
use managed_by_testing::{Host, Policy};
use serde_json::Value;

use cluster::FakeCluster;

pub(crate) use cluster::{review, review_with};
pub(crate) use managed_by_testing::library::ValidationResponse;
pub(crate) use managed_by_testing::root;

/// Reads a built module.
pub(crate) fn module(file: &str) -> Vec<u8> {
    std::fs::read(root(file)).unwrap_or_else(|e| panic!("{file}: {e}; `make {file}` builds it"))
}

/// Reads the metadata of a policy.
pub(crate) fn metadata(file: &str) -> Value {
    let text = std::fs::read_to_string(root(file)).unwrap();
    serde_json::to_value(Metadata::from_yaml(&text).unwrap()).unwrap()
}

/// The built and annotated policy. It has no host, because it makes no host calls.
pub(crate) static GUEST: LazyLock<Policy> =
    LazyLock::new(|| Policy::load(&module("annotated-policy.wasm")).unwrap());

/// Returns the pods policy with a host that looks up Jobs in a cluster.
pub(crate) fn pods_guest_in(cluster: FakeCluster) -> Policy {
    pods_guest(cluster.host())
}

pub(crate) fn pods_guest(host: Arc<Host>) -> Policy {
    static COMPILED: LazyLock<Policy> =
        LazyLock::new(|| Policy::load(&module("annotated-pods-policy.wasm")).unwrap());
    COMPILED.clone().with_host(host)
}
