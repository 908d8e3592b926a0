//! What a module says of itself before it runs.

use serde_json::Value;
use wasmparser::{Parser, Payload};

use crate::Error;

/// The custom section in which Kubewarden keeps what it must know about a policy.
pub const METADATA_SECTION: &str = "io.kubewarden.metadata";

/// The metadata in a module, if it has any.
///
/// # Errors
/// If the bytes are no wasm module, or the section holds no JSON.
pub fn metadata(wasm: &[u8]) -> Result<Option<Value>, Error> {
    let invalid = |e: &dyn std::fmt::Display| Error::Metadata(e.to_string());
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload.map_err(|e| invalid(&e))?
            && section.name() == METADATA_SECTION
        {
            let json = serde_json::from_slice(section.data());
            return json.map(Some).map_err(|e| invalid(&e));
        }
    }
    Ok(None)
}

/// The modules and names that a module imports: `wapc.__guest_request`.
///
/// # Errors
/// If the bytes are no wasm module.
pub fn imports(wasm: &[u8]) -> Result<Vec<String>, Error> {
    let invalid = |e: wasmparser::BinaryReaderError| Error::Metadata(e.to_string());
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ImportSection(section) = payload.map_err(invalid)? {
            for import in section {
                let import = import.map_err(invalid)?;
                imports.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    Ok(imports)
}
