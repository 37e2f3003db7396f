#!/usr/bin/env python3
"""Runs a command that ends, with all that came of it, when the process that asked for it is gone.

Usage: slurm/owned.py [--owner PID] [--grace SECONDS] [--remove FOLDER] COMMAND...
When the owner (by default the process that started this one) is gone, also by SIGKILL, or at SIGTERM, SIGINT or SIGHUP,
COMMAND gets SIGTERM and, after the grace (10 s), SIGKILL. Whatever it started and left, daemons too, is killed then, and
also when COMMAND ends by itself. FOLDER is removed where the owner is gone. Exits as COMMAND did (128 + n for signal n).
An owner of 0 is never gone.
"""
import argparse
import contextlib
import ctypes
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def prctl(option, value):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children():
    """By parent: the processes of this machine, as /proc has them now."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # "PID (NAME) STATE PPID ...", and a name may have anything in it.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    found.setdefault(int(parent), []).append(int(entry.name))
    return found


def descendants():
    found, tree = [], children()
    todo = [os.getpid()]
    while todo:
        todo += (mine := tree.get(todo.pop(), []))
        found += mine
    return found


def reap():
    """Collects what has ended; the exit codes by process."""
    codes = {}
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])
    return codes


def end_all(seconds=10):
    """What dies hands its children to this process, which is why one pass is not enough."""
    deadline = time.monotonic() + seconds
    while (left := descendants()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(0.02)


class Waiter:
    """Waits for the owner's end, for signals, and for the end of children."""

    def __init__(self, owner):
        self.reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(self.reader, select.POLLIN)
        self.owner = None
        if owner:
            self.owner = os.pidfd_open(owner)  # ProcessLookupError: it is gone already
            self.poll.register(self.owner, select.POLLIN)

    def wait(self, seconds=None):
        """(the owner is gone, the signals that came)"""
        ready = [fd for fd, _ in self.poll.poll(None if seconds is None else max(0, seconds) * 1000)]
        signals = os.read(self.reader, 4096) if self.reader in ready else b""
        return self.owner is not None and self.owner in ready, set(signals) - {signal.SIGCHLD}


def supervise(waiter, command, grace):
    """(exit code, whether the owner is gone)"""
    main = subprocess.Popen(command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL))  # pylint: disable=R1732,W1509
    deadline, gone = None, False
    while True:
        codes = reap()
        if main.pid in codes:
            code = codes[main.pid]
            return (code if code >= 0 else 128 - code), gone
        if deadline is not None and time.monotonic() >= deadline:
            return 128 + signal.SIGKILL, gone
        # Until the end is near, nothing is looked for: this sleeps for as long as the command runs.
        owner_gone, signals = waiter.wait(None if deadline is None else min(0.2, deadline - time.monotonic()))
        if (owner_gone or signals) and deadline is None:
            gone, deadline = owner_gone, time.monotonic() + grace
            with contextlib.suppress(ProcessLookupError):
                os.kill(main.pid, signal.SIGTERM)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--owner", type=int, default=os.getppid())
    parser.add_argument("--grace", type=float, default=10)
    parser.add_argument("--remove")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    parser.error = lambda message: parser.exit(64, f"owned.py: {message} (see --help)\n")
    options = parser.parse_args()
    if not options.command:
        parser.error("no command")
    try:
        waiter = Waiter(options.owner)
    except ProcessLookupError:
        print(f"owned.py: process {options.owner}, for which it is to run, is gone", file=sys.stderr)
        return 70
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        code, gone = supervise(waiter, options.command, options.grace)
    except OSError as error:
        print(f"owned.py: {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    end_all()
    if gone and options.remove:
        shutil.rmtree(options.remove, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
