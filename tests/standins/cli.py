"""Argument parsing, refusals and output that all the stand-ins share."""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from . import state

BOOL, VALUE, LIST, REPEAT = "bool", "value", "list", "repeat"


class Refused(Exception):
    """The call ends with this code and this text on stderr; the state stays as it was."""

    def __init__(self, rc, text):
        super().__init__(text)
        self.rc = rc
        self.text = text


class Unsupported(Refused):
    """What the real tool does and the stand-in does not model."""

    def __init__(self, what):
        super().__init__(64, f"stand-in: unsupported: {what}")


@dataclass
class Command:
    """One command of a tool: what runs it, whether it may change anything, and its flags by kind."""

    run: Callable
    mutates: bool = False
    flags: dict = field(default_factory=dict)
    aliases: dict = field(default_factory=dict)


@dataclass
class Tool:
    """A stand-in: its commands by name, the flags that every command takes, and its manners."""

    name: str
    commands: dict
    flags: dict
    aliases: dict
    unknown: Callable  # (command name, unknown arguments) -> Refused
    outage: str  # what an outage or a lost login looks like on stderr
    style: str = "pflag"  # gcloud | az | aws | pflag
    tables: Callable | None = None  # (command name, Command) -> (flags, aliases) of the real tool


@dataclass
class Call:
    """A parsed call."""

    command: str
    words: list
    values: dict
    data: dict
    mutates: bool

    def get(self, flag, default=None):
        return self.values.get(flag, default)

    def has(self, flag):
        return flag in self.values

    def need(self, flag, refuse):
        if flag not in self.values:
            raise refuse
        return self.values[flag]


def flags(bools="", values="", lists="", repeats=""):
    """A flag table from four blank-separated lists of names, written without their dashes."""
    table = {}
    for names, kind in ((bools, BOOL), (values, VALUE), (lists, LIST), (repeats, REPEAT)):
        table |= {("-" if len(name) == 1 else "--") + name: kind for name in names.split()}
    return table


def table(file):
    """A flag table of the real tool, or None when GPUC_FLAG_TABLES does not hold it."""
    folder = os.environ.get("GPUC_FLAG_TABLES")
    path = Path(folder, file) if folder else None
    return json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else None


def main(tool):
    """Run one call of TOOL: find the command, parse, run, log."""
    argv = sys.argv[1:]
    name, rest = _find(tool, argv)
    command = tool.commands.get(name)
    call = Call(name, [], {}, {}, bool(command and command.mutates))
    rc = 1  # what a crash of the stand-in itself exits with
    try:
        if command is None:
            raise Unsupported(f"{tool.name} {' '.join(argv)}")
        with state.opened() as data:
            known, aliases = (tool.tables and tool.tables(name, command)) or (
                command.flags,
                command.aliases,
            )
            call.data = data
            call.words, call.values, unknown = parse(
                rest, tool.flags | known, tool.aliases | aliases, tool.style
            )
            if unknown:
                raise tool.unknown(name, unknown)
            # A call the parser refuses never reaches the network, so the outage comes after it.
            _outage(tool, argv)
            rc = command.run(call) or 0
    except Refused as refused:
        rc = refused.rc
        sys.stderr.write(refused.text.rstrip("\n") + "\n")
    finally:
        state.record(tool.name, argv, call.mutates, rc)
    return rc


def _outage(tool, argv):
    who, _, part = os.environ.get("GPUC_STANDIN_FAIL", "").partition(":")
    if who == tool.name and part in " ".join(argv):
        raise Refused(1, tool.outage)
    most = os.environ.get("GPUC_STANDIN_DIE_AFTER")
    if most is not None and state.changes() >= int(most):
        raise Refused(1, tool.outage)


def _find(tool, argv):
    """The longest command name among the leading words, and the arguments without it."""
    words, index = [], 0
    while index < len(argv):
        argument = argv[index]
        if argument.startswith("-") and argument != "-":
            name, equals, _ = argument.partition("=")
            kind = tool.flags.get(tool.aliases.get(name, name))
            if kind is None:
                break
            index += 1 if equals or kind == BOOL else 2
        else:
            words.append(index)
            index += 1
    for size in range(len(words), 0, -1):
        name = " ".join(argv[at] for at in words[:size])
        if name in tool.commands:
            taken = set(words[:size])
            return name, [each for at, each in enumerate(argv) if at not in taken]
    return "", argv


def parse(argv, known, aliases, style):
    """Words, flag values and unknown arguments of a command line in the manner of STYLE."""
    words, values, unknown, index = [], {}, [], 0
    while index < len(argv):
        argument = argv[index]
        index += 1
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            continue
        if argument == "--" and style == "pflag":
            values["--"] = argv[index:]
            break
        name, equals, text = argument.partition("=")
        name = aliases.get(name, name)
        negative = style == "gcloud" and name.startswith("--no-") and name not in known
        if negative and known.get("--" + name[5:]) == BOOL:
            values["--" + name[5:]] = False
            continue
        if style == "az" and name not in known and name.startswith("--"):
            near = {aliases.get(each, each) for each in [*known, *aliases] if each.startswith(name)}
            name = near.pop() if len(near) == 1 else name
        if style == "pflag" and name not in known and not name.startswith("--") and len(name) > 2:
            short = aliases.get(name[:2], name[:2])
            if short in known and known[short] != BOOL:
                name, equals, text = short, "=", argument[2:]
        kind = known.get(name)
        if kind is None:
            unknown.append(argument)
            # What follows an unknown flag is most likely its value; the real parsers name it too.
            if not equals and style in ("az", "aws"):
                while index < len(argv) and not argv[index].startswith("-"):
                    unknown.append(argv[index])
                    index += 1
            continue
        if kind == BOOL:
            if equals and style not in ("pflag", "az"):
                raise Refused(2, f"argument {name}: ignored explicit argument '{text}'")
            values[name] = text.lower() not in ("false", "0") if equals else True
            continue
        if kind == LIST and style in ("az", "aws"):
            items = [text] if equals else []
            while index < len(argv) and (not argv[index].startswith("-") or argv[index] == "-"):
                items.append(argv[index])
                index += 1
            values[name] = items
            continue
        if not equals:
            if index >= len(argv):
                raise Refused(2, f"argument {name}: expected one argument")
            text = argv[index]
            index += 1
        if kind == REPEAT:
            values.setdefault(name, []).append(text)
        else:
            values[name] = text
    return words, values, unknown


def show(value):
    """Print VALUE as the tools print JSON."""
    print(json.dumps(value, indent=2))


def public(value):
    """VALUE without the stand-in's own keys, which begin with an underscore."""
    if isinstance(value, dict):
        return {key: public(each) for key, each in value.items() if not key.startswith("_")}
    return [public(each) for each in value] if isinstance(value, list) else value


def query(value, path):
    """The part of JMESPath that scripts need: dotted names, [0], [*], [], length(x), and `null` for what is empty."""
    path = path.strip()
    if path.endswith(" || `null`"):
        return query(value, path.removesuffix(" || `null`")) or None
    if path.startswith("length(") and path.endswith(")"):
        return len(query(value, path[7:-1]) or [])
    return _walk(value, _tokens(path))


# `[]`: as `[*]`, but lists in lists become one.
_FLAT = object()


def _tokens(path):
    tokens, rest = [], path
    while rest:
        if rest.startswith("["):
            inside, bracket, rest = rest[1:].partition("]")
            if not bracket or not (inside in ("", "*") or inside.lstrip("-").isdigit()):
                raise Unsupported(f"query {path}")
            tokens.append({"": _FLAT, "*": None}[inside] if inside in ("", "*") else int(inside))
        elif rest.startswith('"'):
            name, _, rest = rest[1:].partition('"')
            tokens.append(name)
        else:
            name = rest.replace("[", ".").split(".", 1)[0]
            if not name or not all(each.isalnum() or each in "_@-" for each in name):
                raise Unsupported(f"query {path}")
            rest = rest[len(name) :]
            if name != "@":
                tokens.append(name)
        rest = rest.removeprefix(".")
    return tokens


def _walk(value, tokens):
    for at, token in enumerate(tokens):
        if token is None or token is _FLAT:
            if not isinstance(value, list):
                return None
            found = [_walk(each, tokens[at + 1 :]) for each in value]
            found = [each for each in found if each is not None]
            if _FLAT in tokens[at + 1 :]:
                found = [inner for each in found for inner in each]
            return found
        if isinstance(token, int):
            inside = isinstance(value, list) and -len(value) <= token < len(value)
            value = value[token] if inside else None
        else:
            value = value.get(token) if isinstance(value, dict) else None
    return value
