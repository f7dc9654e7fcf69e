"""Argument parsing, errors and output of all fakes."""

import contextlib
import functools
import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from . import state

BOOL, VALUE, LIST, REPEAT = "bool", "value", "list", "repeat"


def yaml():
    """Return PyYAML. Only few calls need it, and it is slow to load."""
    import yaml as module

    return module


class CommandError(Exception):
    """An error with an exit code and a message for stderr. The state does not change."""

    def __init__(self, rc, text):
        super().__init__(text)
        self.rc = rc
        self.text = text


class Unsupported(CommandError):
    """An error because the fake does not model a function of the real tool."""

    def __init__(self, what):
        super().__init__(64, f"stand-in: unsupported: {what}")


class Failure(CommandError):
    """An error of an operation that has begun. The state changes."""


class _Crash(Exception):
    """The machine crashes before the tool has waited for its operation."""


class _Hang(Exception):
    """The call does not end."""


# Outputs that a tool must not print, with rc 0.
_WRONG_OUTPUTS = {"garbled": "<html>502 Bad Gateway</html>\n", "misshapen": '["unexpected"]\n', "silent": ""}


class _WrongOutput(Exception):
    """The call succeeds, and prints one of these outputs."""


@dataclass
class Command:
    """A command of a tool: its function, whether it can change the state, and the kinds of its flags."""

    run: Callable
    mutates: bool = False
    flags: dict = field(default_factory=dict)
    aliases: dict = field(default_factory=dict)


@dataclass
class Tool:
    """A fake tool: its commands by name, its global flags, and the style of its command line."""

    name: str
    commands: dict
    flags: dict
    aliases: dict
    unknown: Callable  # (command name, unknown arguments) -> CommandError
    outage: str | Callable[[list], str]  # the error message of an outage or an expired login
    style: str = "pflag"  # gcloud | az | aws | pflag
    tables: Callable | None = None  # (command name, Command) -> (flags, aliases) of the real tool
    # The rules of `behavior.fail`: errors of every command, (call) -> CommandError, and outcomes of some commands.
    errors: dict = field(default_factory=dict)
    outcomes: dict = field(default_factory=dict)
    has_clock: bool = True


@dataclass
class Call:
    """A parsed call."""

    command: str
    words: list
    values: dict
    data: state.State
    mutates: bool
    how: str | None = None  # the outcome that a rule of `behavior.fail` requires
    is_killed: bool = False  # the machine crashes as soon as the operation has begun

    @property
    def delay(self):
        """The number of ticks that an operation takes."""
        delay = self.data.get("behavior", {}).get("delay", 0)
        return max(2, delay) if self.is_killed else delay

    def wait(self, ticks):
        """Wait for an operation as the real tool does by itself."""
        if self.is_killed:
            raise _Crash
        self.data.advance(ticks)

    def get(self, flag, default=None):
        return self.values.get(flag, default)

    def has(self, flag):
        return flag in self.values

    def need(self, flag, error):
        if flag not in self.values:
            raise error
        return self.values[flag]


def version_command(tool, template, version):
    """Create the command that prints the version of a tool: `behavior.versions.<tool>`, or this one."""

    def run(call):
        print(template.format(call.data.get("behavior", {}).get("versions", {}).get(tool, version)))

    return run


def flags(bools="", values="", lists="", repeats=""):
    """Create a table of flags from four space-separated lists of names without dashes."""
    flag_table = {}
    for names, kind in ((bools, BOOL), (values, VALUE), (lists, LIST), (repeats, REPEAT)):
        flag_table |= {("-" if len(name) == 1 else "--") + name: kind for name in names.split()}
    return flag_table


def flag_table(file):
    """Read a flag table of the real tool. Return None if it is not in GPUC_FLAG_TABLES."""
    folder = os.environ.get("GPUC_FLAG_TABLES")
    return _read_table(Path(folder, file)) if folder else None


@functools.cache
def _read_table(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


# The process that called this fake, if a server runs the call.
client = None


def main(tool, argv):
    """Run and log one call of a tool."""
    name, rest = _find(tool, argv)
    command = tool.commands.get(name)
    call = Call(name, [], {}, {}, bool(command and command.mutates))
    rc = 1  # the exit code if the fake crashes
    try:
        rc = _run(tool, command, call, argv, rest)
    except CommandError as error:
        rc = error.rc
        sys.stderr.write(error.text.rstrip("\n") + "\n")
    except _Hang:
        rc = 137
    finally:
        state.record(tool.name, argv, call.mutates, 137 if call.is_killed else rc)
    if call.is_killed:
        sys.stdout.flush()
        _crash()
    if rc == 137:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        time.sleep(3600)
    return rc


def _run(tool, command, call, argv, rest):
    if command is None:
        raise Unsupported(f"{tool.name} {' '.join(argv)}")
    with state.open_state(int(tool.has_clock)) as data:
        kinds, aliases = (tool.tables and tool.tables(call.command, command)) or (
            command.flags,
            command.aliases,
        )
        call.data = data
        call.words, call.values, unknown = parse(
            rest, tool.flags | kinds, tool.aliases | aliases, tool.style
        )
        if unknown:
            raise tool.unknown(call.command, unknown)
        # The real tool rejects invalid arguments before it uses the network.
        _outage(tool, argv)
        killed, _, substring = os.environ.get("GPUC_STANDIN_KILL", "").partition(":")
        call.is_killed = killed == tool.name and substring in " ".join(argv)
        try:
            _apply_rule(tool, call, argv)
            rc = command.run(call) or 0
        except Failure as failure:
            rc = failure.rc
            sys.stderr.write(failure.text.rstrip("\n") + "\n")
        except _WrongOutput as wrong:
            rc = 0
            sys.stdout.write(wrong.args[0])
        except _Crash:
            rc = 137
        return rc


def _apply_rule(tool, call, argv):
    """Apply the first rule of `behavior.fail` that matches and is not used up: raise its error, or set the outcome."""
    rules = call.data.get("behavior", {}).get("fail", [])
    keys = [f"{number} {json.dumps(rule, sort_keys=True)}" for number, rule in enumerate(rules)]
    # A rule that was removed counts again when it is back.
    used = {key: count for key, count in call.data.time["used"].items() if key in keys}
    call.data.time["used"] = used
    for key, rule in zip(keys, rules):
        if rule["tool"] != tool.name or rule["match"] not in " ".join(argv):
            continue
        if used.get(key, 0) >= rule.get("times", 1):
            continue
        used[key] = used.get(key, 0) + 1
        call.data.save_time()
        how = rule["how"]
        if how in tool.outcomes.get(call.command, "").split():
            call.how = how
        elif how == "hang":
            raise _Hang
        elif how in _WRONG_OUTPUTS:
            raise _WrongOutput(_WRONG_OUTPUTS[how])
        elif how in tool.errors:
            raise tool.errors[how](call)
        else:
            raise Unsupported(f"{tool.name} {call.command} with the rule {how}")
        return


def _crash():
    """Kill this process and the scripts that run it: the ancestors that have GPUC_STANDIN_KILL too."""
    scripts, process = [], client or os.getppid()
    with contextlib.suppress(OSError, ValueError):
        while process > 1 and b"\0GPUC_STANDIN_KILL=" in b"\0" + Path(f"/proc/{process}/environ").read_bytes():
            scripts.append(process)
            # The fields after the name of the program: its state, then its parent.
            process = int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    for each in reversed(scripts):
        os.kill(each, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _outage(tool, argv):
    tool_name, _, substring = os.environ.get("GPUC_STANDIN_FAIL", "").partition(":")
    if tool_name == tool.name and substring in " ".join(argv):
        raise CommandError(1, tool.outage(argv) if callable(tool.outage) else tool.outage)
    limit = os.environ.get("GPUC_STANDIN_DIE_AFTER")
    if limit is not None and state.changes() >= int(limit):
        raise CommandError(1, tool.outage(argv) if callable(tool.outage) else tool.outage)


def _find(tool, argv):
    """Return the longest command name at the beginning, and the other arguments."""
    if argv and argv[0].startswith("-") and argv[0] in tool.commands:
        return argv[0], argv[1:]
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
            used = set(words[:size])
            return name, [each for at, each in enumerate(argv) if at not in used]
    return "", argv


def parse(argv, kinds, aliases, style):
    """Return the words, flag values and unknown arguments of a command line in this style."""
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
        negative = style == "gcloud" and name.startswith("--no-") and name not in kinds
        if negative and kinds.get("--" + name[5:]) == BOOL:
            values["--" + name[5:]] = False
            continue
        if style == "az" and name not in kinds and name.startswith("--"):
            matches = {aliases.get(each, each) for each in [*kinds, *aliases] if each.startswith(name)}
            name = matches.pop() if len(matches) == 1 else name
        if style == "pflag" and name not in kinds and not name.startswith("--") and len(name) > 2:
            short = aliases.get(name[:2], name[:2])
            if short in kinds and kinds[short] != BOOL:
                name, equals, text = short, "=", argument[2:]
        kind = kinds.get(name)
        if kind is None:
            unknown.append(argument)
            # The argument after an unknown flag is probably its value. The real parsers report both.
            if not equals and style in ("az", "aws"):
                while index < len(argv) and not argv[index].startswith("-"):
                    unknown.append(argv[index])
                    index += 1
            continue
        if kind == BOOL:
            if equals and style not in ("pflag", "az"):
                raise CommandError(2, f"argument {name}: ignored explicit argument '{text}'")
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
                raise CommandError(2, f"argument {name}: expected one argument")
            text = argv[index]
            index += 1
        if kind == REPEAT:
            values.setdefault(name, []).append(text)
        else:
            values[name] = text
    return words, values, unknown


def print_json(value):
    """Print a value as JSON in the format of the tools."""
    print(json.dumps(value, indent=2))


def without_internal_keys(value):
    """Return a value without the fake's internal keys, which begin with an underscore."""
    if isinstance(value, dict):
        return {key: without_internal_keys(each) for key, each in value.items() if not key.startswith("_")}
    return [without_internal_keys(each) for each in value] if isinstance(value, list) else value


def query(value, path):
    """Evaluate the part of JMESPath that scripts use: dotted names, [0], [*], [], [?a=='b'],
    [?contains(a, 'b')], length(x), and || `null`."""
    path = path.strip()
    if path.endswith(" || `null`"):
        return query(value, path.removesuffix(" || `null`")) or None
    if path.startswith("length(") and path.endswith(")"):
        return len(query(value, path[7:-1]) or [])
    return _walk(value, _tokens(path))


# `[]`: like `[*]`, but flattens nested lists.
_FLAT = object()


def _tokens(path):
    tokens, rest = [], path
    while rest:
        if rest.startswith("["):
            content, bracket, rest = rest[1:].partition("]")
            if bracket and content.startswith("?"):
                tokens.append(_filter(content))
                rest = rest.removeprefix(".")
                continue
            if not bracket or not (content in ("", "*") or content.lstrip("-").isdigit()):
                raise Unsupported(f"query {path}")
            tokens.append({"": _FLAT, "*": None}[content] if content in ("", "*") else int(content))
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


def _filter(text):
    """Return a function that applies `?contains(NAME, 'TEXT')`, `?NAME=='TEXT'` or `?NAME!='TEXT'` to a list."""
    if found := re.fullmatch(r"\?contains\(([\w.]+), *'([^']*)'\)", text):
        path, expected = found.groups()
        return lambda items: [each for each in items if expected in (query(each, path) or "")]
    if found := re.fullmatch(r"\?([\w.]+) *(==|!=) *'([^']*)'", text):
        path, operator, expected = found.groups()
        return lambda items: [each for each in items if (query(each, path) == expected) == (operator == "==")]
    raise Unsupported(f"query [{text}]")


def _walk(value, tokens):
    for at, token in enumerate(tokens):
        if callable(token):
            return _walk(token(value), [None, *tokens[at + 1 :]]) if isinstance(value, list) else None
        if token is None or token is _FLAT:
            if not isinstance(value, list):
                return None
            found = [_walk(each, tokens[at + 1 :]) for each in value]
            found = [each for each in found if each is not None]
            if _FLAT in tokens[at + 1 :]:
                found = [inner for each in found for inner in each]
            return found
        if isinstance(token, int):
            in_range = isinstance(value, list) and -len(value) <= token < len(value)
            value = value[token] if in_range else None
        else:
            value = value.get(token) if isinstance(value, dict) else None
    return value
