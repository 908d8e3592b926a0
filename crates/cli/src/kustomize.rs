//! Files of Kustomize that are no objects: patches and components.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use managed_by_offline::{Document, decode};
use serde_json::Value;

/// Names of kustomization files. Source: `RecognizedKustomizationFileNames` in `sigs.k8s.io/kustomize/api/konfig`.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Patch files and component directories, each with the directory of the kustomization that lists it. All paths are canonical.
#[derive(Debug, Default)]
pub(crate) struct Patches(BTreeMap<PathBuf, PathBuf>);

impl Patches {
    /// Adds what the kustomization in a directory lists, if there is one. A file that can't be read is reported when it is evaluated.
    pub(crate) fn add(&mut self, directory: &Path) {
        let Ok(directory) = directory.canonicalize() else {
            return;
        };
        for name in NAMES {
            let Ok(bytes) = fs::read(directory.join(name)) else {
                continue;
            };
            let text = decode(&bytes).unwrap_or_default();
            for document in Document::parse_all(&text).into_iter().flatten() {
                let value: Value = serde_json::from_str(document.json()).unwrap_or_default();
                for path in listed(&value) {
                    if let Ok(path) = directory.join(path).canonicalize() {
                        self.0.insert(path, directory.clone());
                    }
                }
            }
        }
    }

    /// Returns the directory of the kustomization that lists a file or one of its parent directories.
    pub(crate) fn listed_by(&self, file: &Path) -> Option<&Path> {
        if self.0.is_empty() {
            return None;
        }
        let file = file.canonicalize().ok()?;
        let directory = file.ancestors().find_map(|path| self.0.get(path));
        directory.map(PathBuf::as_path)
    }
}

/// Returns the paths of patches and components in a kustomization. Inline patches are not paths.
fn listed(kustomization: &Value) -> Vec<&str> {
    let list = |field: &str| {
        let list = kustomization.get(field).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    };
    let with_path = ["patches", "patchesJson6902"].into_iter().flat_map(list);
    let paths = with_path.filter_map(|patch| patch.get("path")?.as_str());
    let plain = ["patchesStrategicMerge", "components"].into_iter();
    let plain = plain.flat_map(list).filter_map(Value::as_str);
    paths
        .chain(plain.filter(|path| !path.contains('\n')))
        .collect()
}
