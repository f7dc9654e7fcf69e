"""The shared state of the stand-ins: one JSON file, the log of calls, and the helper that edits both."""

import contextlib
import copy
import fcntl
import json
import os
import re
import sys

SKELETON = {
    "gke": {"clusters": {}, "pools": {}},
    "aks": {"groups": {}, "clusters": {}, "pools": {}},
    "eks": {
        "clusters": {},
        "nodegroups": {},
        "unmanaged": {},
        "autoScalingGroups": {},
        "subnets": {},
        "capacityReservations": {},
    },
    "contexts": {},
    "currentContext": "",
    "nodes": {},
    "objects": {},
    "applied": [],
    "releases": {},
    "foreign": [],
    "logs": {},
}

USAGE = """usage: standin-state COMMAND
  get PATH              print the value as JSON (rc 1 when nothing is there)
  set PATH VALUE        VALUE is JSON when it parses, a string otherwise
  set-string PATH TEXT  keep TEXT a string ("true", "8")
  del PATH              remove the value (no error when it is missing)
  node NAME [K=V]...    add a Ready Node object with these labels
  calls [--mutating]    print the logged calls, one `tool argument...` a line
PATH is keys joined by dots; quote a key that has dots: labels."nvidia.com/gpu"."""


def _path(variable):
    path = os.environ.get(variable)
    if not path:
        sys.stderr.write(f"stand-in: unsupported: {variable} is not set\n")
        raise SystemExit(64)
    return path


@contextlib.contextmanager
def opened():
    """The state under an exclusive lock; written back unless the block raises."""
    with open(_path("GPUC_STANDIN_STATE"), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        data = json.loads(text) if text.strip() else {}
        for section, content in SKELETON.items():
            held = data.setdefault(section, copy.deepcopy(content))
            if isinstance(content, dict) and isinstance(held, dict):
                for name, value in content.items():
                    held.setdefault(name, copy.deepcopy(value))
        yield data
        written = json.dumps(data, indent=2, sort_keys=True) + "\n"
        if written != text:
            file.seek(0)
            file.truncate()
            file.write(written)
            file.flush()


def record(tool, argv, mutates, rc):
    """Append one call to the log."""
    line = json.dumps({"tool": tool, "argv": argv, "mutates": mutates, "rc": rc})
    with open(_path("GPUC_STANDIN_LOG"), "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line + "\n")


def changes():
    """How many logged calls went well and may have changed something."""
    with open(_path("GPUC_STANDIN_LOG"), "a+", encoding="utf-8") as file:
        file.seek(0)
        calls = [json.loads(line) for line in file]
    return sum(call["mutates"] and call["rc"] == 0 for call in calls)


def split(path):
    """`a."b.c".d` as ["a", "b.c", "d"]."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"|((?:[^."\\]|\\.)+)', path)
    return [re.sub(r"\\(.)", r"\1", quoted or plain) for quoted, plain in parts]


def _step(value, key):
    if isinstance(value, list):
        return value[int(key)]
    return value[key]


def lookup(data, path):
    """The value at PATH; KeyError when it is missing."""
    for key in split(path):
        try:
            data = _step(data, key)
        except (IndexError, ValueError, TypeError) as error:
            raise KeyError(path) from error
    return data


def assign(data, path, value):
    """Put VALUE at PATH, making the objects on the way."""
    *parents, last = split(path)
    for key in parents:
        if isinstance(data, list):
            data = data[int(key)]
        else:
            data = data.setdefault(key, {})
    if isinstance(data, list):
        if int(last) == len(data):
            data.append(value)
        else:
            data[int(last)] = value
    else:
        data[last] = value


def remove(data, path):
    """Drop the value at PATH if it is there."""
    *parents, last = split(path)
    try:
        for key in parents:
            data = _step(data, key)
        if isinstance(data, list):
            del data[int(last)]
        else:
            data.pop(last, None)
    except (KeyError, IndexError, TypeError):
        return


def node(name, labels):
    """A Ready Node object as the Kubernetes API prints one."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"} | labels,
            "annotations": {},
        },
        "spec": {},
        "status": {
            "allocatable": {},
            "capacity": {},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _calls(mutating):
    with contextlib.suppress(FileNotFoundError):
        with open(_path("GPUC_STANDIN_LOG"), encoding="utf-8") as file:
            for call in map(json.loads, file):
                if call["mutates"] or not mutating:
                    print(call["tool"], *call["argv"])


def main(argv):
    """The command line of `standin-state`."""
    match argv:
        case ["calls"] | ["calls", "--mutating"]:
            _calls(len(argv) == 2)
            return 0
        case ["get", path]:
            with opened() as data:
                try:
                    print(json.dumps(lookup(data, path), indent=2, sort_keys=True))
                except KeyError:
                    return 1
        case ["set", path, text]:
            try:
                value = json.loads(text)
            except json.JSONDecodeError:
                value = text
            with opened() as data:
                assign(data, path, value)
        case ["set-string", path, text]:
            with opened() as data:
                assign(data, path, text)
        case ["del", path]:
            with opened() as data:
                remove(data, path)
        case ["node", name, *labels]:
            with opened() as data:
                data["nodes"][name] = node(name, dict(pair.split("=", 1) for pair in labels))
        case _:
            sys.stderr.write(USAGE + "\n")
            return 64
    return 0
