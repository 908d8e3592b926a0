"""Sends valid and invalid writes to an API server, one after the other, as dry runs: outages.py SERVER CA SECONDS WRITER.

WRITER may write the status of the Job `pi`. Prints the number of writes, of valid ones that the policy or a failed call of it denied, of invalid ones that were
accepted, and of writes that the API server did not answer or answered with another error, for example because it is starting.
"""

import collections, http.client, json, ssl, sys, time

SERVER, CA, SECONDS, WRITER = sys.argv[1].removeprefix("https://"), sys.argv[2], float(sys.argv[3]), sys.argv[4]
TLS = ssl.create_default_context(cafile=CA)
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"


def job(controller):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e"}]}}
    spec = {"managedBy": controller, "suspend": True, "template": template}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "pi-"}, "spec": spec})


def status(**counters):
    return json.dumps({"status": counters})


CREATE, PATCH = ("POST", JOBS, "application/json"), ("PATCH", f"{JOBS}/pi/status", "application/merge-patch+json")
WRITES = [
    (True, "ana", CREATE, job("kueue.x-k8s.io/multikueue")),
    (True, WRITER, PATCH, status(active=1, ready=0, terminating=0)),
    (False, "ana", CREATE, job("kueue.x-k8s.io/multikueu")),
    (False, "ana", PATCH, status(active=2, ready=0, terminating=0)),
]
BY_POLICY = ("managed-by", "failed calling webhook", "failed to find resource")
counts = collections.Counter()
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    for is_valid, user, (method, path, content_type), body in WRITES:
        connection = http.client.HTTPSConnection(SERVER, context=TLS, timeout=20)
        try:
            connection.request(method, path + "?dryRun=All", body, {"authorization": f"Bearer {user}", "content-type": content_type})
            response = connection.getresponse()
            text, is_accepted = response.read().decode(), response.status < 300
        except (OSError, http.client.HTTPException) as error:
            text, is_accepted = str(error), False
        finally:
            connection.close()
        if is_accepted or any(part in text for part in BY_POLICY):
            counts["valid" if is_valid else "invalid"] += 1
            counts["valid denied"] += is_valid and not is_accepted
            counts["invalid accepted"] += not is_valid and is_accepted
        else:
            counts["other errors"] += 1
    time.sleep(0.02)
print(json.dumps({name: counts[name] for name in ("valid", "valid denied", "invalid", "invalid accepted", "other errors")}))
