"""Runs the fakes: one call in this process, or many calls in processes forked from one server."""

import contextlib
import errno
import importlib
import os
import re
import selectors
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from . import cli, state

_TABLES = ("az_flags.json", "eksctl_flags.json", "eksctl_schema.json", "gcloud_flags.json")


def run(program, arguments):
    """Run one call, and return its exit code."""
    if program == "standin-state":
        return state.main(arguments)
    return cli.main(_load_tools(program)[program], arguments)


def _load_tools(*programs):
    """Load the modules of these programs. A module is slow to load."""
    # Each module has the name of its program.
    return {name: importlib.import_module(f".{name}", __package__).TOOL for name in programs}


def serve():
    """Serve calls until standard input ends. Print the port first.

    The start of Python takes most of the time of a call, and a fork does not. A client is a process of `bin/`: it
    connects, sends its process ID, and exits with the code that it receives. The server reads the rest from `/proc`.
    """
    cli.yaml()
    for name in _TABLES:
        cli.flag_table(name)
    _load_tools("aws", "az", "eksctl", "gcloud", "helm", "kubectl", "kubelogin")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(server.getsockname()[1], flush=True)
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(server, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if 0 in ready and not os.read(0, 1):
                return
            if server in ready:
                connection, _ = server.accept()
                if os.fork() == 0:
                    _answer(connection)
                connection.close()


def _answer(connection):
    """Run the call of one client in this process, and end it."""
    code = 1
    try:
        client = int(connection.recv(32))
        arguments = _become(client)
        cli.client = client
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        code = run(*arguments) or 0
    except SystemExit as request:
        code = request.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        # A reader of the client's output waits until every copy of the file is closed.
        os.closerange(0, 3)
        with contextlib.suppress(OSError):
            connection.sendall(f"{code}\n".encode())
        os._exit(0)


def _end_with(connection):
    """End this process when its client is killed."""
    connection.recv(1)
    os._exit(1)


def _become(client):
    """Take the environment, folder, umask and files of the client. Return its program and arguments."""
    process = Path("/proc", str(client))
    environment, words = (
        [each.decode("utf-8", "surrogateescape") for each in (process / name).read_bytes().split(b"\0")[:-1]]
        for name in ("environ", "cmdline")
    )
    os.environ.clear()
    os.environ.update(each.partition("=")[::2] for each in environment)
    os.chdir(process / "cwd")
    status = dict(line.partition(":")[::2] for line in (process / "status").read_text().splitlines())
    os.umask(int(status["Umask"], 8))
    # The client's shell sends the process ID through its standard output, and restores the file afterwards.
    connection = (process / "fd/9").readlink()
    while (process / "fd/1").readlink() == connection:
        time.sleep(0)
    # A process substitution is a file with a number.
    inputs = [int(number) for word in words[2:] for number in re.findall(r"/dev/fd/(\d+)", word)]
    for number in [0, *inputs]:
        _open_as(process, number, os.O_RDONLY)
    for number in (1, 2):
        _open_as(process, number, os.O_WRONLY | os.O_APPEND)
    # The first word is the shell.
    return os.path.basename(words[1]), words[2:]


def _open_as(process, number, flags):
    """Open a file of another process at the same number."""
    try:
        file = os.open(process / "fd" / str(number), flags)
    except OSError as error:
        # A socket cannot be opened. No fake reads one.
        if error.errno != errno.ENXIO or number != 0:
            raise
        file = os.open(os.devnull, flags)
    if file != number:
        os.dup2(file, number)
        os.close(file)
