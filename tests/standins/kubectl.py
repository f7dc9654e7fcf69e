"""`kubectl` over the nodes and the few objects of the state."""

import json
import sys
from pathlib import Path

import yaml

from .cli import Command, Refused, Tool, Unsupported, flags, query, show

_SHORT = {"no": "node", "ds": "daemonset", "ns": "namespace", "po": "pod", "cm": "configmap",
          "deploy": "deployment", "svc": "service", "crd": "customresourcedefinition"}
_CLUSTERED = {"node", "namespace", "customresourcedefinition", "clusterrole", "clusterrolebinding",
              "priorityclass", "runtimeclass", "storageclass", "deviceclass",
              "resourceslice"}


def _context(call):
    """The context of this call, which must exist."""
    name = call.get("--context") or call.data["currentContext"]
    if call.has("--context") and name not in call.data["contexts"]:
        raise Refused(1, f'error: context "{name}" does not exist')
    return name


def _framed(run):
    def framed(call):
        _context(call)
        if call.get("--dry-run", "none") not in ("none", "false"):
            call.mutates = False
        return run(call)

    return framed


def current_context(call):
    if not call.data["currentContext"]:
        raise Refused(1, "error: current-context is not set")
    print(call.data["currentContext"])


def use_context(call):
    name = call.words[0] if call.words else ""
    if name not in call.data["contexts"]:
        raise Refused(1, f'error: no context exists with the name: "{name}"')
    call.data["currentContext"] = name
    print(f'Switched to context "{name}".')


def get_contexts(call):
    held = call.data["contexts"]
    for name in call.words:
        if name not in held:
            raise Refused(1, f'error: context {name} not found')
    if call.get("--output") != "name":
        raise Unsupported("kubectl config get-contexts without -o name")
    print("\n".join(call.words or sorted(held)))


def view(call):
    name, held = _context(call), call.data["contexts"]
    if call.has("--minify") and not name:
        raise Refused(1, "error: current-context must exist in order to minify")
    about = {n: held[n] if isinstance(held, dict) else {} for n in ([name] if call.has("--minify") else held)}
    found = {
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": name,
        "clusters": [{"name": n, "cluster": {"server": (a or {}).get("server", "https://192.0.2.1")}}
                     for n, a in about.items()],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in about],
        "users": [{"name": n, "user": {}} for n in about],
    }
    _answer(call, found)


def _answer(call, value):
    form = call.get("--output")
    if form == "json":
        show(value)
    elif form == "yaml":
        print(yaml.safe_dump(value), end="")
    elif form == "name":
        for each in value.get("items", [value]):
            print(_label(each))
    elif form and form.startswith("jsonpath="):
        print(_jsonpath(value, form.removeprefix("jsonpath=")), end="")
    elif form in (None, "wide"):
        for each in value.get("items", [value]):
            print(each["metadata"]["name"])
    else:
        raise Unsupported(f"kubectl -o {form}")


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


def _label(found):
    group = found.get("apiVersion", "v1").partition("/")
    suffix = f".{group[0]}" if group[1] else ""
    return f"{found['kind'].lower()}{suffix}/{found['metadata']['name']}"


def _selects(selector, labels):
    """Equality and existence selectors, joined by commas."""
    for term in filter(None, (selector or "").split(",")):
        if " in " in term or " notin " in term or "(" in term:
            raise Unsupported(f"kubectl selector {selector}")
        if "!=" in term:
            key, value = term.split("!=", 1)
            fits = labels.get(key) != value
        elif "=" in term:
            key, value = term.replace("==", "=").split("=", 1)
            fits = labels.get(key) == value
        elif term.startswith("!"):
            fits = term[1:] not in labels
        else:
            fits = term in labels
        if not fits:
            return False
    return True


def _missing(kind, name):
    plural = kind if kind.endswith("s") else kind + "s"
    return Refused(1, f'Error from server (NotFound): {plural} "{name}" not found')


def _held(call, kind):
    """Name and object of everything of this kind in the namespace of the call."""
    if kind == "node":
        return dict(call.data["nodes"])
    found = {}
    for key, each in call.data["objects"].items():
        held, space, name = key.split("/", 2)
        fits = call.has("--all-namespaces") or space in ("", call.get("--namespace", "default"))
        if held == kind and fits:
            found[name if not call.has("--all-namespaces") else key] = each
    return found


def _words(call):
    """(kind, names) of `kind name...`, `kind/name` or `kind1,kind2`."""
    if not call.words:
        raise Refused(1, "error: You must specify the type of resource to get.")
    if "/" in call.words[0]:
        kinds = {_kind(each.split("/")[0]) for each in call.words}
        if len(kinds) > 1:
            raise Unsupported("kubectl with several kinds")
        return kinds.pop(), [each.split("/", 1)[1] for each in call.words]
    if "," in call.words[0]:
        raise Unsupported("kubectl with several kinds")
    return _kind(call.words[0]), call.words[1:]


def get(call):
    kind, names = _words(call)
    held = _held(call, kind)
    found = []
    for name in names:
        if name not in held and not call.has("--ignore-not-found"):
            raise _missing(kind, name)
        found += [held[name]] if name in held else []
    if len(names) == 1:
        if found:
            _answer(call, found[0])
        return
    if not names:
        found = [each for each in held.values()
                 if _selects(call.get("--selector"), each["metadata"].get("labels") or {})]
    if not found and call.get("--output") is None:
        sys.stderr.write("No resources found\n")
    _answer(call, {"apiVersion": "v1", "items": found, "kind": "List", "metadata": {"resourceVersion": ""}})


def _nodes(call):
    """The nodes a label, taint or cordon names, and the changes after them."""
    kind, words = _words(call)
    if kind != "node":
        raise Unsupported(f"kubectl {call.command} {kind}")
    changes = [each for each in words if "=" in each or each.endswith("-") or ":" in each]
    names = [each for each in words if each not in changes]
    if call.has("--selector") or call.has("--all"):
        names = [name for name, each in call.data["nodes"].items()
                 if _selects(call.get("--selector"), each["metadata"].get("labels") or {})]
        if not names:
            print("No resources found")
    for name in names:
        if name not in call.data["nodes"]:
            raise _missing("node", name)
    if not changes:
        raise Refused(1, f"error: at least one {call.command} update is required")
    return names, changes


def label(call):
    names, changes = _nodes(call)
    for name in names:
        labels = call.data["nodes"][name]["metadata"].setdefault("labels", {})
        wanted = dict(labels)
        for change in changes:
            if "=" not in change:
                if wanted.pop(change[:-1], None) is None:
                    print(f'label "{change[:-1]}" not found.')
                continue
            key, value = change.split("=", 1)
            if wanted.get(key, value) != value and not call.has("--overwrite"):
                raise Refused(1, f"error: '{key}' already has a value ({wanted[key]}), and"
                              " --overwrite is false")
            wanted[key] = value
        gone = wanted.keys() < labels.keys()
        print(f"node/{name} {'not labeled' if wanted == labels else 'unlabeled' if gone else 'labeled'}")
        if not _dry(call):
            call.data["nodes"][name]["metadata"]["labels"] = wanted


def annotate(call):
    """Like `label`; kubectl asks for --overwrite here too."""
    words, changes = call.words[1:], []
    if _kind(call.words[0]) != "node":
        raise Unsupported(f"kubectl annotate {call.words[0]}")
    name, *changes = words
    if name not in call.data["nodes"]:
        raise _missing("node", name)
    wanted = dict(call.data["nodes"][name]["metadata"].get("annotations") or {})
    for change in changes:
        if "=" not in change:
            wanted.pop(change.removesuffix("-"), None)
            continue
        key, value = change.split("=", 1)
        if wanted.get(key, value) != value and not call.has("--overwrite"):
            raise Refused(1, f"error: --overwrite is false but found the following declared annotation(s):"
                          f" '{key}' already has a value ({wanted[key]})")
        wanted[key] = value
    print(f"node/{name} annotated")
    if not _dry(call):
        call.data["nodes"][name]["metadata"]["annotations"] = wanted


def _merged(held, change):
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    held = dict(held) if isinstance(held, dict) else {}
    for key, value in change.items():
        if value is None:
            held.pop(key, None)
        else:
            held[key] = _merged(held.get(key), value)
    return held


def _patched(held, operations):
    """RFC 6902, as far as `test`, `add`, `replace` and `remove` of what a map holds."""
    held = json.loads(json.dumps(held))
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = held
        for part in way:
            if part not in place:
                raise Refused(1, "The request is invalid: the server rejected our request due to an error in our request")
            place = place[part]
        what = operation["op"]
        if what == "test":
            if place.get(last) != operation["value"]:
                raise Refused(1, "The request is invalid: the server rejected our request due to an error in our request")
        elif what == "remove":
            place.pop(last)
        elif what in ("add", "replace"):
            place[last] = operation["value"]
        else:
            raise Unsupported(f"kubectl patch with {what}")
    return held


def patch(call):
    kind, name = _kind(call.words[0]), call.words[1]
    if kind != "node":
        raise Unsupported(f"kubectl patch {kind}")
    if name not in call.data["nodes"]:
        raise _missing("node", name)
    change, held = json.loads(call.get("--patch")), call.data["nodes"][name]
    form = call.get("--type", "strategic")
    if form not in ("merge", "json"):
        raise Unsupported(f"kubectl patch --type {form}")
    after = _merged(held, change) if form == "merge" else _patched(held, change)
    print(f"node/{name} patched" + (" (no change)" if after == held else ""))
    if not _dry(call):
        call.data["nodes"][name] = after


def _dry(call):
    return call.get("--dry-run", "none") not in ("none", "false")


def taint(call):
    names, changes = _nodes(call)
    for name in names:
        spec = call.data["nodes"][name]["spec"]
        held = {(each["key"], each["effect"]): each for each in spec.get("taints", [])}
        before = dict(held)
        for change in changes:
            body, _, effect = change.rstrip("-").partition(":")
            key, _, value = body.partition("=")
            same = [each for each in held if each[0] == key and effect in ("", each[1])]
            if change.endswith("-"):
                if not same:
                    raise Refused(1, f'error: taint "{change[:-1]}" not found')
                for each in same:
                    del held[each]
                continue
            if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
                raise Refused(1, f"error: invalid taint effect: {effect}, unsupported taint effect")
            if same and not call.has("--overwrite"):
                raise Refused(1, f"error: node {name} already has {key} taint(s) with same effect(s)"
                              " and --overwrite is false")
            held[key, effect] = {"effect": effect, "key": key} | ({"value": value} if value else {})
        gone = len(held) < len(before)
        print(f"node/{name} {'untainted' if gone else 'modified' if before else 'tainted'}")
        if not _dry(call):
            spec["taints"] = list(held.values())
            if not held:
                del spec["taints"]


def cordon(call):
    for name in call.words:
        if name not in call.data["nodes"]:
            raise _missing("node", name)
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
        return [each for each in yaml.safe_load_all(text) if each]
    except OSError as error:
        raise Refused(1, f'error: the path "{source}" does not exist') from error
    except yaml.YAMLError as error:
        raise Refused(1, f"error: error parsing {source}: {error}") from error


def _key(call, found):
    kind = found["kind"].lower()
    space = found["metadata"].get("namespace", call.get("--namespace", "default"))
    return f"{kind}/{'' if kind in _CLUSTERED else space}/{found['metadata']['name']}"


def apply(call):
    if call.has("--kustomize"):
        folder = Path(call.get("--kustomize"))
        if not (folder / "kustomization.yaml").exists():
            raise Refused(1, f"error: unable to find one of 'kustomization.yaml' in directory '{folder}'")
        if not _dry(call):
            call.data["applied"].append({"context": _context(call), "kustomize": str(folder)})
        return
    if not call.has("--filename"):
        raise Refused(1, "error: must specify one of -f and -k")
    for found in _documents(call):
        key = _key(call, found)
        held = call.data["objects"].get(key)
        word = "created" if held is None else "unchanged" if held == found else "configured"
        if call.command in ("create", "create namespace") and held is not None:
            raise Refused(1, f'Error from server (AlreadyExists): {key.replace("//", "/")} already exists')
        print(f"{_label(found)} {word}" + (" (dry run)" if _dry(call) else ""))
        if not _dry(call):
            call.data["objects"][key] = _ended(call, found) if key.startswith("pod/") else found
            call.data["applied"].append({"context": _context(call), "object": key})


def _ended(call, pod):
    """A pod that finds a node has ended well at once; `nvidia-smi -L` saw a GPU for each it asked for."""
    wanted, tolerated = {}, pod["spec"].get("tolerations", [])
    claims = [call.data["objects"].get(f"resourceclaim/{call.get('--namespace', 'default')}/{each['resourceClaimName']}")
              for each in pod["spec"].get("resourceClaims", [])]
    if None in claims:
        return pod | {"status": {"phase": "Pending"}}
    for each in pod["spec"]["containers"]:
        wanted |= (each.get("resources") or {}).get("limits") or {}
    for node in call.data["nodes"].values():
        labels, taints = node["metadata"].get("labels") or {}, node["spec"].get("taints", [])
        slices = [each["spec"] for key, each in call.data["objects"].items() if key.startswith("resourceslice/")]
        devices = sum(len(each["devices"]) for each in slices if each["nodeName"] == node["metadata"]["name"])
        fits = all(labels.get(k) == v for k, v in pod["spec"].get("nodeSelector", {}).items())
        held = node["status"]["allocatable"]
        room = all(int(held.get(each, "0")) >= int(count) for each, count in wanted.items())
        open_to = all(any(_tolerates(each, taint) for each in tolerated) for taint in taints)
        if fits and room and open_to and len(claims) <= devices:
            count = len(claims) + sum(int(each) for name, each in wanted.items() if "nvidia.com/" in name)
            seen = [f"GPU {number}: NVIDIA Stand-In (UUID: GPU-{number})" for number in range(count)]
            call.data["logs"][pod["metadata"]["name"]] = "\n".join(seen)
            return pod | {"status": {"phase": "Succeeded"}}
    waits = {"type": "PodScheduled", "status": "False", "message": "0 nodes are available"}
    return pod | {"status": {"phase": "Pending", "conditions": [waits]}}


def _tolerates(toleration, taint):
    """As the scheduler reads them; a preference keeps no pod away."""
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
        keys = [_key(call, each) for each in _documents(call)]
    else:
        kind, names = _words(call)
        space = "" if kind in _CLUSTERED else call.get("--namespace", "default")
        keys = [f"{kind}/{space}/{name}" for name in names]
        if not names:
            raise Unsupported("kubectl delete without names")
    for key in keys:
        kind, _, name = key.split("/", 2)
        held = call.data["nodes"] if kind == "node" else call.data["objects"]
        if held.pop(name if kind == "node" else key, None) is not None:
            print(f'{kind} "{name}" deleted')
        elif not call.has("--ignore-not-found"):
            raise _missing(kind, name)


def wait(call):
    """Objects are ready at once; a wait for nothing fails as it really does."""
    kind, names = _words(call)
    held = _held(call, kind)
    for name in names:
        if name not in held and call.get("--for") != "delete":
            raise _missing(kind, name)
        if name in held and call.get("--for") == "delete":
            raise Refused(1, f"error: timed out waiting for the condition on {kind}s/{name}")
    if not names and not any(_selects(call.get("--selector"), each["metadata"].get("labels") or {})
                             for each in held.values()):
        raise Refused(1, "error: no matching resources found")


def run(call):
    name = call.words[0] if call.words else ""
    key = f"pod/{call.get('--namespace', 'default')}/{name}"
    if key in call.data["objects"]:
        raise Refused(1, f'Error from server (AlreadyExists): pods "{name}" already exists')
    call.data["objects"][key] = {
        "apiVersion": "v1", "kind": "Pod", "status": {"phase": "Succeeded"},
        "metadata": {"name": name, "namespace": call.get("--namespace", "default")},
        "spec": {"containers": [{"name": name, "image": call.get("--image"),
                                 "command": call.get("--", [])}]},
    }
    print(call.data["logs"].get(name, "") if call.has("--attach") else f"pod/{name} created")


def logs(call):
    name = call.words[0].split("/")[-1] if call.words else ""
    space = call.get("--namespace", "default")
    if name not in call.data["logs"] and f"pod/{space}/{name}" not in call.data["objects"]:
        raise _missing("pod", name)
    print(call.data["logs"].get(name, ""))


def rollout(call):
    kind, names = _words(call)
    for name in names:
        if name not in _held(call, kind):
            raise _missing(kind, name)
        print(f'{kind} "{name}" successfully rolled out')


def version(call):
    _answer(call, {"clientVersion": {"gitVersion": "v1.32.4"}, "metadata": {"name": "v1.32.4"}})


def _unknown(_name, arguments):
    return Refused(1, f"error: unknown flag: {arguments[0].partition('=')[0]}\nSee 'kubectl --help'"
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

TOOL = Tool(
    name="kubectl",
    commands={name: Command(_framed(run), *rest) for name, (run, *rest) in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={"-n": "--namespace", "-o": "--output", "-l": "--selector", "-A": "--all-namespaces",
             "-f": "--filename", "-k": "--kustomize", "-c": "--container", "-i": "--stdin",
             "-t": "--tty", "-v": "--v", "-q": "--quiet"},
    unknown=_unknown,
    outage="Unable to connect to the server: dial tcp 192.0.2.1:443: i/o timeout",
)
