"""Runs a script and ends it with all that it started, for jobs/gpu/all.py. Linux."""

import ctypes
import os
import signal
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """From now on a process whose parent ends becomes this one's child, so that end_descendants finds it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants():
    """Living processes that this one started, and those that they started. They may have process groups of their own
    (timeout and mpiexec do that), so groups would not find them."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # it has ended
        if state != "Z":
            children.setdefault(int(parent), []).append(int(name))
    found, at = children.get(os.getpid(), []), 0
    while at < len(found):
        found += children.get(found[at], [])
        at += 1
    return found


def end_descendants():
    for _ in range(100):
        living = descendants()
        if not living:
            return
        for process in living:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def run(command, seconds, log, show):
    """Runs it for no longer than `seconds`, then ends it; nothing that it started outlives it. Each line of its output
    goes to the file `log` and to show(). Returns (exit code, its last line, whether the time ran out)."""
    ended, last = [], ""
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        timer = threading.Timer(seconds, lambda: ended.append(True) or end_descendants())
        timer.start()
        try:
            for line in process.stdout:
                file.write(line)
                show(line)
                last = line.strip() or last
            code = process.wait()
        finally:
            timer.cancel()
            end_descendants()
    return code, last, bool(ended)
