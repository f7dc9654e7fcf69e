"""Runs gcloud commands in one process, against a fake GKE on loopback that stores resources in a dictionary.

In: [{"argv": [...], "exists": bool, "made": bool}]. `exists` is true if the pool or cluster of the command exists,
and `made` if an earlier step created it. Out: for each step {"code", "output", "answer", "requests"}.
"""

import contextlib
import http.server
import io
import json
import os
import shutil
import sys
import tempfile
import threading
import time

given = json.load(sys.stdin)
root = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("gcloud"))))
sys.path[:0] = [f"{root}/lib", f"{root}/lib/third_party"]
stored, fresh, requests, step = {}, set(), [], {}


WINDOW = {
    "recurrence": "FREQ=DAILY",
    "window": {"startTime": "2025-01-06T00:00:00Z", "endTime": "2025-01-06T06:00:00Z"},
}


def pool(name):
    return {"name": name, "config": {"machineType": "e2-medium"}, "initialNodeCount": 1, "status": "RUNNING"}


def cluster(name):
    return {
        "name": name,
        "location": "us-central1",
        "locations": ["us-central1-a"],
        "zone": "us-central1",
        "currentMasterVersion": "1.36.1-gke.100",
        "currentNodeVersion": "1.36.1-gke.100",
        "endpoint": "127.0.0.1",
        "masterAuth": {"clusterCaCertificate": "eA=="},
        "status": "RUNNING",
        "nodePools": [],
    }


# The resources of Compute Engine that the steps create or read, by their list.
COMPUTE = ("networks", "subnetworks", "firewalls", "resourcePolicies")


def compute(command, path, body):
    """Answers a request to Compute Engine: (code, answer)."""
    *place, kind, name = path.strip("/").split("/")
    if kind == "operations" or command in ("PATCH", "PUT", "DELETE"):
        return 200, operation(path)
    if command == "POST":
        made = f"{path}/{body['name']}"
        stored[made] = {"selfLink": f"{server_url()}{made}", **body}
        fresh.add(made)
        return 200, operation(made)
    if kind not in COMPUTE:
        return 200, {"name": name}
    found = stored.get(path) if step["made"] or path in fresh else None
    if found is None and step["exists"]:
        found = {"name": name}
    if found is None:
        return 404, {"error": {"code": 404, "message": f"The resource '{'/'.join(place[2:])}' was not found"}}
    return 200, found


def operation(target):
    place = target.split("/")
    scope = f"regions/{place[place.index('regions') + 1]}" if "regions" in place else "global"
    link = f"{server_url()}/compute/v1/projects/p/{scope}/operations/operation-1"
    region = {"region": f"{server_url()}/compute/v1/projects/p/{scope}"} if scope != "global" else {}
    return {
        **region,
        "kind": "compute#operation",
        "name": "operation-1",
        "operationType": "insert",
        "selfLink": link,
        "status": "DONE",
        "targetLink": f"{server_url()}{target}",
    }


def server_url():
    return f"http://127.0.0.1:{server.server_port}"


class Gke(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle_any(self):
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size).decode()
        body = json.loads(body) if body else None
        path = self.path.split("?")[0]
        if self.command != "GET":
            requests.append({"method": self.command, "path": path, "body": body})
        parts = path.strip("/").split("/")
        code, answer = 200, None
        if parts[0] == "compute":
            return self.answer(*compute(self.command, path, body))
        if self.command == "POST" and parts[-1] in ("nodePools", "clusters"):
            one = body["nodePool" if parts[-1] == "nodePools" else "cluster"]
            made = f"{path}/{one['name']}"
            stored[made] = one
            fresh.add(made)
        if self.command == "GET" and "projects" in parts and "locations" not in parts:
            answer = {"projectId": parts[parts.index("projects") + 1], "lifecycleState": "ACTIVE"}
        elif self.command == "GET" and parts[-2] in ("nodePools", "clusters"):
            answer = stored.get(path) if step["made"] or path in fresh else None
            if answer is None and (step["exists"] or parts[-2] == "clusters" and "node-pools" in step["argv"]):
                answer = (pool if parts[-2] == "nodePools" else cluster)(parts[-1])
                # `--remove-labels` requires existing labels.
                answer["resourceLabels"] = {"extra": "a", "gpuc-labels": "yde5di"}
                # `--clear-maintenance-window` requires an existing window.
                window = {"recurringWindow": WINDOW}
                # `--remove-maintenance-exclusion` requires an existing exclusion; adding one requires that it is absent.
                if "--remove-maintenance-exclusion" in step["argv"]:
                    window["maintenanceExclusions"] = {"gpuc": WINDOW["window"]}
                answer["maintenancePolicy"] = {"resourceVersion": "a1", "window": window}
            if answer is not None and parts[-2] == "clusters":
                named = [word.split("=", 1)[1] for word in step["argv"] if word.startswith("--node-pool=")]
                answer = {**cluster(parts[-1]), **answer, "nodePools": [pool(name) for name in named]}
                # Every cluster has a DNS name, which gcloud reads if the cluster has settings of its endpoints.
                endpoints = answer.get("controlPlaneEndpointsConfig")
                if endpoints or "--dns-endpoint" in step["argv"]:
                    name = {"endpoint": "gke-0a.us-central1.gke.goog", "allowExternalTraffic": True}
                    answer["controlPlaneEndpointsConfig"] = {"dnsEndpointConfig": name, **(endpoints or {})}
                    answer["controlPlaneEndpointsConfig"]["dnsEndpointConfig"].setdefault("endpoint", name["endpoint"])
            if answer is None:
                code, answer = 404, {"error": {"code": 404, "message": "not found", "status": "NOT_FOUND"}}
        elif self.command == "GET" and parts[-1] == "serverConfig":
            answer = {"validMasterVersions": ["1.36.1-gke.100"], "validNodeVersions": ["1.36.1-gke.100"]}
        if answer is None:
            link = "https://127.0.0.1/v1/projects/p/locations/l/clusters/c"
            answer = {"name": "operation-1", "status": "DONE", "operationType": "UPDATE_CLUSTER", "targetLink": link}
        self.answer(code, answer)

    def answer(self, code, answer):
        text = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any


# The fake completes every operation immediately.
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.01))

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gke)
threading.Thread(target=server.serve_forever, daemon=True).start()
home = tempfile.mkdtemp()
with open(f"{home}/token", "w") as token:
    token.write("no-token")
os.environ.update(
    CLOUDSDK_CONFIG=home,
    KUBECONFIG=f"{home}/kubeconfig",
    CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=f"{home}/token",
    CLOUDSDK_CORE_DISABLE_USAGE_REPORTING="1",
    CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK="1",
)
for api in ("CONTAINER", "SERVICEUSAGE", "CLOUDRESOURCEMANAGER"):
    os.environ[f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}"] = f"{server_url()}/"
os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] = f"{server_url()}/compute/v1/"

from googlecloudsdk import gcloud_main  # noqa: E402
from googlecloudsdk.core import log  # noqa: E402

cli = gcloud_main.CreateCLI([])
answers = []
for step in given:
    requests.clear()
    fresh.clear()
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        log.Reset(out, err)
        try:
            cli.Execute(step["argv"][1:])
        except SystemExit as end:
            code = end.code
        except Exception as error:  # noqa: BLE001 a crash of the CLI is an answer too
            code = repr(error)
    answer = {"code": code, "output": err.getvalue(), "answer": out.getvalue(), "requests": list(requests)}
    answers.append(answer)
json.dump(answers, sys.stdout)
