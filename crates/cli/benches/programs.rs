//! The command line beside the programs that people have: `replay` beside jq, `lint` beside yq (the Go program).
//!
//! `make bench-cli` runs it and writes the table of `docs/performance.md`. It makes its input of the recorded traces and of
//! the samples: a watch stream of `BENCH_BYTES` bytes (1 GB) with new names and UIDs in each repetition, and a folder of 10,000
//! manifests. Each command runs three times on one core, taking turns with the other; the table has the medians.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a benchmark that cannot run may stop"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use managed_by_conformance::trace::{CUSTOM, JOBS};
use xtask::root;

/// How often each command runs.
const RUNS: usize = 3;

/// How many manifests the folder has.
const MANIFESTS: usize = 10_000;

/// What a run took.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Took {
    time: Duration,
    /// The most memory that it had, in KiB.
    memory: u64,
}

fn main() {
    let program = root("target/dist/managed-by");
    let folder = root("target/bench-cli");
    fs::create_dir_all(&folder).unwrap();
    let bytes = std::env::var("BENCH_BYTES")
        .ok()
        .and_then(|text| text.parse().ok());
    let stream = stream(&folder, bytes.unwrap_or(1_000_000_000));
    let manifests = manifests(&folder);
    let mut table = "| | time | memory | against |\n| --- | --- | --- | --- |\n".to_owned();

    let ours = || command(&program, &["replay", "-q", path(&stream)], &[0]);
    let all = || command(&program, &["replay", "-q", path(&stream)], &[]);
    let jq = || command(Path::new("jq"), &["-c", ".", path(&stream)], &[0]);
    let took = turns(&[&jq, &ours, &all]);
    let mb = fs::metadata(&stream).unwrap().len() / 1_000_000;
    row(&mut table, &format!("`jq -c .`, {mb} MB"), took[0], None);
    row(
        &mut table,
        "`managed-by replay`, one core",
        took[1],
        Some(took[0]),
    );
    row(
        &mut table,
        "`managed-by replay`, all cores",
        took[2],
        Some(took[0]),
    );

    let list: Vec<String> = fs::read_dir(&manifests)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    let mut yq_args = vec!["."];
    yq_args.extend(list.iter().map(|file| &**file));
    let yq = || command(Path::new("yq"), &yq_args, &[0]);
    let ours = || command(&program, &["lint", "-q", path(&manifests)], &[0]);
    let all = || command(&program, &["lint", "-q", path(&manifests)], &[]);
    let took = turns(&[&yq, &ours, &all]);
    row(&mut table, "`yq .`, 10,000 manifests", took[0], None);
    row(
        &mut table,
        "`managed-by lint`, one core",
        took[1],
        Some(took[0]),
    );
    row(
        &mut table,
        "`managed-by lint`, all cores",
        took[2],
        Some(took[0]),
    );

    let job = root("examples/manifests/accepted.yaml");
    let ours = || command(&program, &["lint", "-q", path(&job)], &[0]);
    let took = turns(&[&ours]);
    row(
        &mut table,
        "`managed-by lint` of one manifest",
        took[0],
        None,
    );

    let text = format!("\n{}\n\n{table}", machine());
    println!("{text}");
    write_between(&root("docs/performance.md"), &text);
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

/// Runs each command in turn, and gives the median of each.
fn turns(commands: &[&dyn Fn() -> Took]) -> Vec<Took> {
    let mut took = vec![Vec::new(); commands.len()];
    for _ in 0..RUNS {
        for (took, command) in took.iter_mut().zip(commands) {
            took.push(command());
        }
    }
    for took in &mut took {
        took.sort_by(|a, b| a.partial_cmp(b).expect("times compare"));
    }
    took.into_iter().map(|took| took[RUNS / 2]).collect()
}

/// Runs a command on some cores, or on all, without its output.
fn command(program: &Path, args: &[&str], cores: &[usize]) -> Took {
    let mut command = if cores.is_empty() {
        Command::new(program)
    } else {
        let list: Vec<_> = cores.iter().map(ToString::to_string).collect();
        let mut command = Command::new("taskset");
        command.args(["-c", &list.join(",")]).arg(program);
        command
    };
    let start = Instant::now();
    let child = command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap_or_else(|e| {
        println!("{} is not installed: {e}", program.display());
        std::process::exit(1)
    });
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let time = loop {
        if child.try_wait().unwrap().is_some() {
            break start.elapsed();
        }
        memory = peak(&status).max(memory);
        std::thread::sleep(Duration::from_millis(1));
    };
    Took { time, memory }
}

/// The most memory that a process had, in KiB.
fn peak(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn row(table: &mut String, name: &str, took: Took, than: Option<Took>) {
    let seconds = took.time.as_secs_f64();
    let against = than.map(|than| format!("{:.1}x", than.time.as_secs_f64() / seconds));
    let against = against.unwrap_or_default();
    let time = if seconds < 0.1 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    };
    let memory = took.memory / 1024;
    writeln!(table, "| {name} | {time} | {memory} MiB | {against} |").unwrap();
}

/// A watch stream of the recorded ones, again and again, each time of other objects.
fn stream(folder: &Path, bytes: u64) -> PathBuf {
    let file = folder.join("watch.ndjson");
    if fs::metadata(&file).is_ok_and(|known| known.len() >= bytes) {
        return file;
    }
    let traces = JOBS
        .iter()
        .chain(&CUSTOM)
        .map(|name| fs::read_to_string(root(format!("conformance/traces/{name}.ndjson"))).unwrap());
    let traces: String = traces.collect();
    // The first group of a UID, and with it every reference to it, becomes another one.
    let uids = uids(&traces);
    let mut out = BufWriter::new(File::create(&file).unwrap());
    let (mut written, mut round) = (0, 0_u32);
    while written < bytes {
        let mut last = 0;
        for &at in &uids {
            out.write_all(&traces.as_bytes()[last..at]).unwrap();
            write!(out, "{round:08x}").unwrap();
            last = at + 8;
        }
        out.write_all(&traces.as_bytes()[last..]).unwrap();
        written += traces.len() as u64;
        round += 1;
    }
    out.flush().unwrap();
    file
}

/// Where the UIDs in a text begin: 8, 4, 4, 4 and 12 hexadecimal digits.
fn uids(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_uid = |at: usize| {
        let uid = &bytes[at + 1..(at + 37).min(bytes.len())];
        uid.len() == 36
            && uid.iter().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => *b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    text.match_indices('"')
        .map(|(at, _)| at)
        .filter(|at| is_uid(*at))
        .map(|at| at + 1)
        .collect()
}

/// A folder of manifests, each a Job with a pod template of usual size.
fn manifests(folder: &Path) -> PathBuf {
    let folder = folder.join("manifests");
    if fs::read_dir(&folder).is_ok_and(|entries| entries.count() == MANIFESTS) {
        return folder;
    }
    fs::create_dir_all(&folder).unwrap();
    let mut env = String::new();
    for index in 0..20 {
        writeln!(
            env,
            "            - name: VARIABLE_{index}\n              value: \"value {index}\""
        )
        .unwrap();
    }
    for index in 0..MANIFESTS {
        let job = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: job-{index}\n  namespace: team-{}\n  labels:\n    app: bench\n\
             spec:\n  managedBy: kueue.x-k8s.io/multikueue\n  completions: 3\n  template:\n    spec:\n      restartPolicy: Never\n\
             \x20     containers:\n        - name: main\n          image: registry.example.com/image:{index}\n          env:\n{env}",
            index % 10
        );
        fs::write(folder.join(format!("job-{index:05}.yaml")), job).unwrap();
    }
    folder
}

/// When and where.
fn machine() -> String {
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output();
        output.map_or_else(
            |_| String::new(),
            |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
        )
    };
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or_default();
    let model = model.trim_start_matches(['\t', ':', ' ']).to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    format!(
        "{}, {cores} cores of {model}, {}, {}, load average {load} at the end of the run. Medians of {RUNS} runs that take turns.",
        run("date", &["+%Y-%m-%d"]),
        run("jq", &["--version"]),
        run("yq", &["--version"]).replace("yq (https://github.com/mikefarah/yq/) version ", "yq "),
    )
}

/// Writes a text between the marks `<!-- cli -->` of a file.
fn write_between(file: &Path, made: &str) {
    let text = fs::read_to_string(file).unwrap();
    let (before, rest) = text.split_once("<!-- cli -->").expect("marks");
    let (_, after) = rest.split_once("<!-- /cli -->").expect("marks");
    fs::write(
        file,
        format!("{before}<!-- cli -->{made}<!-- /cli -->{after}"),
    )
    .unwrap();
}
