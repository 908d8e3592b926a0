//! Reads the metadata and imports of a wasm module without running it.

use anyhow::{Context as _, Result};
use serde_json::Value;
use wasmparser::{Parser, Payload};

/// Name of the custom section with a policy's Kubewarden metadata.
pub const METADATA_SECTION: &str = "io.kubewarden.metadata";

/// Reads the metadata of a module, if any.
pub fn metadata(wasm: &[u8]) -> Result<Option<Value>> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == METADATA_SECTION
        {
            let json = serde_json::from_slice(section.data());
            return json.map(Some).context("metadata");
        }
    }
    Ok(None)
}

/// Lists the imports of a module with their namespace: `wapc.__guest_request`.
pub fn imports(wasm: &[u8]) -> Result<Vec<String>> {
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ImportSection(section) = payload? {
            for import in section {
                let import = import?;
                imports.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    Ok(imports)
}
