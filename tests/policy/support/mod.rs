//! Shared code of the tests.

pub(crate) mod cluster;
pub(crate) mod payload;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use managed_by_testing::Policy;
use serde_json::Value;
use xtask::judge::judge_in;

use cluster::Played;

pub(crate) use xtask::judge::Answer;
pub(crate) use xtask::root;

/// Reads a built module.
pub(crate) fn module(file: &str) -> Vec<u8> {
    std::fs::read(root(file)).unwrap_or_else(|e| panic!("{file}: {e}; `make {file}` builds it"))
}

/// The built and annotated policy. It has no host, because it makes no host calls.
pub(crate) static GUEST: LazyLock<Policy> =
    LazyLock::new(|| Policy::load(&module("annotated-policy.wasm")).unwrap());

/// Returns the pods policy, whose host answers for a cluster.
pub(crate) fn pods_guest_in(cluster: Played) -> Policy {
    static COMPILED: LazyLock<Policy> =
        LazyLock::new(|| Policy::load(&module("annotated-pods-policy.wasm")).unwrap());
    COMPILED.clone().with_host(cluster.host())
}

/// Returns the library's answer.
pub(crate) fn review(request: &Value, settings: &Value) -> Answer {
    review_with(request, &settings.to_string())
}

/// Returns the library's answer with settings in a given order.
pub(crate) fn review_with(request: &Value, settings: &str) -> Answer {
    judge_in(&Played::Recorded, &request.to_string(), settings)
}

/// Lists the files in a folder and below with an ending.
pub(crate) fn files_with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            files_with_ending(&path, ending)
        } else {
            vec![path]
        }
    };
    let mut files: Vec<_> = paths.flat_map(below).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == ending));
    files.sort();
    files
}
