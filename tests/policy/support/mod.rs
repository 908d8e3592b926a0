//! Functions that the tests of the module share: built modules, the library's responses and lists of files.

pub(crate) mod cluster;
pub(crate) mod payload;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use managed_by_testing::{Host, Policy};

use cluster::FakeCluster;

pub(crate) use cluster::{review, review_with};
pub(crate) use managed_by_testing::library::ValidationResponse;
pub(crate) use managed_by_testing::root;

/// Reads a built module.
pub(crate) fn module(file: &str) -> Vec<u8> {
    std::fs::read(root(file)).unwrap_or_else(|e| panic!("{file}: {e}; `make {file}` builds it"))
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

/// Lists the files below a directory with an extension, sorted by path.
pub(crate) fn files_with_extension(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            files_with_extension(&path, extension)
        } else {
            vec![path]
        }
    };
    let mut files: Vec<_> = paths.flat_map(below).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}
