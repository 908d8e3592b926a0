//! Replays histories and lists status writers: from recordings, and from the cases in the YAML files here.

#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod replay;
mod writers;

use managed_by_offline::Document;
use managed_by_testing::examples::merge_patch;
use serde::de::DeserializeOwned;

fn cases<T: DeserializeOwned>(text: &str) -> T {
    let document = Document::parse_all(text).remove(0).unwrap();
    serde_json::from_str(document.json()).unwrap()
}
