//! Reads the metadata and imports of a wasm module without running it.

use serde_json::Value;
use wasmparser::{Parser, Payload};

use crate::ModuleError;

/// Name of the custom section with a policy's Kubewarden metadata.
pub const METADATA_SECTION: &str = "io.kubewarden.metadata";

/// Reads the metadata of a module, if any.
pub fn metadata(wasm: &[u8]) -> Result<Option<Value>, ModuleError> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload.map_err(|e| load_error(&e))?
            && section.name() == METADATA_SECTION
        {
            let json = serde_json::from_slice(section.data());
            return json
                .map(Some)
                .map_err(|e| ModuleError::Metadata(e.to_string()));
        }
    }
    Ok(None)
}

/// Lists the imports of a module with their namespace: `wapc.__guest_request`.
pub fn imports(wasm: &[u8]) -> Result<Vec<String>, ModuleError> {
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ImportSection(section) = payload.map_err(|e| load_error(&e))? {
            for import in section {
                let import = import.map_err(|e| load_error(&e))?;
                imports.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    Ok(imports)
}

fn load_error(error: &wasmparser::BinaryReaderError) -> ModuleError {
    ModuleError::Load(error.to_string())
}
