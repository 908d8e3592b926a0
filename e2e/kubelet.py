"""Simulates the nodes of a cluster: kubelet.py KUBECONFIG [DIRECTORY POLICY_SERVER_KUBECONFIG PROGRAM NUMBER].

Without DIRECTORY, each pod outside the namespace kubewarden starts, runs and ends according to its annotations: `e2e/run` is its run time in
milliseconds, or `forever`, `e2e/exit` its exit code, and `e2e/fail-index` lists completion indexes that fail. A pod with a command runs that
instead, as a process of this machine. With DIRECTORY, it simulates the node of
PolicyServer: each pod of its Deployments is a real process with its own address, and with the pod's environment, ConfigMaps and Secrets. The addresses
contain the number of the cluster.

The tests use this program because a real kubelet requires a container runtime.
"""

import base64, contextlib, ctypes, datetime, http.client, json, os, signal, ssl, subprocess, sys, time, urllib.request
from pathlib import Path
from urllib.parse import urlsplit

# Duration of image pulls and of the termination of a pod, in seconds.
PULL, STOP = 0.3, 0.5
# Delay in seconds before the first restart of a process. Each restart doubles it, up to 32 times this value. A kubelet starts with 10 s.
BACK_OFF = 2
NAMESPACE = "kubewarden"


class Client:
    def __init__(self, kubeconfig):
        config = json.loads(Path(kubeconfig).read_text())
        cluster = config["clusters"][0]["cluster"]
        self.host = urlsplit(cluster["server"]).netloc
        self.token = config["users"][0]["user"]["token"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.connection = None

    def send(self, method, path, body=None, media_type="application/json"):
        """Sends a request, and returns the status code and JSON of the response."""
        self.connection = self.connection or http.client.HTTPSConnection(self.host, context=self.tls, timeout=10)
        try:
            headers = {"authorization": f"Bearer {self.token}", "content-type": media_type}
            self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = self.connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection.close()
            self.connection = None
            raise OSError(f"{method} {path}: {error}") from error

    def request(self, *args, **more):
        """Sends a request that must succeed, and returns the response, or None if the object does not exist."""
        code, response = self.send(*args, **more)
        if code >= 300 and code != 404:
            raise OSError(f"{args}: {code} {response.get('message')}")
        return response if code != 404 else None

    def set_status(self, pod, status):
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        self.request("PATCH", path, {"status": status}, "application/strategic-merge-patch+json")

    def bind(self, pod):
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        self.request("POST", path, {"metadata": {"name": metadata["name"]}, "target": {"kind": "Node", "name": "e2e"}})

    def delete(self, pod):
        metadata = pod["metadata"]
        self.request("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", {"gracePeriodSeconds": 0})


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(pod, phase, state, ready, restarts=0):
    """Returns the status of a pod whose containers all have the same state."""
    conditions = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
    return {
        "phase": phase, "conditions": [{"type": name, "status": str(value)} for name, value in conditions.items()],
        "containerStatuses": [{"name": container["name"], "image": container["image"], "imageID": "e2e", "ready": ready, "started": ready,
                               "restartCount": restarts, "state": state, "lastState": {}} for container in pod["spec"]["containers"]],
    }


def terminated_status(pod, code):
    phase, reason = ("Succeeded", "Completed") if code == 0 else ("Failed", "Error")
    return status_of(pod, phase, {"terminated": {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}}, False)


class SimulatedNode:
    def __init__(self, client):
        self.client = client
        # Time at which each pod entered its current state, by UID and state.
        self.since = {}
        # Processes of pods with a command, by UID.
        self.processes, self.stopped = {}, set()

    def step(self):
        pods = self.client.request("GET", f"/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed,metadata.namespace!={NAMESPACE}")["items"] or []
        before, self.since = self.since, {}
        for pod in pods:
            state = ("deleted" if "deletionTimestamp" in pod["metadata"] else "gated" if pod["spec"].get("schedulingGates")
                     else "running" if pod.get("status", {}).get("phase") == "Running" else "pending")
            key = (pod["metadata"]["uid"], state)
            self.since[key] = before.get(key, time.monotonic())
        for pod, ((_, state), since) in zip(pods, list(self.since.items())):
            self.act(pod, state, time.monotonic() - since)

    def act(self, pod, state, seconds):
        annotations = pod["metadata"].get("annotations", {})
        if state == "pending" and seconds > PULL:
            command = pod["spec"]["containers"][0].get("command")
            # The API server ignores the grace period of a pod without a node.
            if command and "nodeName" not in pod["spec"]:
                self.client.bind(pod)
            self.client.set_status(pod, status_of(pod, "Running", {"running": {"startedAt": now()}}, True) | {"startTime": now()})
            if command:
                index = annotations.get("batch.kubernetes.io/job-completion-index", "")
                self.processes[pod["metadata"]["uid"]] = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, env=os.environ | {"JOB_COMPLETION_INDEX": index}, preexec_fn=end_with_parent, start_new_session=True)
        elif process := self.processes.get(pod["metadata"]["uid"]):
            self.act_on_process(pod, process, state, seconds)
        elif state == "running":
            run = annotations.get("e2e/run", "500")
            if run != "forever" and seconds > int(run) / 1000:
                fails = annotations.get("batch.kubernetes.io/job-completion-index") in annotations.get("e2e/fail-index", "").split(",")
                self.client.set_status(pod, terminated_status(pod, 1 if fails else int(annotations.get("e2e/exit", 0))))
        elif state == "deleted" and seconds > STOP:
            self.client.set_status(pod, terminated_status(pod, 137))
            self.client.delete(pod)

    def act_on_process(self, pod, process, state, seconds):
        """Reports the end of a pod's process. If the pod is deleted, stops the process like a container runtime: with SIGTERM, and with SIGKILL after
        the grace period."""
        uid, code = pod["metadata"]["uid"], process.poll()
        if code is not None:
            self.client.set_status(pod, terminated_status(pod, code if code >= 0 else 128 - code))
            if state == "deleted":
                self.client.delete(pod)
            del self.processes[uid]
            # Its children.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        elif state == "deleted" and uid not in self.stopped:
            process.terminate()
            self.stopped.add(uid)
        elif state == "deleted" and seconds > pod["metadata"]["deletionGracePeriodSeconds"]:
            process.kill()


class Pod:
    """A pod and its process. The directory contains its log (NAME.log) and its process id (NAME.pid)."""

    def __init__(self, ip):
        self.ip, self.process, self.restarts, self.restart_at, self.reported, self.deletion_seen_at = ip, None, 0, 0, None, None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class PolicyServerNode:
    def __init__(self, client, folder, kubeconfig, program, number):
        self.client, self.folder, self.kubeconfig, self.program, self.pods, self.count = client, Path(folder), kubeconfig, program, {}, 0
        self.node, self.network = f"10.244.0.{number}", f"10.244.{number}"

    def step(self):
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        seen = set()
        for pod in self.client.request("GET", f"{path}?labelSelector=kubewarden/policy-server")["items"] or []:
            name = pod["metadata"]["name"]
            seen.add(name)
            if "nodeName" not in pod["spec"]:
                self.client.bind(pod)
                continue
            if name not in self.pods:
                self.count += 1
                self.pods[name] = Pod(f"{self.network}.{self.count}")
            if "deletionTimestamp" in pod["metadata"]:
                self.terminate(self.pods[name], pod)
            else:
                self.sync(self.pods[name], pod, name)
        for name in self.pods.keys() - seen:
            self.pods.pop(name).kill()
        for pod in self.client.request("GET", f"{path}?labelSelector=app.kubernetes.io/component=controller")["items"] or []:
            self.report_controller(pod)

    def report_controller(self, pod):
        """Reports the pod of Kubewarden's controller as running, at the node's address, where the controller runs as a process."""
        if "nodeName" not in pod["spec"]:
            self.client.bind(pod)
        elif pod["status"].get("phase") != "Running":
            self.client.set_status(pod, status_of(pod, "Running", {"running": {}}, True) | {"podIP": self.node, "podIPs": [{"ip": self.node}], "hostIP": self.node})

    def terminate(self, local_pod, pod):
        """Kills a terminating pod's process after the grace period: one second, or the value in the file `grace`. PolicyServer does not handle signals,
        and the first process of a container ignores unhandled signals, so it runs until the grace period ends."""
        local_pod.deletion_seen_at = local_pod.deletion_seen_at or time.monotonic()
        grace = self.folder / "grace"
        if time.monotonic() - local_pod.deletion_seen_at >= (int(grace.read_text()) if grace.exists() else 1):
            local_pod.kill()
            self.client.delete(pod)

    def sync(self, local_pod, pod, name):
        """Starts the pod's process if it is not running, and reports changes of the status."""
        if local_pod.process and local_pod.process.poll() is not None:
            local_pod.process, local_pod.restart_at = None, time.monotonic() + BACK_OFF * 2 ** min(local_pod.restarts, 5)
            local_pod.restarts += 1
        if not local_pod.process and local_pod.restart_at <= time.monotonic():
            local_pod.process = self.start(local_pod, pod, name)
            (self.folder / f"{name}.pid").write_text(str(local_pod.process.pid))
        port = pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]["port"]
        try:
            ready = bool(local_pod.process) and urllib.request.urlopen(f"http://{local_pod.ip}:{port}/readiness", timeout=1).status == 200
        except OSError:
            ready = False
        state = {"running": {}} if local_pod.process else {"waiting": {"reason": "CrashLoopBackOff"}}
        status = status_of(pod, "Running", state, ready, local_pod.restarts) | {"podIP": local_pod.ip, "podIPs": [{"ip": local_pod.ip}], "hostIP": self.node}
        if status != local_pod.reported:
            self.client.set_status(pod, status)
            local_pod.reported = status

    def start(self, local_pod, pod, name):
        spec, container, mounts = pod["spec"], pod["spec"]["containers"][0], {}
        for mount in container.get("volumeMounts", []):
            directory = mounts[mount["mountPath"]] = self.folder / name / mount["mountPath"].lstrip("/")
            directory.mkdir(parents=True, exist_ok=True)
            for volume in spec["volumes"]:
                if volume["name"] == mount["name"]:
                    self.fill(volume, directory)

        def mounted(value):
            """Replaces a mounted path with its directory on the host."""
            return next((f"{directory}{value[len(path):]}" for path, directory in mounts.items() if value == path or value.startswith(f"{path}/")), value)

        environment = {variable["name"]: mounted(variable.get("value", "")) for variable in container["env"]} | {
            "KUBECONFIG": self.kubeconfig, "KUBEWARDEN_BIND_ADDRESS": local_pod.ip, "KUBEWARDEN_LOG_NO_COLOR": "true", "HOME": str(self.folder / name)}
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(self.program, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, preexec_fn=end_with_parent,
                                    env=os.environ | environment)

    def fill(self, volume, directory):
        """Writes the keys of a ConfigMap or a Secret as files, under the names that the volume sets."""
        for key, resource, name in (("configMap", "configmaps", "name"), ("secret", "secrets", "secretName")):
            if source := volume.get(key):
                names = {item["key"]: item["path"] for item in source.get("items", [])}
                stored = self.client.request("GET", f"/api/v1/namespaces/{NAMESPACE}/{resource}/{source[name]}")
                for file, text in stored["data"].items():
                    (directory / names.get(file, file)).write_bytes(base64.b64decode(text) if key == "secret" else text.encode())


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main():
    client = Client(sys.argv[1])
    node = PolicyServerNode(client, *sys.argv[2:]) if len(sys.argv) > 2 else SimulatedNode(client)
    while True:
        try:
            node.step()
        except Exception as error:
            # The API server may be down, or a pod's object may have been deleted. Retry in the next step.
            print(repr(error), flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
