//! Checks that are commands of a shell, with the words of `e2e/prelude.sh`: `e2e/kubewarden/checks.yml`. Most of
//! them hold a sentence of the docs against what happens.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use crate::report;
use crate::{deploy, programs};

/// Checks that build on one another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    name: String,
    pub(crate) title: String,
    checks: Vec<Check>,
}

/// Commands that must succeed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    /// What `$each` stands for: the check is made once for each.
    #[serde(default = "once")]
    each: Vec<String>,
    /// Programs without which it is skipped.
    #[serde(default)]
    needs: Vec<String>,
    /// Where the sentence must stand.
    page: Option<String>,
    says: String,
    run: String,
}

fn once() -> Vec<String> {
    vec![String::new()]
}

/// The parts of a file that are named, all of them if none is.
pub(crate) fn parts(file: &str, only: &[&str]) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = serde_yaml_ng::from_str(&deploy::text(file)?)?;
    if let Some(unknown) = only
        .iter()
        .find(|name| !parts.iter().any(|part| part.name == **name))
    {
        bail!("no part {unknown}");
    }
    parts.retain(|part| only.is_empty() || only.contains(&&*part.name));
    Ok(parts)
}

/// Where commands run.
pub(crate) struct Shell {
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Shell {
    /// Runs the checks of a part.
    pub(crate) fn checks(&self, part: Part) {
        for check in part.checks {
            let needs: Vec<_> = check.needs.iter().map(String::as_str).collect();
            for each in check.each {
                let says = check.says.replace("$each", &each);
                if programs::all_there(&says, &needs).is_none() {
                    continue;
                }
                let mut outcome = self.run(&format!("each='{each}'\n{}", check.run));
                let mut title = says.clone();
                if let Some(page) = &check.page {
                    outcome = outcome.and_then(|()| stands(page, &says));
                    title = format!("{page}: {says}");
                }
                report::check(&title, outcome);
            }
        }
    }

    pub(crate) fn run(&self, commands: &str) -> Result<()> {
        let prelude = deploy::text("e2e/prelude.sh")?;
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &format!("{prelude}\n{commands}")]);
        shell.envs(self.environment.iter().map(|(name, value)| (name, value)));
        shell.env("ROOT", deploy::root(""));
        let output = shell.current_dir(&self.folder).output()?;
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success(), "{printed}");
        Ok(())
    }
}

/// Whether a sentence stands on a page, wherever its lines end.
fn stands(page: &str, sentence: &str) -> Result<()> {
    let text = deploy::text(page)?;
    let words: Vec<_> = text.split_whitespace().collect();
    ensure!(
        words.join(" ").contains(sentence),
        "it happens, but it is not on the page"
    );
    Ok(())
}
