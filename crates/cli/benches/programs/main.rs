//! The command line beside the programs that people have: `replay` beside jq, `lint` beside yq (the Go program).
//!
//! `make bench-cli` runs it and writes the table of `docs/performance.md`. It makes its input of the recorded traces and of
//! the samples: a watch stream of `BENCH_BYTES` bytes (1 GB) with new names and UIDs in each repetition, and a folder of 10,000
//! manifests. Each command runs three times on one core, taking turns with the other; the table has the medians.
//!
//! A second table has the time a byte of `lint` for files of 1 to 64 MB in each form that people have, and of `diff`: how it
//! grows, and that no form is hard to read. Noise only adds, so it has the shortest of five runs.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot run may stop"
)]

mod input;
mod run;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use input::{Form, jobs, manifests, stream};
use run::{Took, command, turns};
use xtask::root;

/// How often each command runs.
const RUNS: usize = 3;

/// How often each command runs for the table of sizes.
const SIZE_RUNS: usize = 5;

/// The sizes of files, in MB.
const SIZES: [usize; 4] = [1, 4, 16, 64];

fn main() {
    let program = root("target/dist/managed-by");
    let folder = root("target/bench-cli");
    fs::create_dir_all(&folder).unwrap();
    let bytes = std::env::var("BENCH_BYTES")
        .ok()
        .and_then(|text| text.parse().ok());
    let bytes = bytes.unwrap_or(1_000_000_000);
    let deleted = stream(&folder, bytes, true);
    let stream = stream(&folder, bytes, false);
    let manifests = manifests(&folder);
    let mut table = "| | time | memory | against |\n| --- | --- | --- | --- |\n".to_owned();

    let ours = || command(&program, &["replay", "-q", path(&stream)], &[0]);
    let all = || command(&program, &["replay", "-q", path(&stream)], &[]);
    let gone = || command(&program, &["replay", "-q", path(&deleted)], &[0]);
    let jq = || command(Path::new("jq"), &["-c", ".", path(&stream)], &[0]);
    let took = medians(&[&jq, &ours, &all, &gone]);
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
    row(
        &mut table,
        "`managed-by replay`, one core, each object deleted in the end",
        took[3],
        None,
    );

    let jobs_list = jobs(&folder, Form::JsonList, 64_000_000, false);
    let jq = || command(Path::new("jq"), &["-c", ".", path(&jobs_list)], &[0]);
    let ours = || command(&program, &["lint", "-q", path(&jobs_list)], &[0]);
    let took = medians(&[&jq, &ours]);
    row(&mut table, "`jq -c .`, a JSON list of 64 MB", took[0], None);
    row(
        &mut table,
        "`managed-by lint`, one core",
        took[1],
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
    let took = medians(&[&yq, &ours, &all]);
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
    let took = medians(&[&ours]);
    row(
        &mut table,
        "`managed-by lint` of one manifest",
        took[0],
        None,
    );

    let text = format!("\n{}\n\n{table}", machine());
    println!("{text}");
    let file = root("docs/performance.md");
    write_between(&file, "cli", &text);
    let text = sizes(&program, &folder);
    println!("{text}");
    write_between(&file, "cli-sizes", &text);
}

/// The time a byte of `lint` and of `diff` at 64 MB, and how much it grows with the size of what they read.
fn sizes(program: &Path, folder: &Path) -> String {
    let mut table = "\n| 64 MB of | without findings | with one in each Job | growth | memory |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let mut row = |name: &str, form: Form, is_diff: bool| {
        let [without, with] = [false, true].map(|has_findings| {
            let files = SIZES.map(|mb| {
                let bytes = mb * 1_000_000;
                let old = is_diff.then(|| jobs(folder, form, bytes, false));
                (old, jobs(folder, form, bytes, has_findings))
            });
            let commands = files.each_ref().map(|(old, new)| {
                move || match old {
                    Some(old) => command(program, &["diff", "-q", path(old), path(new)], &[0]),
                    None => command(program, &["lint", "-q", path(new)], &[0]),
                }
            });
            let commands = commands.each_ref().map(|run| run as &dyn Fn() -> Took);
            let took: Vec<Took> = turns(SIZE_RUNS, &commands)
                .iter()
                .map(|took| took[0])
                .collect();
            let nanoseconds: Vec<f64> = took
                .iter()
                .zip(&files)
                .map(|(took, (_, file))| {
                    took.time.as_secs_f64() * 1e9 / fs::metadata(file).unwrap().len() as f64
                })
                .collect();
            // Against the least time a byte of all smaller files.
            let growth = (1..nanoseconds.len())
                .map(|at| {
                    let least = nanoseconds[..at].iter().copied().fold(f64::MAX, f64::min);
                    nanoseconds[at] / least
                })
                .fold(0.0, f64::max);
            let last = SIZES.len() - 1;
            (nanoseconds[last], growth, took[last].memory / 1024)
        });
        writeln!(
            table,
            "| {name} | {:.1} ns | {:.1} ns | {:.2}x, {:.2}x | {}, {} MiB |",
            without.0, with.0, without.1, with.1, without.2, with.2,
        )
        .unwrap();
    };
    for form in Form::ALL {
        row(form.as_str(), form, false);
    }
    row("two JSON lists, for `diff`", Form::JsonList, true);
    table
}

/// The median of what each command took.
fn medians(commands: &[&dyn Fn() -> Took]) -> Vec<Took> {
    let took = turns(RUNS, commands);
    took.into_iter().map(|took| took[RUNS / 2]).collect()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
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

/// Writes a text between the marks of a file, such as `<!-- cli -->` and `<!-- /cli -->`.
fn write_between(file: &Path, name: &str, made: &str) {
    let text = fs::read_to_string(file).unwrap();
    let (start, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&start).expect("marks");
    let (_, after) = rest.split_once(&end).expect("marks");
    fs::write(file, format!("{before}{start}{made}{end}{after}")).unwrap();
}
