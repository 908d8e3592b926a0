//! Servers that are started for a run, and do not outlive it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{http, programs};

/// How often a condition is looked at.
const TICK: Duration = Duration::from_millis(50);

/// How long a server may take to be ready: PolicyServer compiles its modules first.
pub(crate) const START: Duration = Duration::from_mins(1);

/// A running server. It is killed when this is dropped, and when the harness dies.
pub(crate) struct Process {
    name: String,
    command: Command,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program in a folder, where its output goes into `NAME.log`.
    ///
    /// To be called from the main thread: what a thread has started ends with that thread, because the kernel takes it for
    /// the parent.
    pub(crate) fn start(
        program: &str,
        name: &str,
        folder: &Path,
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Self> {
        let path = programs::find(program).with_context(|| format!("no {program}"))?;
        // With it a server ends with the harness, however that ends.
        let mut command = match programs::find("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--"]).arg(path);
                command
            }
            None => Command::new(path),
        };
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log)?;
        prepare(&mut command)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = command
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        Ok(Self {
            name: name.to_owned(),
            command,
            child,
            log,
        })
    }

    /// Waits until the condition holds. It fails at once where the process ends before that.
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        limit: Duration,
        mut condition: impl FnMut() -> bool,
    ) -> Result<()> {
        let waited = until(what, limit, || {
            if condition() {
                return Ok(Some(None));
            }
            Ok(self.child.try_wait()?.map(Some))
        });
        match waited {
            Ok(None) => Ok(()),
            Ok(Some(status)) => bail!("{}: {status} before {what}:\n{}", self.name, self.tail()),
            Err(error) => Err(error.context(format!("{}:\n{}", self.name, self.tail()))),
        }
    }

    /// Waits until there is a page that it answers with.
    pub(crate) fn answers(&mut self, url: &str) -> Result<()> {
        let agent = http::agent(None)?;
        self.wait_until(url, START, || {
            agent.get(url).call().is_ok_and(|a| a.status() == 200)
        })
    }

    /// Waits for its end, and gives its exit code.
    pub(crate) fn ended(&mut self, limit: Duration) -> Result<Option<i32>> {
        let status = until(&format!("the end of {}", self.name), limit, || {
            Ok(self.child.try_wait()?)
        })?;
        Ok(status.code())
    }

    /// Ends it and starts it again with the same command.
    pub(crate) fn restart(&mut self) -> Result<()> {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.child = self.command.spawn()?;
        Ok(())
    }

    /// Sends it a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let mut kill = Command::new("kill");
        kill.arg(format!("-{name}")).arg(self.id().to_string());
        ensure!(kill.status()?.success(), "{}: kill -{name}", self.name);
        Ok(())
    }

    /// The number that the system gave it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its memory in use, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next());
        Ok(kib.context("no VmRSS")?.parse::<u64>()? * 1024)
    }

    /// What it has printed.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    /// Its last lines, without stack traces.
    fn tail(&self) -> String {
        let log = self.log().unwrap_or_default();
        let lines = log.lines().filter(|line| !line.starts_with(' '));
        let lines: Vec<String> = lines.map(|line| line.chars().take(300).collect()).collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks until there is an answer.
pub(crate) fn until<T>(
    what: &str,
    limit: Duration,
    mut ask: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let started = Instant::now();
    loop {
        let last = match ask() {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if started.elapsed() > limit {
            return match last {
                Some(error) => Err(error.context(format!("no {what} in {limit:?}"))),
                None => bail!("no {what} in {limit:?}"),
            };
        }
        thread::sleep(TICK);
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
