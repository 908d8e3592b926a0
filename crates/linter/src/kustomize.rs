//! Files of Kustomize that are no objects: patches and components.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind};
use managed_by_console::input::Input;
use managed_by_offline::{Document, decode};
use serde_json::Value;

/// Names of kustomization files. Source: `RecognizedKustomizationFileNames` in `sigs.k8s.io/kustomize/api/konfig`.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Patch files and component directories, each with the directory of the kustomization that lists it. All paths are canonical.
#[derive(Debug, Default)]
pub(crate) struct Patches(BTreeMap<PathBuf, PathBuf>);

impl Patches {
    /// Reads the kustomizations next to files.
    pub(crate) fn next_to<'f>(files: impl Iterator<Item = &'f Path>) -> Self {
        let mut patches = Self::default();
        for directory in files.filter_map(Path::parent).collect::<BTreeSet<_>>() {
            let is_here = directory.as_os_str().is_empty();
            patches.add(if is_here { Path::new(".") } else { directory });
        }
        patches
    }

    /// Adds what the kustomization in a directory lists, if there is one. A file that can't be read is reported when it is evaluated.
    fn add(&mut self, directory: &Path) {
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

    /// Returns a note if a file is a patch or in a component, and so is no object, or not yet complete.
    pub(crate) fn note(&self, file: &Path) -> Option<Diagnostic> {
        if self.0.is_empty() {
            return None;
        }
        let path = file.canonicalize().ok()?;
        let directory: &Path = path.ancestors().find_map(|path| self.0.get(path))?;
        let here = env::current_dir().unwrap_or_default();
        let directory = match directory.strip_prefix(here) {
            Ok(relative) if relative.as_os_str().is_empty() => Path::new("."),
            Ok(relative) => relative,
            Err(_) => directory,
        };
        let text = format!(
            "skipped: a patch or component of Kustomize, evaluate `kustomize build {} | managed-by lint`",
            directory.display()
        );
        let note = Diagnostic::of_file(&Input::new(file).name, text);
        Some(note.with_kind(DiagnosticKind::KustomizePatch))
    }
}

/// Returns the paths of patches and components in a kustomization. Inline patches are not paths; a file that is also a
/// resource is a whole object.
fn listed(kustomization: &Value) -> Vec<&str> {
    let list = |field: &str| {
        let list = kustomization.get(field).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    };
    let with_path = ["patches", "patchesJson6902"].into_iter().flat_map(list);
    let paths = with_path.filter_map(|patch| patch.get("path")?.as_str());
    let plain = ["patchesStrategicMerge", "components"].into_iter();
    let plain = plain.flat_map(list).filter_map(Value::as_str);
    let paths = paths.chain(plain.filter(|path| !path.contains('\n')));
    let resources: Vec<&str> = list("resources").iter().filter_map(Value::as_str).collect();
    paths.filter(|path| !resources.contains(path)).collect()
}
