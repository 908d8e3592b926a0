//! The generators that `make generate` runs.

use anyhow::Result;

use crate::generated::{self, Generated};
use crate::{
    artifacthub, chart, chart_data, chart_values, conformance, deploy, kinds, policy_metadata,
    rules, settings, status_guide,
};

/// Generates and writes all files. The manifests are rendered last, because Helm reads other generated files of the chart.
pub(crate) fn write() -> Result<()> {
    generated::write(from_code()?)?;
    generated::write(deploy::generated()?)
}

/// Generates the files that need no Helm. New generators are added here.
fn from_code() -> Result<Vec<Generated>> {
    let generators = [
        rules::generated()?,
        kinds::generated()?,
        settings::generated()?,
        chart::generated()?,
        chart_data::generated()?,
        chart_values::generated()?,
        policy_metadata::generated()?,
        artifacthub::generated()?,
        status_guide::generated()?,
        conformance::generated()?,
    ];
    Ok(generators.concat())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use expect_test::expect_file;
    use managed_by_testing::root;

    use super::{Generated, deploy, from_code};

    fn all() -> Vec<Generated> {
        [from_code().unwrap(), deploy::generated().unwrap()].concat()
    }

    #[test]
    fn generated_files_are_up_to_date() {
        let files = all();
        assert!(files.len() > 10, "{}", files.len());
        for Generated { path, text } in files {
            expect_file![root(path)].assert_eq(&text);
        }
    }

    /// `.gitattributes` marks the files that are generated completely. The others have handwritten parts.
    #[test]
    fn generated_files_are_marked() {
        const PARTLY: [&str; 7] = [
            "artifacthub-pkg.yml",
            "docs/explanation/outages.md",
            "docs/reference/conformance.md",
            "docs/reference/job-status.md",
            "docs/reference/kinds.md",
            "pods/artifacthub-pkg.yml",
            "policy-metadata.yml",
        ];
        let mut files = all();
        files.extend(deploy::FILES.map(|(path, ..)| Generated::new(path, "")));
        let paths = files.iter().map(|file| file.path.as_str());
        let output = Command::new("git")
            .args(["check-attr", "linguist-generated"])
            .args(paths)
            .current_dir(root("."))
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let mut unmarked: Vec<_> = output
            .lines()
            .filter(|line| !line.ends_with(": set"))
            .filter_map(|line| line.split(':').next())
            .collect();
        unmarked.sort_unstable();
        assert_eq!(unmarked, PARTLY);
    }
}
