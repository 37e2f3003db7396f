"""The results file of jobs/gpu/bench.sh: what it has for this commit and device, and where new rows go. Standard library
only."""

import datetime
import json
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def device_of_this_machine():
    program = os.path.join(os.environ.get("OCTET_BIN", ""), "octet-bench-gpu")
    text = output_of([program, "--device"])
    return json.loads(text) if text else None


def commit():
    """Of the source: the tree's, as cmake/commit.cmake tells it, or what the bundle's COMMIT file says."""
    if os.environ.get("OCTET_COMMIT"):
        return os.environ["OCTET_COMMIT"]
    if os.path.exists(os.path.join(ROOT, ".git")):
        head = output_of(["git", "-C", ROOT, "describe", "--always", "--dirty=-changed", "--abbrev=12", "--exclude=*"])
        if head:
            return head
    for name in ("COMMIT", "share/octet/COMMIT"):
        if os.path.exists(os.path.join(ROOT, name)):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                return file.read().split()[0]
    return "unknown"


def driver():
    smi = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    if smi:
        return smi.splitlines()[0]
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            found = re.search(r"\b\d+\.\d+(\.\d+)?\b", file.read())
    except OSError:
        return "unknown"
    return found[0] if found else "unknown"


def names_code(text):
    """Whether a commit names the code: a changed tree and an unknown one do not."""
    return text != "unknown" and not text.endswith("-changed")


def read_results(path):
    if not os.path.exists(path):
        return []
    results = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    results.append(json.loads(line))
            except json.JSONDecodeError:  # a killed run may leave half a line
                print(f"{path}:{number}: not JSON, left out", file=sys.stderr)
    return results


class Results:
    """The results file: what it has for this commit and device, and where new rows go. A changed tree and a tree of
    an unknown commit name no code: what was measured with one is measured again."""

    def __init__(self, path, identity):
        self.path, self.identity = path, identity
        self.measured = self.failed = 0
        here = [r for r in read_results(path) if names_code(identity["commit"])
                and all(r.get(key) == identity[key] for key in ("commit", "device"))]
        self.done = {(r["by"], r["row"]) for r in here if "error" not in r}
        self.broken = {(r["by"], r["row"]) for r in here} - self.done
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self.ends_clean = self._ends_clean()

    def _ends_clean(self):
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            return True
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"

    def add(self, by, result, command):
        if "error" in result:
            self.failed += 1
            print(f"  {by}:{result['row']}  FAILED: {result['error'].splitlines()[0][:200]}", flush=True)
        else:
            self.measured += 1
            self.done.add((by, result["row"]))
            print(f"  {by}:{result['row']}  {result['seconds'] * 1e3:.4g} ms", flush=True)
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = {"by": by, **result, **self.identity, "date": date, "command": command}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(("" if self.ends_clean else "\n") + json.dumps(line) + "\n")
        self.ends_clean = True
