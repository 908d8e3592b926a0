"""Soak test on a management cluster and a worker: soak.py faults | run DIRECTORY | report WITH WITHOUT FILE

A program instead of a bats file, because it runs hundreds of workloads at a time and matches hours of audit logs with the faults.
The environment variables MINUTES, RATE and SEED set the length of a run, the number of workloads created per second, and the random seed. soak.bats
starts the clusters and injects the faults. The same schedule runs with the policy and without it, so the outcomes must be the same.
"""

import collections, datetime, hashlib, json, os, re, sys, threading, time
from pathlib import Path

from kubelet import Client

LENGTH, RATE, SEED = 60 * float(os.environ.get("MINUTES") or 5), float(os.environ.get("RATE") or 2), str(os.environ.get("SEED") or 29)
# Cluster 0 has the settings that the chart renders for a management cluster, cluster 1 those for a worker.
CLUSTERS = ["management", "worker"]
# Faults, each with its maximum duration in seconds.
FAULTS = [("policy-server", "killed", 30), ("policy-server", "paused", 30), ("policy-server", "slow", 0), ("policy-server", "certificate", 0),
          ("policy-server", "settings", 30), ("kube-apiserver", "restarted", 0), ("kube-apiserver", "paused", 30), ("etcd", "paused", 5),
          ("kube-controller-manager", "killed", 30), ("jobset", "killed", 30), ("kueue", "killed", 30)]
# Faults of these programs disconnect the worker. Kueue 0.18.4 does not retry a Workload that reserved quota meanwhile.
DISCONNECTING = [("management", "kueue"), ("worker", "kube-apiserver"), ("worker", "etcd")]
# Maximum duration in seconds of a workload without faults, of the remaining workloads after Kueue retries them, and of failed writes after a
# fault.
WORKLOAD_LIMIT, RETRY_LIMIT, FAILURE_LIMIT = 60, 120, 10
WEBHOOK = "managed-by.managed-by-policy.github.io"
JOBS, JOBSETS = "/apis/batch/v1/namespaces/team-a/jobs", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads"
MERGE_PATCH = "application/merge-patch+json"
COUNT = int(LENGTH * RATE)


def pick(*number):
    """Returns a pseudorandom number that depends on the seed."""
    return int.from_bytes(hashlib.sha256(repr((SEED, number)).encode()).digest()[:8], "big")


def faults():
    """Yields the begin, cluster, program, kind and duration of each fault, at intervals of 25 s to 3 min. Each pass has every fault in one of the
    clusters, and the next pass in the other one. A run of 10 to 66 minutes has two passes, a shorter one fewer faults."""
    interval = min(max(LENGTH / 2 / len(FAULTS), 25), 180)
    for number in range(int(LENGTH / interval)):
        turn, position = divmod(number, len(FAULTS))
        index = sorted(range(len(FAULTS)), key=lambda fault: pick("fault", turn, fault))[position]
        program, kind, duration = FAULTS[index]
        yield int(interval * (number + 0.25)), CLUSTERS[(index + turn) % 2], program, kind, int(min(duration, interval / 3))


def job(name, annotations=None, spec=None):
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e", "resources": {"requests": {"cpu": "1"}}}]}
    spec = (spec or {}) | {"template": {"metadata": {"annotations": annotations or {}}, "spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "team-a"}, "spec": spec}


def workload(number):
    """Returns the cluster of a workload, the object, and its expected terminal condition. One in eight is delegated to MultiKueue, whose client is
    limited to five requests per second and needs ten for each workload. The rest runs on the worker."""
    name, run_time, shape = f"w{number}", str(500 + pick(number) % 8 * 500), pick(number) // 8 % 32
    run, fails, once = {"e2e/run": run_time}, {"e2e/exit": "1"}, {"backoffLimit": 0}
    indexed = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}

    def job_set(annotations):
        template = {"spec": job(name, annotations, once | {"completions": 1, "parallelism": 1})["spec"]}
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name, "namespace": "team-a"},
                "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": template}]}}

    if shape in (3, 4, 5, 6, 7):
        made, end = job_set(run), "Completed"
    elif shape in (8, 9):
        made, end = job_set(fails), "Failed"
    elif shape in (2, 10, 11, 12, 13):
        made, end = job(name, fails, once), "Failed"
    elif shape in (1, 14, 15, 16, 17):
        made, end = job(name, run, indexed), "Complete"
    elif shape in (18, 19, 20, 21):
        made, end = job(name, run, {"completions": 2, "parallelism": 2}), "Complete"
    else:
        made, end = job(name, run), "Complete"
    made["spec"]["ttlSecondsAfterFinished"] = 120
    if shape < 4:
        made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "queue"}
        made["spec"] |= {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}
    return 0 if shape < 4 else 1, made, end


def rule(message):
    """Returns the rule in a denial, such as managed-by/delegation, or None."""
    found = re.search(r'" denied the request: .*?\[([a-z-]+/[a-z/-]+)\]', message or "")
    return found and found[1]


class Run:
    def __init__(self, folder):
        self.folder, self.start, self.ended = Path(folder), time.time(), False
        self.workloads = [workload(number) for number in range(COUNT)]
        self.notes = {"start": self.start, "created": {}, "rejected": {}, "ends": {}, "invalid": [], "memory": [], "touched": []}

    def now(self):
        return time.time() - self.start

    def client(self, cluster, user="ana"):
        return Client(self.folder / CLUSTERS[cluster] / f"{user}.kubeconfig")

    def create_workloads(self, numbers):
        """Creates each workload at its scheduled time, and retries failed creations, as users do."""
        clients = [self.client(0), self.client(1)]
        for number in numbers:
            cluster, made, _ = self.workloads[number]
            time.sleep(max(0, number / RATE - self.now()))
            limit = self.now() + 180
            while True:
                try:
                    code, response = clients[cluster].send("POST", JOBSETS if made["kind"] == "JobSet" else JOBS, made)
                    # The response to an earlier attempt may have been lost.
                    if code < 300 or code == 409:
                        self.notes["created"][number] = self.now()
                        break
                    error = response.get("message")
                except OSError as failure:
                    error = str(failure)
                if self.now() > limit:
                    self.notes["rejected"][number] = error
                    break
                time.sleep(1)

    def watch_ends(self, cluster):
        """Records when each workload of a cluster ends."""
        client = self.client(cluster)
        while not self.ended:
            for path in (JOBS, JOBSETS):
                try:
                    items = client.request("GET", path)["items"] or []
                except OSError:
                    continue
                for item in items:
                    # The worker also has copies of the management cluster's workloads, and Jobs of JobSets.
                    name = item["metadata"]["name"]
                    number = int(name[1:]) if re.fullmatch(r"w\d+", name) else None
                    true = [c["type"] for c in item.get("status", {}).get("conditions", []) if c["status"] == "True"]
                    end = next((c for c in ("Complete", "Completed", "Succeeded", "Failed") if c in true), None)
                    if number is not None and end and self.workloads[number][0] == cluster:
                        self.notes["ends"].setdefault(number, (end, self.now()))
            time.sleep(2)

    def send_invalid(self, cluster):
        """Sends a dry run every second that the policy must deny."""
        client, number = self.client(cluster), 0
        invalid = [("POST", f"{JOBS}?dryRun=All", job("typo", spec={"managedBy": "kubernetes.io/job-controler"}), "application/json"),
               ("PATCH", f"{JOBS}/idle/status?dryRun=All", {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}, MERGE_PATCH)]
        if cluster == 0:
            invalid.append(("POST", f"{JOBS}?dryRun=All", job("undelegated"), "application/json"))
        while not self.ended:
            try:
                code, response = client.send(*invalid[number % len(invalid)])
                seen = "allowed" if code < 300 else "denied" if rule(response.get("message")) else "rejected"
            except OSError:
                seen = "rejected"
            self.notes["invalid"].append((CLUSTERS[cluster], seen, self.now()))
            number += 1
            time.sleep(1)

    def watch_memory(self):
        """Records the memory of both PolicyServers, in MB."""
        while not self.ended:
            sizes = []
            for cluster in CLUSTERS:
                try:
                    pid = (self.folder / cluster / "policy-server.pid").read_text().strip()
                    sizes.append(int(re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) >> 10)
                except (OSError, TypeError):
                    sizes.append(None)
            self.notes["memory"].append((round(self.now()), *sizes))
            time.sleep(10)

    def unfinished(self):
        return [number for number in range(COUNT) if number not in self.notes["ends"] and number not in self.notes["rejected"]]

    def wait_until_finished(self, limit):
        while self.unfinished() and self.now() < limit:
            time.sleep(1)

    def trigger_reconcile(self):
        """Updates the Workloads of unfinished workloads, so that the management cluster's Kueue reconciles them again."""
        admin = self.client(0, "admin")
        owners = {w["metadata"]["ownerReferences"][0]["name"]: w["metadata"]["name"] for w in admin.request("GET", WORKLOADS)["items"] or []
                  if w["metadata"].get("ownerReferences")}
        for number in self.unfinished():
            self.notes["touched"].append((number, self.notes["created"].get(number, 0)))
            if f"w{number}" in owners:
                admin.request("PATCH", f"{WORKLOADS}/{owners[f'w{number}']}", {"metadata": {"annotations": {"e2e/touched": "true"}}}, MERGE_PATCH)

    def run(self):
        threads = [threading.Thread(target=self.create_workloads, args=(range(first, COUNT, 48),)) for first in range(48)]
        threads += [threading.Thread(target=work, args=(cluster,)) for work in (self.watch_ends, self.send_invalid) for cluster in (0, 1)]
        threads.append(threading.Thread(target=self.watch_memory))
        for thread in threads:
            thread.start()
        time.sleep(LENGTH)
        try:
            self.wait_until_finished(LENGTH + WORKLOAD_LIMIT)
            if self.unfinished():
                self.trigger_reconcile()
                self.wait_until_finished(LENGTH + WORKLOAD_LIMIT + RETRY_LIMIT)
        finally:
            # Ends the threads even if the API server does not respond. Otherwise the process would never exit.
            self.ended = True
        for thread in threads:
            thread.join()
        (self.folder / "observations.json").write_text(json.dumps(self.notes))


def outcomes(notes):
    """Yields the name and the outcome of each workload."""
    for number in range(COUNT):
        cluster, _, wanted = workload(number)
        end = notes["ends"].get(str(number), [None])[0]
        rejection = notes["rejected"].get(str(number))
        yield f"{CLUSTERS[cluster]} w{number}", end if end == wanted else f"{end} instead of {wanted}" if end else f"rejected: {rejection}" if rejection else "unfinished"


def recovery(notes, fault, expected_response):
    """Returns the seconds from the end of a fault until an invalid write in its cluster was evaluated again, and until the running workloads ended."""
    recovered, created, ends = fault["recovered"], notes["created"], notes["ends"]
    evaluated = next((round(at - recovered) for cluster, seen, at in notes["invalid"] if (cluster, seen) == (fault["cluster"], expected_response) and at >= recovered), None)
    running = [ends.get(number, (None, 1e9))[1] - recovered for number, at in created.items() if at < recovered < ends.get(number, (None, 1e9))[1]]
    return {"evaluated_after": evaluated, "running": len(running), "ended_after": max((round(s) for s in running if s <= WORKLOAD_LIMIT), default=None),
            "later_than_a_minute": sum(s > WORKLOAD_LIMIT for s in running)}


def audit(folder, cluster, start, injected):
    """Counts the events in a cluster's audit log. A rejected write is explained if a rule denied an invalid dry run, or if the webhook failed during a
    fault."""
    evaluated, denials, webhook_failures, unexplained = 0, collections.Counter(), collections.Counter(), []
    # `audit-TIME.log` comes before `audit.log`.
    for path in sorted((folder / cluster).glob("audit*.log")):
        for line in path.open():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            evaluated += f"{WEBHOOK}/mode" in event.get("annotations", {})
            response = event.get("responseStatus", {})
            message = response.get("message", "")
            if response.get("code", 0) < 400 or WEBHOOK not in message or event["objectRef"].get("namespace") != "team-a":
                continue
            user, summary = event["user"]["username"], f"{event['verb']} by {event['user']['username']}: {event['objectRef'].get('name')} {message[:300]}"
            if rule(message):
                denials[f"{rule(message)} by {user.split(':')[-1]}"] += 1
                if user != "ana" or "dryRun" not in event["requestURI"]:
                    unexplained.append(summary)
            else:
                at = datetime.datetime.fromisoformat(event["requestReceivedTimestamp"].replace("Z", "+00:00")).timestamp() - start
                fault = next((f["name"] for f in injected if f["cluster"] == cluster and f["began"] - 1 <= at <= f["recovered"] + FAILURE_LIMIT), None)
                webhook_failures[fault or "no fault"] += 1
                if not fault:
                    unexplained.append(f"{at:.1f} s: {summary}")
    return {"evaluated": evaluated, "denials": denials, "webhook_failures": webhook_failures, "unexplained": unexplained}


def observations(folder, expected_response):
    """Returns the outcomes and the observations of a run."""
    folder = Path(folder)
    notes = json.loads((folder / "observations.json").read_text())
    injected = []
    for line in (folder / "faults").read_text().splitlines():
        began, recovered, cluster, name = line.split(maxsplit=3)
        injected.append({"name": name, "cluster": cluster, "began": round(float(began) - notes["start"], 1), "recovered": round(float(recovered) - notes["start"], 1)})

    def disconnected(at):
        return any(f["began"] - 30 <= at <= f["recovered"] + 30 and (f["cluster"], f["name"].split()[0]) in DISCONNECTING for f in injected)

    ends = dict(outcomes(notes))
    return ends, {
        "minutes": LENGTH / 60, "rate": RATE, "workloads": collections.Counter(f"{name.split()[0]}: {end}" for name, end in ends.items()),
        "invalid_writes": collections.Counter(seen for _, seen, _ in notes["invalid"]),
        "touched": [{"workload": f"w{number}", "created": at, "disconnected": disconnected(at)} for number, at in notes["touched"]],
        "faults": [fault | recovery(notes, fault, expected_response) for fault in injected],
        "audit": {cluster: audit(folder, cluster, notes["start"], injected) for cluster in CLUSTERS}, "memory": notes["memory"]}


def report(with_folder, without_folder, file):
    """Writes the observations of both runs, and the violations of expectations."""
    (ends, policy), (others, without) = observations(with_folder, "denied"), observations(without_folder, "allowed")
    good = ("Complete", "Completed", "Failed")
    Path(file).write_text(json.dumps({"with": policy, "without": without, "violations": {
        "ended": [f"{name}: {end}" for run in (ends, others) for name, end in run.items() if end not in good] + ([] if ends else ["no workload"]),
        "same outcomes": [f"{name}: {end}, without the policy {others[name]}" for name, end in ends.items() if end != others[name]],
        "touched": [one for run in (policy, without) for one in run["touched"] if not one["disconnected"]],
        "rejected writes": [one for found in policy["audit"].values() for one in found["unexplained"] + ([] if found["evaluated"] else ["no write was evaluated"])],
        "invalid writes": [f"{policy['invalid_writes']}, and without the policy {without['invalid_writes']}"]
        if policy["invalid_writes"]["allowed"] or without["invalid_writes"]["denied"] or not policy["invalid_writes"]["denied"] else []}}, indent=1))


if sys.argv[1] == "faults":
    for fault in faults():
        print(*fault)
elif sys.argv[1] == "run":
    Run(sys.argv[2]).run()
else:
    report(*sys.argv[2:])
