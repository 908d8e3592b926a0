"""Sends 40 concurrent dry runs of large AppWrappers or pods as a tenant or its service account, and writes as another user:
flood.py SERVER SECONDS POLICY_SERVER_PID appwrappers|pods [ACCOUNT].

Prints the number of writes of each user by response code, the response times of the other user's writes, and PolicyServer's peak memory. The exit code is
1 if one of the other user's writes failed.
"""

import collections, http.client, json, ssl, sys, threading, time

SERVER, SECONDS, PID, RESOURCE = sys.argv[1].removeprefix("https://"), float(sys.argv[2]), *sys.argv[3:5]
ACCOUNT = {"impersonate-user": name for name in sys.argv[5:]}
TLS = ssl._create_unverified_context()
# 1.86 MB. An update of this object, which contains the old and the new object, would exceed the request limit.
CHILD = {"template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"annotations": {"a": "x" * 1000}}, "spec": {}}}
LARGE = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "large"}, "spec": {"components": [CHILD] * 1690}}
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e"}]}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "other"}, "spec": {"suspend": True, "template": POD}}
for workload in (LARGE, JOB):
    workload["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "missing", "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b", "controller": True}
LARGE_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large", "ownerReferences": [OWNER]},
             "spec": {"containers": [{"name": "main", "image": "e2e", "env": [{"name": "A", "value": "x" * 1_860_000}]}]}}
PATH, FLOOD = {
    "appwrappers": ("apis/workload.codeflare.dev/v1beta2/namespaces/team-a/appwrappers", LARGE),
    "pods": ("api/v1/namespaces/team-a/pods", LARGE_POD),
}[RESOURCE]

end = time.monotonic() + SECONDS
tenant, others, times, peak = collections.Counter(), collections.Counter(), [], 0


def create(token, path, body, headers={}):
    connection = http.client.HTTPSConnection(SERVER, context=TLS, timeout=60)
    try:
        connection.request("POST", f"/{path}?dryRun=All", body, {"authorization": f"Bearer {token}", "content-type": "application/json"} | headers)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def flood():
    body = json.dumps(FLOOD)
    while time.monotonic() < end:
        tenant[create("tenant", PATH, body, ACCOUNT)] += 1


def write():
    body = json.dumps(JOB)
    # At least one, even if the others delay the start of this thread.
    while not times or time.monotonic() < end:
        start = time.monotonic()
        others[create("admin", "apis/batch/v1/namespaces/team-a/jobs", body)] += 1
        times.append(time.monotonic() - start)
        time.sleep(0.2)


def watch():
    global peak
    while time.monotonic() < end:
        with open(f"/proc/{PID}/status") as status:
            peak = max(peak, next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024)
        time.sleep(0.05)


threads = [threading.Thread(target=target) for target in [flood] * 40 + [write, watch]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
times.sort()
print(f"# {RESOURCE} as {''.join(ACCOUNT.values()) or 'the tenant'}: {dict(tenant)}; others: {dict(others)}, median {times[len(times) // 2]:.2f} s, slowest {times[-1]:.2f} s; PolicyServer: {peak} MiB")
sys.exit(set(others) != {201})
