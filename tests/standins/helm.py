"""A fake of `helm`. The state has the chart, version, values and revision of each release."""

import json
from pathlib import Path

from .cli import Command, CommandError, Tool, Unsupported, flags, yaml

_CRD = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%s.example.com, annotations: {version: "%s"}}
"""


def _context(call):
    """Return the context of a call. A context that does not exist is an error."""
    name = call.get("--kube-context")
    if name is not None and name not in call.data["contexts"]:
        raise CommandError(1, f'Error: kubernetes cluster unreachable: context "{name}" does not exist')
    return name or call.data["currentContext"]


def _chart(call, words):
    """Return the chart of a call. The version is required."""
    if len(words) != 1:
        raise CommandError(1, f'Error: "helm {call.command}" requires 1 chart')
    name, repository = words[0], call.get("--repo")
    if name.startswith("oci://") == (repository is not None):
        raise CommandError(1, f"Error: chart {name} is found either by its URL or in --repo")
    if not call.has("--version"):
        raise Unsupported("helm without --version")
    return {"chart": name, "repository": repository, "version": call.get("--version")}


def upgrade(call):
    if not call.has("--install"):
        raise Unsupported("helm upgrade without --install")
    if not call.words:
        raise CommandError(1, 'Error: "helm upgrade" requires 2 arguments')
    release, namespace = call.words[0], call.get("--namespace", "default")
    if len(release) > 53:
        raise CommandError(1, f"Error: release name is invalid: {release}")
    found = _chart(call, call.words[1:])
    for path in call.get("--values", []):
        values = yaml().safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(values, (dict, type(None))):
            raise CommandError(1, f"Error: failed to parse {path}")
        found["values"] = values or {}
    created = f"namespace//{namespace}" in call.data["objects"]
    applied = any(each.get("kustomize", "").endswith("/namespaces") for each in call.data["applied"])
    if namespace not in ("default", "kube-system") and not (created or applied or call.has("--create-namespace")):
        raise CommandError(1, f'Error: create: failed to create: namespaces "{namespace}" not found')
    found["context"] = _context(call)
    is_foreign = f"{namespace}/{release}" in call.data["foreign"]
    if is_foreign and not call.has("--take-ownership"):
        raise CommandError(1, "Error: Unable to continue with install: resource exists and cannot be imported into the "
                           "current release: invalid ownership metadata")
    previous = call.data["releases"].get(f"{namespace}/{release}", {"revision": 0})
    found["revision"] = previous["revision"] + 1
    call.data["releases"][f"{namespace}/{release}"] = found
    print(json.dumps({"name": release, "revision": found["revision"]}))


def show_crds(call):
    found = _chart(call, call.words)
    print(_CRD % (found["chart"].rsplit("/", 1)[-1], found["version"]))


def uninstall(call):
    namespace = call.get("--namespace", "default")
    for release in call.words:
        if call.data["releases"].pop(f"{namespace}/{release}", None) is None and not call.has("--ignore-not-found"):
            raise CommandError(1, f"Error: uninstall: Release not loaded: {release}: release: not found")


def _unknown(name, arguments):
    return CommandError(1, f"Error: unknown flag: {arguments[0]}")


TOOL = Tool(
    name="helm",
    commands={
        "upgrade": Command(upgrade, True, flags("install wait create-namespace take-ownership", "repo version timeout", "", "values")),
        "show crds": Command(show_crds, False, flags("", "repo version")),
        "uninstall": Command(uninstall, True, flags("ignore-not-found wait", "timeout")),
    },
    flags=flags("", "kube-context namespace kubeconfig"),
    aliases={"-n": "--namespace", "-f": "--values", "-i": "--install"},
    unknown=_unknown,
    outage="Error: Kubernetes cluster unreachable: dial tcp 192.0.2.1:443: i/o timeout",
    has_clock=False,
)
