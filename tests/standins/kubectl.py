"""A fake of `kubectl` with the nodes and objects of the state."""

import json
import sys
from pathlib import Path

from .cli import Command, CommandError, Tool, Unsupported, flags, print_json, query, yaml

_SHORT = {"no": "node", "ds": "daemonset", "ns": "namespace", "po": "pod", "cm": "configmap",
          "deploy": "deployment", "svc": "service", "crd": "customresourcedefinition"}
_CLUSTERED = {"node", "namespace", "customresourcedefinition", "clusterrole", "clusterrolebinding",
              "priorityclass", "runtimeclass", "storageclass", "deviceclass",
              "resourceslice"}


def _context(call):
    """Return the context of a call. A context that does not exist is an error."""
    name = call.get("--context") or call.data["currentContext"]
    if call.has("--context") and name not in call.data["contexts"]:
        raise CommandError(1, f'error: context "{name}" does not exist')
    context = call.data["contexts"].get(name)
    # Nobody is there to open the page.
    if isinstance(context, dict) and context.get("login") == "devicecode":
        raise CommandError(1, "error: getting credentials: exec: to sign in, use a web browser to open the page"
                           " https://microsoft.com/devicelogin and enter the code to authenticate.")
    return name


def _with_context(run):
    def wrapped(call):
        _context(call)
        if call.get("--dry-run", "none") not in ("none", "false"):
            call.mutates = False
        return run(call)

    return wrapped


def current_context(call):
    if not call.data["currentContext"]:
        raise CommandError(1, "error: current-context is not set")
    print(call.data["currentContext"])


def use_context(call):
    name = call.words[0] if call.words else ""
    if name not in call.data["contexts"]:
        raise CommandError(1, f'error: no context exists with the name: "{name}"')
    call.data["currentContext"] = name
    print(f'Switched to context "{name}".')


def get_contexts(call):
    stored = call.data["contexts"]
    for name in call.words:
        if name not in stored:
            raise CommandError(1, f'error: context {name} not found')
    if call.get("--output") != "name":
        raise Unsupported("kubectl config get-contexts without -o name")
    print("\n".join(call.words or sorted(stored)))


def view(call):
    name, stored = _context(call), call.data["contexts"]
    if call.has("--minify") and not name:
        raise CommandError(1, "error: current-context must exist in order to minify")
    contexts = {n: stored[n] if isinstance(stored, dict) else {} for n in ([name] if call.has("--minify") else stored)}
    found = {
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": name,
        "clusters": [{"name": n, "cluster": {"server": (a or {}).get("server", "https://192.0.2.1")}}
                     for n, a in contexts.items()],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in contexts],
        "users": [{"name": n, "user": {}} for n in contexts],
    }
    _print_result(call, found)


def _print_result(call, value):
    output = call.get("--output")
    if output == "json":
        print_json(value)
    elif output == "yaml":
        print(yaml().safe_dump(value), end="")
    elif output == "name":
        for each in value.get("items", [value]):
            print(_resource_name(each))
    elif output and output.startswith("jsonpath="):
        print(_jsonpath(value, output.removeprefix("jsonpath=")), end="")
    elif output in (None, "wide"):
        for each in value.get("items", [value]):
            print(each["metadata"]["name"])
    else:
        raise Unsupported(f"kubectl -o {output}")


def _jsonpath(value, text):
    if not (text.startswith("{.") and text.endswith("}")) or text.count("{") > 1:
        raise Unsupported(f"kubectl -o jsonpath={text}")
    path = text[2:-1].replace("\\.", "\0")
    for part in path.split("."):
        part = part.replace("\0", ".")
        name, _, index = part.partition("[")
        value = query(value, f'"{name}"' + (f"[{index}" if index else "")) if part else value
        if isinstance(value, list) and index == "*]":
            raise Unsupported(f"kubectl -o jsonpath={text}")
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _kind(text):
    text = text.lower().split(".")[0]
    text = _SHORT.get(text, text)
    return text[:-1] if text.endswith("s") and not text.endswith(("class", "status")) else text


def _resource_name(found):
    group = found.get("apiVersion", "v1").partition("/")
    suffix = f".{group[0]}" if group[1] else ""
    return f"{found['kind'].lower()}{suffix}/{found['metadata']['name']}"


def _matches_selector(selector, labels):
    """Return whether labels match a selector of equality and existence terms."""
    for term in filter(None, (selector or "").split(",")):
        if " in " in term or " notin " in term or "(" in term:
            raise Unsupported(f"kubectl selector {selector}")
        if "!=" in term:
            key, value = term.split("!=", 1)
            matches = labels.get(key) != value
        elif "=" in term:
            key, value = term.replace("==", "=").split("=", 1)
            matches = labels.get(key) == value
        elif term.startswith("!"):
            matches = term[1:] not in labels
        else:
            matches = term in labels
        if not matches:
            return False
    return True


def _not_found(kind, name):
    plural = kind if kind.endswith("s") else kind + "s"
    return CommandError(1, f'Error from server (NotFound): {plural} "{name}" not found')


def _objects_of_kind(call, kind):
    """Return the objects of a kind in the namespace of the call, by name."""
    if kind == "node":
        return dict(call.data["nodes"])
    found = {}
    for key, each in call.data["objects"].items():
        stored, namespace, name = key.split("/", 2)
        matches = call.has("--all-namespaces") or namespace in ("", call.get("--namespace", "default"))
        if stored == kind and matches:
            found[name if not call.has("--all-namespaces") else key] = each
    return found


def _kind_and_names(call):
    """Return (kind, names) of `kind name...` or `kind/name`."""
    if not call.words:
        raise CommandError(1, "error: You must specify the type of resource to get.")
    if "/" in call.words[0]:
        kinds = {_kind(each.split("/")[0]) for each in call.words}
        if len(kinds) > 1:
            raise Unsupported("kubectl with several kinds")
        return kinds.pop(), [each.split("/", 1)[1] for each in call.words]
    if "," in call.words[0]:
        raise Unsupported("kubectl with several kinds")
    return _kind(call.words[0]), call.words[1:]


def get(call):
    kind, names = _kind_and_names(call)
    stored = _objects_of_kind(call, kind)
    found = []
    for name in names:
        if name not in stored and not call.has("--ignore-not-found"):
            raise _not_found(kind, name)
        found += [stored[name]] if name in stored else []
    if len(names) == 1:
        if found:
            _print_result(call, found[0])
        return
    if not names:
        found = [each for each in stored.values()
                 if _matches_selector(call.get("--selector"), each["metadata"].get("labels") or {})]
    if not found and call.get("--output") is None:
        sys.stderr.write("No resources found\n")
    _print_result(call, {"apiVersion": "v1", "items": found, "kind": "List", "metadata": {"resourceVersion": ""}})


def _nodes(call):
    """Return the names of the nodes and the changes of `label` or `taint`."""
    kind, words = _kind_and_names(call)
    if kind != "node":
        raise Unsupported(f"kubectl {call.command} {kind}")
    changes = [each for each in words if "=" in each or each.endswith("-") or ":" in each]
    names = [each for each in words if each not in changes]
    if call.has("--selector") or call.has("--all"):
        names = [name for name, each in call.data["nodes"].items()
                 if _matches_selector(call.get("--selector"), each["metadata"].get("labels") or {})]
        if not names:
            print("No resources found")
    for name in names:
        if name not in call.data["nodes"]:
            raise _not_found("node", name)
    if not changes:
        raise CommandError(1, f"error: at least one {call.command} update is required")
    return names, changes


def label(call):
    names, changes = _nodes(call)
    for name in names:
        labels = call.data["nodes"][name]["metadata"].setdefault("labels", {})
        requested = dict(labels)
        for change in changes:
            if "=" not in change:
                if requested.pop(change[:-1], None) is None:
                    print(f'label "{change[:-1]}" not found.')
                continue
            key, value = change.split("=", 1)
            if requested.get(key, value) != value and not call.has("--overwrite"):
                raise CommandError(1, f"error: '{key}' already has a value ({requested[key]}), and"
                                   " --overwrite is false")
            requested[key] = value
        is_removed = requested.keys() < labels.keys()
        print(f"node/{name} {'not labeled' if requested == labels else 'unlabeled' if is_removed else 'labeled'}")
        if not _is_dry_run(call):
            call.data["nodes"][name]["metadata"]["labels"] = requested


def annotate(call):
    """Annotate a node. As with `label`, a change of a value requires --overwrite."""
    words, changes = call.words[1:], []
    if _kind(call.words[0]) != "node":
        raise Unsupported(f"kubectl annotate {call.words[0]}")
    name, *changes = words
    if name not in call.data["nodes"]:
        raise _not_found("node", name)
    requested = dict(call.data["nodes"][name]["metadata"].get("annotations") or {})
    for change in changes:
        if "=" not in change:
            requested.pop(change.removesuffix("-"), None)
            continue
        key, value = change.split("=", 1)
        if requested.get(key, value) != value and not call.has("--overwrite"):
            raise CommandError(1, f"error: --overwrite is false but found the following declared annotation(s):"
                               f" '{key}' already has a value ({requested[key]})")
        requested[key] = value
    print(f"node/{name} annotated")
    if not _is_dry_run(call):
        call.data["nodes"][name]["metadata"]["annotations"] = requested


def _merge_patch(stored, change):
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    stored = dict(stored) if isinstance(stored, dict) else {}
    for key, value in change.items():
        if value is None:
            stored.pop(key, None)
        else:
            stored[key] = _merge_patch(stored.get(key), value)
    return stored


def _json_patch(stored, operations):
    """Apply a JSON patch (RFC 6902) with `test`, `add`, `replace` and `remove` of fields of objects."""
    stored = json.loads(json.dumps(stored))
    for operation in operations:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        target = stored
        for part in parents:
            if part not in target:
                raise CommandError(1, "The request is invalid: the server rejected our request due to an error in our request")
            target = target[part]
        operator = operation["op"]
        if operator == "test":
            if target.get(last) != operation["value"]:
                raise CommandError(1, "The request is invalid: the server rejected our request due to an error in our request")
        elif operator == "remove":
            target.pop(last)
        elif operator in ("add", "replace"):
            target[last] = operation["value"]
        else:
            raise Unsupported(f"kubectl patch with {operator}")
    return stored


def patch(call):
    kind, name = _kind(call.words[0]), call.words[1]
    if kind != "node":
        raise Unsupported(f"kubectl patch {kind}")
    if name not in call.data["nodes"]:
        raise _not_found("node", name)
    change, stored = json.loads(call.get("--patch")), call.data["nodes"][name]
    output = call.get("--type", "strategic")
    if output not in ("merge", "json"):
        raise Unsupported(f"kubectl patch --type {output}")
    after = _merge_patch(stored, change) if output == "merge" else _json_patch(stored, change)
    print(f"node/{name} patched" + (" (no change)" if after == stored else ""))
    if not _is_dry_run(call):
        call.data["nodes"][name] = after


def _is_dry_run(call):
    return call.get("--dry-run", "none") not in ("none", "false")


def taint(call):
    names, changes = _nodes(call)
    for name in names:
        spec = call.data["nodes"][name]["spec"]
        stored = {(each["key"], each["effect"]): each for each in spec.get("taints", [])}
        before = dict(stored)
        for change in changes:
            body, _, effect = change.rstrip("-").partition(":")
            key, _, value = body.partition("=")
            same = [each for each in stored if each[0] == key and effect in ("", each[1])]
            if change.endswith("-"):
                if not same:
                    raise CommandError(1, f'error: taint "{change[:-1]}" not found')
                for each in same:
                    del stored[each]
                continue
            if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
                raise CommandError(1, f"error: invalid taint effect: {effect}, unsupported taint effect")
            if same and not call.has("--overwrite"):
                raise CommandError(1, f"error: node {name} already has {key} taint(s) with same effect(s)"
                                   " and --overwrite is false")
            stored[key, effect] = {"effect": effect, "key": key} | ({"value": value} if value else {})
        is_removed = len(stored) < len(before)
        print(f"node/{name} {'untainted' if is_removed else 'modified' if before else 'tainted'}")
        if not _is_dry_run(call):
            spec["taints"] = list(stored.values())
            if not stored:
                del spec["taints"]


def cordon(call):
    for name in call.words:
        if name not in call.data["nodes"]:
            raise _not_found("node", name)
        if call.command == "uncordon":
            call.data["nodes"][name]["spec"].pop("unschedulable", None)
        else:
            call.data["nodes"][name]["spec"]["unschedulable"] = True
        print(f"node/{name} {call.command}ed")
    if call.has("--selector") or not call.words:
        raise Unsupported(f"kubectl {call.command} without node names")


def _documents(call):
    source = call.get("--filename")
    paths = [Path(source)] if source != "-" else []
    if paths and paths[0].is_dir():
        paths = sorted(each for each in paths[0].iterdir() if each.suffix in (".yaml", ".yml", ".json"))
    try:
        text = "\n---\n".join(each.read_text(encoding="utf-8") for each in paths) or sys.stdin.read()
        return [each for each in yaml().safe_load_all(text) if each]
    except OSError as error:
        raise CommandError(1, f'error: the path "{source}" does not exist') from error
    except yaml().YAMLError as error:
        raise CommandError(1, f"error: error parsing {source}: {error}") from error


def _object_key(call, found):
    kind = found["kind"].lower()
    namespace = found["metadata"].get("namespace", call.get("--namespace", "default"))
    return f"{kind}/{'' if kind in _CLUSTERED else namespace}/{found['metadata']['name']}"


def apply(call):
    if call.has("--kustomize"):
        folder = Path(call.get("--kustomize"))
        if not (folder / "kustomization.yaml").exists():
            raise CommandError(1, f"error: unable to find one of 'kustomization.yaml' in directory '{folder}'")
        if not _is_dry_run(call):
            call.data["applied"].append({"context": _context(call), "kustomize": str(folder)})
        return
    if not call.has("--filename"):
        raise CommandError(1, "error: must specify one of -f and -k")
    for found in _documents(call):
        key = _object_key(call, found)
        stored = call.data["objects"].get(key)
        action = "created" if stored is None else "unchanged" if stored == found else "configured"
        if call.command in ("create", "create namespace") and stored is not None:
            raise CommandError(1, f'Error from server (AlreadyExists): {key.replace("//", "/")} already exists')
        print(f"{_resource_name(found)} {action}" + (" (dry run)" if _is_dry_run(call) else ""))
        if not _is_dry_run(call):
            call.data["objects"][key] = _completed_pod(call, found) if key.startswith("pod/") else found
            call.data["applied"].append({"context": _context(call), "object": key})


def _completed_pod(call, pod):
    """Complete a pod that fits a node immediately. Its log lists the requested GPUs like `nvidia-smi -L`."""
    requested, tolerated = {}, pod["spec"].get("tolerations", [])
    claims = [call.data["objects"].get(f"resourceclaim/{call.get('--namespace', 'default')}/{each['resourceClaimName']}")
              for each in pod["spec"].get("resourceClaims", [])]
    if None in claims:
        return pod | {"status": {"phase": "Pending"}}
    for each in pod["spec"]["containers"]:
        requested |= (each.get("resources") or {}).get("limits") or {}
    for node in call.data["nodes"].values():
        labels, taints = node["metadata"].get("labels") or {}, node["spec"].get("taints", [])
        slices = [each["spec"] for key, each in call.data["objects"].items() if key.startswith("resourceslice/")]
        devices = sum(len(each["devices"]) for each in slices if each["nodeName"] == node["metadata"]["name"])
        matches = all(labels.get(k) == v for k, v in pod["spec"].get("nodeSelector", {}).items())
        stored = node["status"]["allocatable"]
        has_capacity = all(int(stored.get(each, "0")) >= int(count) for each, count in requested.items())
        tolerates_all = all(any(_tolerates(each, taint) for each in tolerated) for taint in taints)
        if matches and has_capacity and tolerates_all and len(claims) <= devices:
            count = len(claims) + sum(int(each) for name, each in requested.items() if "nvidia.com/" in name)
            seen = [f"GPU {number}: NVIDIA Stand-In (UUID: GPU-{number})" for number in range(count)]
            call.data["logs"][pod["metadata"]["name"]] = "\n".join(seen)
            return pod | {"status": {"phase": "Succeeded"}}
    condition = {"type": "PodScheduled", "status": "False", "message": "0 nodes are available"}
    return pod | {"status": {"phase": "Pending", "conditions": [condition]}}


def _tolerates(toleration, taint):
    """Return whether a toleration matches a taint. PreferNoSchedule does not prevent scheduling."""
    if taint["effect"] == "PreferNoSchedule":
        return True
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("key", taint["key"]) != taint["key"]:
        return False
    exists = toleration.get("operator", "Equal") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")


def delete(call):
    if call.has("--filename"):
        keys = [_object_key(call, each) for each in _documents(call)]
    else:
        kind, names = _kind_and_names(call)
        namespace = "" if kind in _CLUSTERED else call.get("--namespace", "default")
        keys = [f"{kind}/{namespace}/{name}" for name in names]
        if not names:
            raise Unsupported("kubectl delete without names")
    for key in keys:
        kind, _, name = key.split("/", 2)
        stored = call.data["nodes"] if kind == "node" else call.data["objects"]
        if stored.pop(name if kind == "node" else key, None) is not None:
            print(f'{kind} "{name}" deleted')
        elif not call.has("--ignore-not-found"):
            raise _not_found(kind, name)


def wait(call):
    """Return immediately, because objects are always ready. As in kubectl, no matching object is an error."""
    kind, names = _kind_and_names(call)
    stored = _objects_of_kind(call, kind)
    for name in names:
        if name not in stored and call.get("--for") != "delete":
            raise _not_found(kind, name)
        if name in stored and call.get("--for") == "delete":
            raise CommandError(1, f"error: timed out waiting for the condition on {kind}s/{name}")
    if not names and not any(_matches_selector(call.get("--selector"), each["metadata"].get("labels") or {})
                             for each in stored.values()):
        raise CommandError(1, "error: no matching resources found")


def run(call):
    name = call.words[0] if call.words else ""
    key = f"pod/{call.get('--namespace', 'default')}/{name}"
    if key in call.data["objects"]:
        raise CommandError(1, f'Error from server (AlreadyExists): pods "{name}" already exists')
    call.data["objects"][key] = {
        "apiVersion": "v1", "kind": "Pod", "status": {"phase": "Succeeded"},
        "metadata": {"name": name, "namespace": call.get("--namespace", "default")},
        "spec": {"containers": [{"name": name, "image": call.get("--image"),
                                 "command": call.get("--", [])}]},
    }
    print(call.data["logs"].get(name, "") if call.has("--attach") else f"pod/{name} created")


def logs(call):
    name = call.words[0].split("/")[-1] if call.words else ""
    namespace = call.get("--namespace", "default")
    if name not in call.data["logs"] and f"pod/{namespace}/{name}" not in call.data["objects"]:
        raise _not_found("pod", name)
    print(call.data["logs"].get(name, ""))


def rollout(call):
    kind, names = _kind_and_names(call)
    for name in names:
        if name not in _objects_of_kind(call, kind):
            raise _not_found(kind, name)
        print(f'{kind} "{name}" successfully rolled out')


def version(call):
    _print_result(call, {"clientVersion": {"gitVersion": "v1.32.4"}, "metadata": {"name": "v1.32.4"}})


def _unknown(_name, arguments):
    return CommandError(1, f"error: unknown flag: {arguments[0].partition('=')[0]}\nSee 'kubectl --help'"
                        " for usage.")


_GLOBAL = flags("", "context kubeconfig namespace request-timeout cluster user v")
_READ = flags("all-namespaces ignore-not-found no-headers show-labels minify flatten raw client",
              "output selector field-selector")
_SET = flags("overwrite all", "selector dry-run field-manager")
_WRITE = flags("server-side force-conflicts ignore-not-found force all recursive",
               "filename kustomize dry-run wait timeout cascade grace-period field-manager validate"
               " selector output")
_WAIT = flags("all all-namespaces", "for timeout selector")
_COMMANDS = {
    "config current-context": (current_context, False, {}),
    "config use-context": (use_context, False, {}),
    "config get-contexts": (get_contexts, False, _READ),
    "config view": (view, False, _READ),
    "version": (version, False, _READ),
    "get": (get, False, _READ),
    "label": (label, True, _SET),
    "taint": (taint, True, _SET),
    "annotate": (annotate, True, _SET),
    "patch": (patch, True, flags("", "type patch dry-run field-manager")),
    "cordon": (cordon, True, _SET),
    "uncordon": (cordon, True, _SET),
    "drain": (cordon, True, _SET | flags("ignore-daemonsets delete-emptydir-data force",
                                         "timeout grace-period")),
    "apply": (apply, True, _WRITE),
    "create": (apply, True, _WRITE),
    "delete": (delete, True, _WRITE),
    "wait": (wait, False, _WAIT),
    "rollout status": (rollout, False, _WAIT),
    "run": (run, True, flags("attach rm stdin tty command quiet", "image restart overrides labels")),
    "logs": (logs, False, flags("follow previous", "container tail selector")),
}

_UNREACHABLE = "Unable to connect to the server: dial tcp 192.0.2.1:443: i/o timeout"


def _outage(argv):
    """The message of a command without a server, as kubectl 1.36.4 prints it."""
    if "apply" not in argv:
        return _UNREACHABLE
    return ('error: error validating "manifests": error validating data: failed to download openapi: Get'
            ' "https://192.0.2.1:443/openapi/v2?timeout=32s": dial tcp 192.0.2.1:443: i/o timeout; if you choose to'
            " ignore these errors, turn validation off with --validate=false")


_BUSY = "Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later"
TOOL = Tool(
    name="kubectl",
    commands={name: Command(_with_context(run), *rest) for name, (run, *rest) in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={"-n": "--namespace", "-o": "--output", "-l": "--selector", "-A": "--all-namespaces",
             "-f": "--filename", "-k": "--kustomize", "-c": "--container", "-i": "--stdin",
             "-t": "--tty", "-v": "--v", "-q": "--quiet"},
    unknown=_unknown,
    outage=_outage,
    errors={
        "unreachable": lambda _: CommandError(1, _UNREACHABLE),
        "throttled": lambda _: CommandError(1, _BUSY),
        "expired": lambda _: CommandError(1, "error: You must be logged in to the server (Unauthorized)"),
        "quota": lambda _: CommandError(1, "Error from server (Forbidden): exceeded quota"),
    },
    has_clock=False,
)
