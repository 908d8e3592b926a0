"""Benchmarks the CLI: `replay` and `lint` against jq, and `lint` against yq (the Go program).

`make bench-cli` runs it and updates a table in docs/explanation/comparison.md. The input is generated from the recorded traces: a watch
stream of BENCH_BYTES bytes (default: 1 GB) with new UIDs in each repetition. `lint` reads generated Jobs: a list of 64 MB, and a directory
of 10,000 manifests. The table has medians of three interleaved runs, on one core unless the row says otherwise.
"""

import json, os, re, statistics, subprocess, time
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "target/dist/managed-by"
FOLDER = ROOT / "target/bench-cli"


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


def list_of_jobs(size):
    """Writes a JSON list of Jobs with at least `size` bytes, as kubectl prints it."""
    file = FOLDER / "list.json"
    with file.open("w") as out:
        out.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        index = 0
        while out.tell() < size:
            out.write(",\n" * (index > 0) + json.dumps(job(index, "acme.io/runner", 8), indent=4))
            index += 1
        out.write('\n    ],\n    "kind": "List"\n}\n')
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
    file = list_of_jobs(64_000_000)
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


FOLDER.mkdir(parents=True, exist_ok=True)
page = ROOT / "docs/explanation/comparison.md"
table = comparison_table()
print(table)
before, rest = page.read_text().split("<!-- cli -->")
page.write_text(f"{before}<!-- cli -->{table}<!-- /cli -->{rest.split('<!-- /cli -->')[1]}")
