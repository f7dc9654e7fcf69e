"""Runs Azure CLI commands in one process, against a fake Azure on loopback that stores resources in a dictionary.

In: {"offline": path of az_offline.py, "steps": [{"argv": [...], "exists": bool, "made": bool}]}. `exists` is true
if the resource of the command exists, and `made` if an earlier step created it. Out: for each step
{"code", "output", "answer", "requests"}.
"""

import base64
import contextlib
import http.server
import io
import json
import logging
import os
import runpy
import sys
import tempfile
import threading
import time

given = json.load(sys.stdin)
os.environ["AZURE_CONFIG_DIR"] = tempfile.mkdtemp()
os.environ["KUBECONFIG"] = os.path.join(os.environ["AZURE_CONFIG_DIR"], "kubeconfig")
stored, fresh, requests, step = {}, set(), [], {}

KUBECONFIG = b"""apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
"""


# Fields that every response has, and that no request sets.
IDENTITY = {"clientId": "0", "objectId": "0", "resourceId": "/subscriptions/0/resourceGroups/g/x/y/z/kubelet"}
SUBNET = "/subscriptions/0/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/nodes"
GIVEN_BY_AZURE = {"maxAgentPools": 100, "identityProfile": {"kubeletidentity": IDENTITY}}


def pool(path):
    """A pool that this run did not create, as Azure returns it."""
    argv = step["argv"]
    on = any(flag in argv for flag in ("--update-cluster-autoscaler", "--disable-cluster-autoscaler"))
    properties = {
        "count": 99,
        "vmSize": "Standard_D4s_v5",
        "mode": "User",
        "osType": "Linux",
        "type": "VirtualMachineScaleSets",
        "orchestratorVersion": "1.32",
        "currentOrchestratorVersion": "1.32.1",
        "enableAutoScaling": on,
        "provisioningState": "Succeeded",
        **({"minCount": 1, "maxCount": 100} if on else {}),
        # Some outbound types require a network of the user.
        **({"vnetSubnetID": SUBNET} if {"userDefinedRouting", "userAssignedNATGateway"} & set(argv) else {}),
    }
    return {"id": path, "name": path.rsplit("/", 1)[1], "properties": properties}


def access():
    """Who can reach and use a cluster that this run did not create. az refuses some changes of it."""
    argv = step["argv"]
    is_private = any(flag in argv for flag in ("--enable-public-fqdn", "--disable-public-fqdn"))
    flags = ("--aad-admin-group-object-ids", "--aad-tenant-id", "--enable-azure-rbac", "--disable-azure-rbac")
    is_managed = "--enable-aad" not in argv and any(flag in argv for flag in flags)
    return {
        **({"apiServerAccessProfile": {"enablePrivateCluster": True}} if is_private else {}),
        **({"aadProfile": {"managed": True}} if is_managed else {}),
    }


def identity():
    """The identity of a cluster that this run did not create. The one of its nodes requires one of the user."""
    if "--assign-kubelet-identity" not in step["argv"]:
        return {"type": "SystemAssigned"}
    name = "/subscriptions/0/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/control"
    return {"type": "UserAssigned", "userAssignedIdentities": {name: {"principalId": "0", "clientId": "0"}}}


def cluster(path):
    """A cluster that this run did not create, as Azure returns it."""
    return {
        "id": path,
        "name": path.rsplit("/", 1)[1],
        "location": "westeurope",
        "sku": {"name": "Base", "tier": "Free"},
        "identity": identity(),
        "properties": {
            **GIVEN_BY_AZURE,
            **access(),
            "oidcIssuerProfile": {"enabled": True},
            "kubernetesVersion": "1.32",
            "currentKubernetesVersion": "1.32.1",
            "provisioningState": "Succeeded",
            "networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay"},
            "agentPoolProfiles": [{**pool(path + "/agentPools/system")["properties"], "name": "system"}],
        },
    }


def look(path):
    if path in stored and (step["made"] or path in fresh):
        return stored[path]
    parts = path.split("/")
    kind = parts[-2].lower() if len(parts) > 1 else ""
    if not step["exists"] and kind in ("agentpools", "managedclusters"):
        return None
    if kind == "agentpools":
        return pool(path)
    if kind == "managedclusters":
        return cluster(path)
    if kind == "maintenanceconfigurations":
        return {"id": path, "name": parts[-1], "properties": {}} if step["exists"] else None
    if parts[-1] == "maintenanceConfigurations":
        names = [argument for flag, argument in zip(step["argv"], step["argv"][1:]) if flag == "--name"]
        return {"value": [look(f"{path}/{name}") for name in names] if step["exists"] else []}
    if kind == "userassignedidentities":
        ids = {"principalId": "0", "clientId": "0"}
        return {"id": path, "name": parts[-1], "location": "westeurope", "properties": ids}
    if kind == "resourcegroups":
        return {"id": path, "name": parts[-1], "location": "westeurope"}
    return {"value": []}


class Azure(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle_any(self):
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size).decode()
        path = self.path.split("?")[0]
        if self.command != "GET":
            requests.append({"method": self.command, "path": path, "body": json.loads(body) if body else None})
        code, answer = 200, {}
        if self.command == "PUT":
            answer = {"id": path, "name": path.rsplit("/", 1)[1], **json.loads(body)}
            properties = answer.setdefault("properties", {})
            properties["provisioningState"] = "Succeeded"
            if "/managedClusters/" in path and "/agentPools/" not in path:
                given_by_user = {key: value for key, value in properties.items() if value is not None}
                answer["properties"] = GIVEN_BY_AZURE | given_by_user
            if not step["exists"]:
                stored[path] = answer
                fresh.add(path)
        elif self.command == "DELETE":
            code = 204
        elif self.command == "POST" and "Credential" in path:
            answer = {"kubeconfigs": [{"name": "c", "value": base64.b64encode(KUBECONFIG).decode()}]}
        elif self.command == "GET" and path.endswith("/agentPools"):
            names = [argument for flag, argument in zip(step["argv"], step["argv"][1:]) if flag == "--name"]
            answer = {"value": [pool(f"{path}/{name}") for name in names] if step["exists"] else []}
        elif self.command == "GET" and "/roleDefinitions" in path:
            role = {"roleName": "Network Contributor"}
            answer = {"value": [{"id": f"{path}/0", "name": "0", "properties": role}]}
        elif self.command == "GET":
            answer = look(path)
            if answer is None:
                code, answer = 404, {"error": {"code": "ResourceNotFound", "message": "not found"}}
        text = json.dumps(answer).encode() if code != 204 else b""
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_any


# The fake completes every operation immediately.
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.01))

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Azure)
threading.Thread(target=server.serve_forever, daemon=True).start()

# Replaces the login. The replacement stays in place after the command in the script has run.
arguments, sys.argv = sys.argv, ["az", "version"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    runpy.run_path(given["offline"])
sys.argv = arguments

from azure.cli.core import get_default_cli  # noqa: E402

class LogCapture(logging.StreamHandler):
    """Captures the log of the CLI, whose own handler keeps the standard error of the first command."""

    def __init__(self):
        super().__init__(io.StringIO())
        self.setLevel(logging.WARNING)


answers = []
for step in given["steps"]:
    requests.clear()
    fresh.clear()
    out, err, logged = io.StringIO(), io.StringIO(), LogCapture()
    logging.getLogger("cli").addHandler(logged)
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        cli = get_default_cli()
        cli.cloud.endpoints.resource_manager = f"http://127.0.0.1:{server.server_port}"
        try:
            code = cli.invoke(step["argv"][1:], out_file=out)
        except SystemExit as end:
            code = end.code
        except Exception as error:  # noqa: BLE001 a crash of the CLI is an answer too
            code = repr(error)
    logging.getLogger("cli").removeHandler(logged)
    answer = {"code": code, "output": err.getvalue() + logged.stream.getvalue(), "answer": out.getvalue(), "requests": list(requests)}
    answers.append(answer)
json.dump(answers, sys.stdout)
