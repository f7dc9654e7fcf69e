"""The shared state of the fakes: a JSON file, the clock, the log of calls, and the command `standin-state`."""

import contextlib
import copy
import fcntl
import json
import os
import re
import sys

SKELETON = {
    "gke": {"clusters": {}, "pools": {}},
    "gce": {"resourcePolicies": {}, "networks": {}, "subnetworks": {}, "firewalls": {}},
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
  get PATH              print the value as JSON (rc 1 if it is missing)
  set PATH VALUE        VALUE is JSON if it parses, a string otherwise
  set-string PATH TEXT  set a string ("true", "8")
  del PATH              remove the value (no error if it is missing)
  node NAME [K=V]...    add a Ready Node object with these labels
  calls [--mutating]    print the logged calls, one `tool argument...` per line
  tick [NUMBER]         move the clock forward by 1 or by this number
  time                  print the side file: clock, pending changes, updates, operations
PATH is keys joined by dots; quote a key that has dots: labels."nvidia.com/gpu"."""


def _path(variable):
    path = os.environ.get(variable)
    if not path:
        sys.stderr.write(f"stand-in: unsupported: {variable} is not set\n")
        raise SystemExit(64)
    return path


class State(dict):
    """The stored resources. `time` is the content of the side file, which is not part of the resources."""

    def __init__(self, resources, time, save_time):
        super().__init__(resources)
        self.time = time
        self.save_time = save_time

    @property
    def clock(self):
        return self.time["clock"]

    def later(self, ticks, *changes):
        """Make changes after this number of ticks, or now if it is 0.

        A change is ["set", keys, value] or ["del", keys]. Keys that begin with "_time" are in the side file.
        """
        if ticks <= 0:
            self._apply(changes)
        else:
            self.time["pending"].append({"at": self.clock + ticks, "do": [list(each) for each in changes]})

    def advance(self, ticks=1):
        """Move the clock forward, and make the changes that are due."""
        self.time["clock"] += ticks
        pending = self.time["pending"]
        due = sorted((each for each in pending if each["at"] <= self.clock), key=lambda each: each["at"])
        self.time["pending"] = [each for each in pending if each["at"] > self.clock]
        for each in due:
            self._apply(each["do"])

    def cancel(self, *keys):
        """Forget the pending changes of a resource and of its fields."""
        for each in self.time["pending"]:
            each["do"] = [change for change in each["do"] if change[1][: len(keys)] != list(keys)]
        self.time["pending"] = [each for each in self.time["pending"] if each["do"]]

    def _apply(self, changes):
        for what, (*parents, last), *value in changes:
            found = {"_time": self.time} if parents[:1] == ["_time"] else self
            for key in parents:
                found = found.get(key) if isinstance(found, dict) else None
            # The resource can be gone in the meantime.
            if not isinstance(found, dict):
                continue
            if what == "set":
                found[last] = copy.deepcopy(value[0])
            else:
                found.pop(last, None)


def _load_time(path, is_new):
    time = {}
    # The side file of an older state is ignored.
    if not is_new:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            with open(path, encoding="utf-8") as file:
                time = json.load(file)
    return {"clock": 0, "pending": [], "used": {}, "updates": {}, "operations": {}} | time


@contextlib.contextmanager
def open_state(ticks=0):
    """Open the state with an exclusive lock, and move the clock forward. Write the state back unless the block raises.

    Changes that are due are written even if the block raises.
    """
    with open(_path("GPUC_STANDIN_STATE"), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        resources = json.loads(text) if text.strip() else {}
        for section, content in SKELETON.items():
            stored = resources.setdefault(section, copy.deepcopy(content))
            if isinstance(content, dict) and isinstance(stored, dict):
                for name, value in content.items():
                    stored.setdefault(name, copy.deepcopy(value))
        path = _path("GPUC_STANDIN_STATE") + ".time"

        def save_time():
            nonlocal stored_time
            written = json.dumps(data.time, indent=2, sort_keys=True) + "\n"
            if written != stored_time:
                with open(path, "w", encoding="utf-8") as side:
                    side.write(written)
                stored_time = written

        def save():
            nonlocal text
            written = json.dumps(data, indent=2, sort_keys=True) + "\n"
            if written != text:
                file.seek(0)
                file.truncate()
                file.write(written)
                file.flush()
                text = written
            save_time()

        data = State(resources, _load_time(path, not text.strip()), save_time)
        stored_time = json.dumps(data.time, indent=2, sort_keys=True) + "\n"
        if ticks:
            pending = len(data.time["pending"])
            data.advance(ticks)
            if pending != len(data.time["pending"]):
                save()
            else:
                save_time()
        yield data
        save()


def record(tool, argv, mutates, rc):
    """Append one call to the log."""
    line = json.dumps({"tool": tool, "argv": argv, "mutates": mutates, "rc": rc})
    with open(_path("GPUC_STANDIN_LOG"), "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line + "\n")


def changes():
    """Return the number of successful calls in the log that can have changed the state."""
    with open(_path("GPUC_STANDIN_LOG"), "a+", encoding="utf-8") as file:
        file.seek(0)
        calls = [json.loads(line) for line in file]
    return sum(call["mutates"] and call["rc"] == 0 for call in calls)


def split(path):
    """Split `a."b.c".d` into ["a", "b.c", "d"]."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"|((?:[^."\\]|\\.)+)', path)
    return [re.sub(r"\\(.)", r"\1", quoted or plain) for quoted, plain in parts]


def _step(value, key):
    if isinstance(value, list):
        return value[int(key)]
    return value[key]


def lookup(data, path):
    """Return the value at a path. Raise KeyError if it is missing."""
    for key in split(path):
        try:
            data = _step(data, key)
        except (IndexError, ValueError, TypeError) as error:
            raise KeyError(path) from error
    return data


def assign(data, path, value):
    """Set the value at a path. Create missing parent objects."""
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
    """Remove the value at a path if it exists."""
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
    """Return a Ready Node object in the format of the Kubernetes API."""
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
    """Run the command `standin-state`."""
    match argv:
        case ["calls"] | ["calls", "--mutating"]:
            _calls(len(argv) == 2)
            return 0
        case ["get", path]:
            with open_state() as data:
                try:
                    print(json.dumps(lookup(data, path), indent=2, sort_keys=True))
                except KeyError:
                    return 1
        case ["set", path, text]:
            try:
                value = json.loads(text)
            except json.JSONDecodeError:
                value = text
            with open_state() as data:
                assign(data, path, value)
                if split(path)[:1] == ["behavior"]:
                    data.time["used"] = {}
        case ["set-string", path, text]:
            with open_state() as data:
                assign(data, path, text)
        case ["del", path]:
            with open_state() as data:
                remove(data, path)
        case ["tick", *ticks] if len(ticks) < 2:
            with open_state() as data:
                data.advance(int(*ticks or "1"))
        case ["time"]:
            with open_state() as data:
                print(json.dumps(data.time, indent=2, sort_keys=True))
        case ["node", name, *labels]:
            with open_state() as data:
                data["nodes"][name] = node(name, dict(pair.split("=", 1) for pair in labels))
        case _:
            sys.stderr.write(USAGE + "\n")
            return 64
    return 0
