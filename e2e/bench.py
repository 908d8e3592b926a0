"""Benchmarks the policy in PolicyServer against a no-op policy.

`make bench-server` runs it, and it updates a table in docs/explanation/comparison.md. One server has all policies, and requests alternate between them, so
that a slow phase of the machine affects all policies alike.
"""

import json, os, re, shutil, socket, subprocess, tempfile, time, urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Compare each policy with a no-op policy that has settings of the same size, because PolicyServer adds the settings to each request.
NAMES = {"noop": None, "ours": "this policy, `{}`", "ours-release": "this policy, `kubernetes_version: \"1.37\"`",
         "noop-large": None, "ours-large": "this policy, large settings"}
# Request sizes, each with the number of timed requests.
SIZES = [("6 KB", 6 * 1024, 3000), ("118 KB", 118 * 1024, 1000)]
CONNECTIONS = 4
# Seconds of load for each policy in a turn, number of turns, and seconds of load for the measurement of memory.
SECONDS, TURNS, LOAD = 2, 3, 60
# Timeout until PolicyServer is ready, in seconds.
START = 60
# Maximum overhead of the median over the no-op policy: in seconds for 6 KB, and relative to its time for 118 KB.
LIMITS = {"6 KB": lambda floor: 45e-6, "118 KB": lambda floor: 0.06 * floor}


def policies():
    rules = json.loads((ROOT / "docs/settings.schema.json").read_text())["properties"]["rules"]["properties"]
    large = {
        "controllers": {"acme.io/runner": "any"} | {f"acme.io/runner-{i}": {
            "namespaces": [f"team-{i}-*"], "status_writers": [f"system:serviceaccount:acme:{i}"]} for i in range(200)},
        "namespaces": [{"match": [f"infra-{i}-*"], "delegation": "forbidden"} for i in range(200)],
        "rules": {rule: "deny" for rule in rules},
    }
    modules = {"noop": "annotated-noop.wasm", "ours": "annotated-policy.wasm"}
    settings = {"large": large, "release": {"kubernetes_version": "1.37"}}
    return {name: {"module": f"file://{ROOT / modules[name.split('-')[0]]}", "policyMode": "protect",
                   "settings": settings.get(name.partition("-")[2], {})} for name in NAMES}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def start(folder):
    """Starts PolicyServer, waits until it is ready, and returns it and its port."""
    (folder / "policies.yml").write_text(json.dumps(policies()))
    port, probe = free_port(), free_port()
    # Don't log each request, because that would affect the times. Don't use a cluster that is configured on this machine.
    server = subprocess.Popen(
        ["policy-server", "--policies", "policies.yml", "--addr", "127.0.0.1", "--port", str(port), "--readiness-probe-port", str(probe),
         "--workers", "2", "--log-level", "warn", "--policies-download-dir", "modules", "--sigstore-cache-dir", "sigstore",
         "--ignore-kubernetes-connection-failure"],
        cwd=folder, env=os.environ | {"KUBECONFIG": str(folder / "nowhere")})
    end = time.monotonic() + START
    while server.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{probe}/readiness", timeout=1)
            return server, port
        except OSError:
            time.sleep(0.05)
    server.kill()
    raise SystemExit(f"PolicyServer exited or was not ready within {START} s")


def review(size):
    """Returns a valid update of a delegated Job's status, of at most the given size."""

    def job(variables, ready):
        env = [{"name": f"VARIABLE_{i}", "value": "a value of some length"} for i in range(variables)]
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e", "env": env}]}
        return {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi", "namespace": "team-a", "uid": "1"},
            "spec": {"managedBy": "acme.io/runner", "parallelism": 3, "completions": 3, "template": {"spec": pod}},
            "status": {"startTime": "2026-01-01T00:00:00Z", "active": 3, "ready": ready, "uncountedTerminatedPods": {}},
        }

    def body(variables):
        request = {
            "uid": "00000000-0000-4000-8000-000000000000", "operation": "UPDATE", "subResource": "status", "name": "pi", "namespace": "team-a",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "userInfo": {"username": "system:serviceaccount:acme:runner"}, "object": job(variables, 2), "oldObject": job(variables, 1),
        }
        text = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        return json.dumps(text, separators=(",", ":")).encode()

    payload = body((size - len(body(0))) // (len(body(2)) - len(body(1))))
    assert len(payload) > size * 0.93, f"{len(payload)} of {size}"
    return payload


def send(connection, policy, body):
    """Sends a request, which must be allowed, and returns the response time in seconds."""
    began = time.perf_counter()
    head = f"POST /validate/{policy} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    response, body, length = b"", b"", None
    while not length or len(body) < int(length[1]):
        received = connection.recv(1 << 16)
        assert received, f"{policy}: the connection was closed after {response}"
        response += received
        head, end, body = response.partition(b"\r\n\r\n")
        length = end and re.search(rb"(?i)\ncontent-length: (\d+)", head)
    took = time.perf_counter() - began
    assert json.loads(body)["response"]["allowed"], f"{policy}: {response}"
    return took


def start_load(pool, port, policy, body, seconds):
    """Sends requests on several connections for the given time. The results are the numbers of responses."""
    end = time.monotonic() + seconds

    def work():
        count = 0
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while time.monotonic() < end:
                send(connection, policy, body)
                count += 1
        return count

    return [pool.submit(work) for _ in range(CONNECTIONS)]


def measure(pool, port):
    """Returns the rows of the table, and the limits that the policy exceeds with the settings `{}`."""
    rows, problems = "", []
    for size, length, rounds in SIZES:
        body, times, counts = review(length), {name: [] for name in NAMES}, dict.fromkeys(NAMES, 0)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            order = list(NAMES)
            for _ in range(rounds):
                for name in order:
                    times[name].append(send(connection, name, body))
                # Rotate the order after each round.
                order.append(order.pop(0))
        for _ in range(TURNS):
            for name in NAMES:
                counts[name] += sum(count.result() for count in start_load(pool, port, name, body, SECONDS))
        for name, label in NAMES.items():
            p50, p99 = (sorted(times[name])[rounds * percent // 100] for percent in (50, 99))
            if not label:
                floor = p50
                continue
            over = f"{(p50 - floor) * 1e6:+.0f} us, {p50 / floor:.2f}x"
            rows += f"| {size} | {label} | {floor * 1e6:.0f} us | {p50 * 1e6:.0f} us | {over} | {p99 * 1e6:.0f} us | {counts[name] / SECONDS / TURNS:.0f} |\n"
            if name == "ours" and p50 - floor > LIMITS[size](floor):
                problems.append(f"{size}: {over} compared with a no-op policy, the limit is {LIMITS[size](floor) * 1e6:+.0f} us")
    return rows, problems


def memory(pool, server, port):
    """Returns the number of responses under load, and the peak memory in each third of the time, in MB."""
    thirds, began = [0, 0, 0], time.monotonic()
    (_, small, _), (_, large, _) = SIZES
    counts = start_load(pool, port, "ours", review(small), LOAD) + start_load(pool, port, "ours-large", review(large), LOAD)
    while not all(count.done() for count in counts):
        third = min(2, int((time.monotonic() - began) * 3 / LOAD))
        rss = re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{server.pid}/status").read_text())
        thirds[third] = max(thirds[third], int(rss[1]) * 1024 // 1_000_000)
        time.sleep(0.25)
    return sum(count.result() for count in counts), thirds


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]


if not shutil.which("policy-server"):
    print("skip  bench-server: policy-server is not on the PATH; see e2e/README.md")
    raise SystemExit("NO_SKIP" in os.environ)
with tempfile.TemporaryDirectory(prefix="managed-by-bench-") as folder:
    server, port = start(Path(folder))
    try:
        with ThreadPoolExecutor(2 * CONNECTIONS) as pool:
            rows, problems = measure(pool, port)
            requests, (first, second, last) = memory(pool, server, port)
    finally:
        server.kill()
        server.wait()
# Ignore the first third, in which a new process grows.
if last * 2 > second * 3:
    raise SystemExit("\n".join([*problems, f"the memory grows: {first}, {second} and {last} MB"]))
model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
table = (f"{output_of('date', '+%F')}, {output_of('policy-server', '--version')}, {os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}, "
        f"load average {os.getloadavg()[0]:.2f} at the end of the run. Latency was measured with one connection, requests/s with {CONNECTIONS}.\n\n"
        "| request | policy | p50 of a policy that does nothing | p50 | difference | p99 | requests/s |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        f"{rows}\nMemory of PolicyServer during {requests} requests of both sizes in {LOAD} s: peaks of {first}, {second} and {last} MB in the first, "
        "second and last 20 s.\n")
print(table)
page = ROOT / "docs/explanation/comparison.md"
before, rest = page.read_text().split("<!-- server -->\n")
after = rest.split("<!-- /server -->\n")[1]
page.write_text(f"{before}<!-- server -->\n{table}<!-- /server -->\n{after}")
if problems:
    raise SystemExit("\n".join(problems))
