"""Benchmarks the CLI: `replay` and `lint` against jq, and `lint` against yq (the Go program).

`make bench-cli` runs it and updates two tables in docs/explanation/comparison.md. The input is generated from the recorded traces: a watch
stream of BENCH_BYTES bytes (default: 1 GB) with new UIDs in each repetition. `lint` reads generated Jobs: a list of 64 MB, and a directory
of 10,000 manifests. The first table has medians of three interleaved runs, on one core unless the row says otherwise.

The second table has the time per byte of `lint`, for files of 1 to 64 MB in each common format, and of `diff`, and its growth with the
file size. It uses the fastest of five runs, because noise only adds time.
"""

import json, os, re, statistics, subprocess, time
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "target/dist/managed-by"
FOLDER = ROOT / "target/bench-cli"
SIZES = [1, 4, 16, 64]


def stream(size, is_deleted):
    """Writes a file of about `size` bytes that repeats the recordings, each time with new UIDs. `is_deleted` adds a DELETED event for each object."""
    lines = [line for trace in sorted((ROOT / "parity/traces").glob("*.ndjson")) if trace.stem != "verdicts"
             for line in trace.read_text().splitlines()]
    if is_deleted:
        last = {json.loads(line)["object"]["metadata"]["uid"]: json.loads(line)["object"] for line in lines}
        lines += [json.dumps({"type": "DELETED", "object": last[uid]}) for uid in last]
    # Replaces the first group of each UID, and so also in references to it.
    uid = r'"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")'
    parts = re.split(uid, "\n".join(lines) + "\n")
    file = FOLDER / ("deleted.ndjson" if is_deleted else "watch.ndjson")
    with file.open("w") as out:
        repetition = 0
        while out.tell() < size:
            out.write(f'"{repetition:08x}'.join(parts))
            repetition += 1
    return file


def job(index, managed_by, variables):
    env = [{"name": f"VARIABLE_{i}", "value": f"value {i}"} for i in range(variables)]
    pod = {"containers": [{"env": env, "image": f"registry.example.com/image{index}", "name": "main"}], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": f"job-{index}", "namespace": "team-a", "uid": f"{index:08}-0000-4000-8000-000000000000"},
        "spec": {"completions": 1, "managedBy": managed_by, "template": {"spec": pod}},
    }


def yaml(value, indent=""):
    if isinstance(value, dict):
        return "".join(f"\n{indent}{key}:{yaml(item, indent + '  ')}" for key, item in value.items())
    if isinstance(value, list):
        return "".join(f"\n{indent}- {yaml(item, indent + '  ').lstrip()}" for item in value)
    return f" {value}"


def one_line(value):
    return json.dumps(value, separators=(",", ":"))


LIST = '{"apiVersion":"v1","kind":"List","items":['
# File formats with many Jobs: the text before, between and after the Jobs, and a function that formats a Job.
FORMATS = {
    "a JSON list, as kubectl prints it": ('{\n    "apiVersion": "v1",\n    "items": [\n', ",\n", '\n    ],\n    "kind": "List"\n}\n',
                                          lambda job: json.dumps(job, indent=4)),
    "JSON lines": ("", "\n", "\n", one_line),
    "a JSON list on one line": (LIST, ",", "]}\n", one_line),
    "YAML documents": ("", "\n---", "\n", yaml),
    # Not JSON: no string is quoted.
    "a YAML list on one line": ("{apiVersion: v1, kind: List, items: [", ", ", "]}\n",
                                lambda job: one_line(job).replace('"', "").replace(":", ": ")),
}


def jobs(file_format, size, has_findings):
    """Writes a file of Jobs with at least `size` bytes. With `has_findings`, each Job has one finding."""
    before, between, after, write = FORMATS[file_format]
    file = FOLDER / f"{file_format.replace(' ', '-')}-{size}-{has_findings}"
    with file.open("w") as out:
        out.write(before)
        index = 0
        while out.tell() < size:
            out.write(between * (index > 0) + write(job(index, "runner" if has_findings else "acme.io/runner", 8)))
            index += 1
        out.write(after)
    return file


def manifests():
    folder = FOLDER / "manifests"
    folder.mkdir(exist_ok=True)
    for index in range(10_000):
        (folder / f"job-{index:05}.yaml").write_text(yaml(job(index, "kueue.x-k8s.io/multikueue", 20)) + "\n")
    return folder


def measure(command, cores):
    """Returns the duration of a run in seconds and its peak memory in MiB. Its output is discarded."""
    start = time.perf_counter()
    pinned = ["taskset", "-c", "0"] if cores == "one" else []
    child = subprocess.Popen([*pinned, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    memory = 0
    while child.poll() is None:
        peak = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{child.pid}/status").read_text())
        memory = max(memory, int(peak[1]) if peak else 0)
        time.sleep(0.001)
    return time.perf_counter() - start, memory // 1024


def measure_interleaved(runs, commands):
    """Returns the measurements of each command, fastest run first."""
    return [sorted(runs) for runs in zip(*([measure(*command) for command in commands] for _ in range(runs)))]


def lint(*paths):
    return [PROGRAM, "lint", "-q", *paths]


def groups():
    """Yields groups of rows to compare: name, command, cores, and whether the table has its speedup over the first row."""
    size = int(os.environ.get("BENCH_BYTES", 1_000_000_000))
    watch, deleted = stream(size, False), stream(size, True)
    replay = [PROGRAM, "replay", "-q"]
    yield [
        (f"`jq -c .`, {watch.stat().st_size // 1_000_000} MB", ["jq", "-c", ".", watch], "one", False),
        ("`managed-by replay`, one core", [*replay, watch], "one", True),
        ("`managed-by replay`, all cores", [*replay, watch], "all", True),
        ("`managed-by replay`, one core, every object deleted at the end", [*replay, deleted], "one", False),
    ]
    file = jobs("a JSON list, as kubectl prints it", 64_000_000, False)
    yield [
        ("`jq -c .`, a JSON list of 64 MB", ["jq", "-c", ".", file], "one", False),
        ("`managed-by lint`, one core", lint(file), "one", True),
    ]
    folder = manifests()
    yield [
        ("`yq .`, 10,000 manifests", ["yq", ".", *folder.iterdir()], "one", False),
        ("`managed-by lint`, one core", lint(folder), "one", True),
        ("`managed-by lint`, all cores", lint(folder), "all", True),
    ]
    yield [("`managed-by lint` of one manifest", lint(ROOT / "examples/manifests/accepted.yaml"), "one", False)]


def comparison_table():
    rows = "| | time | memory | speedup |\n| --- | --- | --- | --- |\n"
    for group in groups():
        medians = [statistics.median_low(runs) for runs in measure_interleaved(3, [row[1:3] for row in group])]
        for (name, _, _, is_compared), (seconds, memory) in zip(group, medians):
            text = f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"
            rows += f"| {name} | {text} | {memory} MiB | {f'{medians[0][0] / seconds:.1f}x' if is_compared else ''} |\n"

    def output_of(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    yq = output_of("yq", "--version").replace("yq (https://github.com/mikefarah/yq/) version ", "yq ")
    return (f"\n{output_of('date', '+%F')}, {os.cpu_count()} cores of {model[1] if model else ''}, {output_of('jq', '--version')}, {yq}, "
            f"load average {os.getloadavg()[0]:.2f} at the end of the run. Medians of 3 interleaved runs.\n\n{rows}")


def growth_table():
    """Returns the table of the time per byte of `lint` and `diff` at 64 MB, and its growth: the highest ratio to the lowest time of a smaller file."""
    rows = "\n| input (64 MB) | without findings | one finding per Job | growth | memory |\n| --- | --- | --- | --- | --- |\n"
    first = next(iter(FORMATS))
    for file_format, row, is_diff in [*((file_format, file_format, False) for file_format in FORMATS), (first, "two JSON lists, for `diff`", True)]:
        cells = []
        for has_findings in [False, True]:
            files = [jobs(file_format, size * 1_000_000, has_findings) for size in SIZES]
            before = [jobs(file_format, size * 1_000_000, False) for size in SIZES]
            commands = [[PROGRAM, "diff", "-q", *pair] if is_diff else lint(pair[1]) for pair in zip(before, files)]
            best = [runs[0] for runs in measure_interleaved(5, [(command, "one") for command in commands])]
            each = [seconds * 1e9 / file.stat().st_size for (seconds, _), file in zip(best, files)]
            cells.append((each[-1], max(each[at] / min(each[:at]) for at in range(1, len(each))), best[-1][1]))
        (without, grows, small), (found, grows_too, large) = cells
        rows += f"| {row} | {without:.1f} ns | {found:.1f} ns | {grows:.2f}x, {grows_too:.2f}x | {small}, {large} MiB |\n"
    return rows


FOLDER.mkdir(parents=True, exist_ok=True)
page = ROOT / "docs/explanation/comparison.md"
for mark, table in [("cli", comparison_table()), ("cli-sizes", growth_table())]:
    print(table)
    before, rest = page.read_text().split(f"<!-- {mark} -->")
    after = rest.split(f"<!-- /{mark} -->")[1]
    page.write_text(f"{before}<!-- {mark} -->{table}<!-- /{mark} -->{after}")
