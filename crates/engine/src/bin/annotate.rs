//! Adds Kubewarden's metadata to a module, where kwctl is not at hand:
//! `annotate policy-metadata.yml README.md policy.wasm annotated-policy.wasm`

use std::error::Error;
use std::{env, fs};

use managed_by_engine::metadata::{Metadata, annotate};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [metadata, usage, module, output] = arguments.as_slice() else {
        return Err("usage: annotate METADATA README MODULE OUTPUT".into());
    };
    let metadata = Metadata::from_yaml(&fs::read_to_string(metadata)?)?;
    let annotated = annotate(&fs::read(module)?, metadata, &fs::read_to_string(usage)?)?;
    fs::write(output, annotated)?;
    Ok(())
}
