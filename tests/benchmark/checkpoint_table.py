#!/usr/bin/env python3
"""Helper of compare_checkpoints.sh: JSON lines from a run's metrics.jsonl, and the Markdown table from all lines."""

import argparse
import collections
import json
import statistics


def from_metrics(path, interval):
    """The step after a save has the writer beside it; the two before a save have not, where writing takes less than
    interval - 2 steps. The first interval warms up."""
    with open(path) as file:
        steps = [r for r in map(json.loads, file) if r["step"] > interval and "step_seconds" in r]
    for r in steps:
        place = r["step"] % interval
        if place in (1, interval - 1, 0):
            print(json.dumps({"what": "step beside the writer" if place == 1 else "step alone", "round": 1,
                              "seconds": r["step_seconds"]}))


def read(path):
    runs = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path) as file:
        for line in file:
            r = json.loads(line)
            if r.get("round", 1) > 0:
                for key, value in r.items():
                    runs[r["what"]][key].append(value)
    return runs


class Table:
    def __init__(self, runs):
        self.runs = runs
        self.bytes = statistics.median(runs["octet save"]["bytes"])

    def has(self, *whats):
        return all(what in self.runs for what in whats)

    def median(self, what, key="seconds"):
        return statistics.median(self.runs[what][key])

    def seconds(self, values):
        return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"

    def row(self, name, values, against, ratio, aim="", rate=True):
        speed = f"{self.bytes / statistics.median(values) / 1e9:.2f}" if rate else ""
        print(f"| {name} | {self.seconds(values)} | {speed} | {against} | {ratio:.2f} | {aim} |")

    def slower(self, name, what, against, aim="", key="seconds", of="seconds", label=None):
        """A row of a time as a multiple of another one."""
        if self.has(what, against):
            self.row(name, self.runs[what][key], label or against,
                     self.median(what, key) / self.median(against, of), aim)


def table(runs):
    t = Table(runs)
    save = runs["octet save"]
    save["stall"] = [a + b for a, b in zip(save["snapshot"], save["commit"])]
    print(f"{t.bytes / 1e6:,.0f} MB of tensors. Median (lowest to highest).\n")
    print("| what | seconds | GB/s | against | ratio | aim |")
    print("|---|---|---|---|---|---|")
    t.row("dd bs=8M conv=fsync", runs["dd"]["seconds"], "", 1)
    t.row("save, until it is committed: bytes/s", save["seconds"], "dd", t.median("dd") / t.median("octet save"), ">= 0.8")
    if t.has("torch save"):
        t.row("torch save: bytes/s", runs["torch save"]["seconds"], "dd", t.median("dd") / t.median("torch save"))
    t.row("memcpy into touched memory", save["memcpy"], "", 1)
    t.slower("stall: the snapshot", "octet save", "octet save", "<= 1.3", "snapshot", "memcpy", "memcpy")
    t.slower("stall: snapshot and commit", "octet save", "octet save", "<= 1.3", "stall", "memcpy", "memcpy")
    if t.has("torch async"):
        t.row("torch async_save, until it returns", runs["torch async"]["stall"], "memcpy",
              t.median("torch async", "stall") / t.median("octet save", "memcpy"))
    for state in ("", " cold"):
        cached = "not in the page cache" if state else "in the page cache"
        t.row(f"cat, {cached}", runs["cat" + state]["seconds"], "", 1)
        t.slower(f"load, {cached}: choose, hash, read", "octet load" + state, "cat" + state, label="cat")
        t.slower(f"torch load, {cached} (no hash)", "torch load" + state, "cat" + state, label="cat")
    if t.has("step alone"):
        t.row("step of training alone", runs["step alone"]["seconds"], "", 1, rate=False)
        t.row("step beside the writer", runs["step beside the writer"]["seconds"], "step alone",
              t.median("step beside the writer") / t.median("step alone"), rate=False)
    print()
    load = runs["octet load"]
    print(f"Of a load in the page cache: choose and hash {t.seconds(load['verify'])} s, read {t.seconds(load['read'])} s.")
    if "torch" in runs:
        print(f"PyTorch {runs['torch']['torch'][0]}; it saves without a hash.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", metavar="RESULTS")
    parser.add_argument("--from-metrics", metavar="METRICS")
    parser.add_argument("--interval", type=int, default=5)
    a = parser.parse_args()
    table(read(a.table)) if a.table else from_metrics(a.from_metrics, a.interval)


if __name__ == "__main__":
    main()
