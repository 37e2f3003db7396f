"""Where the time of a training step goes, read from profile.json of runs (docs/timeline.md), for exchange.sh and ctas.sh.
Standard library only.
Usage: step_profile.py exchange PLAIN_RUN EXCHANGE_RUN COPY_RESULT | step_profile.py ctas NAME=RUN...
Prints a table, and in the last line what it says."""

import json
import os
import sys

KERNELS = ("gemm", "attention", "memory_bound")  # the kinds of spans that compute
MOMENTS = (*KERNELS, "exposed_communication", "host", "idle")  # they add up to the wall time


class Step:
    """The mean of a run's profiled steps, of rank 0, in ms."""

    def __init__(self, run):
        with open(os.path.join(run, "profile.json"), encoding="utf-8") as file:
            profile = json.load(file)
        first, last = profile["steps"]
        steps = last - first + 1
        rank = profile["ranks"][0]
        self.moments = {name: 1e3 * rank["seconds"][name] / steps for name in MOMENTS}
        self.wall = 1e3 * rank["wall"] / steps
        self.kernels = {}  # name: (calls, ms, bytes)
        self.calls, self.bytes = 0, 0  # of collectives
        for line in profile["kernels"]:
            if line["kind"] == "communication":
                self.calls += line["calls"] / steps
                self.bytes += line["bytes"] / steps
            elif line["kind"] in KERNELS:
                before = self.kernels.get(line["name"], (0, 0, 0))
                now = (line["calls"], 1e3 * line["seconds"], line["bytes"])
                self.kernels[line["name"]] = tuple(a + b / steps for a, b in zip(before, now))

    def launches(self):
        return self.calls + sum(calls for calls, _, _ in self.kernels.values())


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]).rstrip())


def exchange(plain, other, copy_rate):
    """What parallel.one_rank_exchange costs, taken apart. A kernel that both runs start as often and that takes longer in
    the second shares the memory with the copies; what is started more often is work of its own; what the device waits
    longer is for launches and for other streams."""
    rows = [("ms a step", "without", "with", "more")]
    for name in MOMENTS:
        a, b = plain.moments[name], other.moments[name]
        rows.append((name.replace("_", " "), f"{a:.1f}", f"{b:.1f}", f"{b - a:+.1f}"))
    rows.append(("wall", f"{plain.wall:.1f}", f"{other.wall:.1f}", f"{other.wall - plain.wall:+.1f}"))
    table(rows)
    slower = added = added_bytes = 0.0
    for name, (calls, ms, size) in other.kernels.items():
        calls_before, ms_before, size_before = plain.kernels.get(name, (0, 0, 0))
        mean = ms / calls
        same = min(calls, calls_before)
        slower += same * (mean - ms_before / calls_before) if same else 0
        added += (calls - calls_before) * mean
        added_bytes += size - size_before
    moved = 2 * other.bytes + added_bytes  # a copy reads and writes
    waits = sum(other.moments[name] - plain.moments[name] for name in ("host", "idle"))
    launches = other.launches() - plain.launches()
    print(f"copies: {other.calls:.0f} groups a step, {other.bytes / 1e9:.1f} GB; kernels move {added_bytes / 1e9:+.1f} GB")
    each = f", {1e3 * waits / launches:.1f} us each" if launches > 0 else ""
    print(f"{other.wall - plain.wall:+.1f} ms a step: the same kernels {slower:+.1f}, more of them {added:+.1f}, the device "
          f"waits {waits:+.1f} for {launches:+.0f} launches{each}; {moved / 1e9:.1f} GB more to move, "
          f"{1e3 * moved / copy_rate:.1f} ms at the copy's {copy_rate / 1e12:.2f} TB/s")


def ctas(runs):
    """runs: {name: Step}, the first of NCCL's own choice."""
    first = next(iter(runs.values()))
    rows = [("thread blocks", "ms a step", "gemm", "attention", "memory bound", "exposed communication")]
    for name, step in runs.items():
        rows.append((name, f"{step.wall:.1f}", *(f"{step.moments[m]:.1f}" for m in (*KERNELS, "exposed_communication"))))
    table(rows)
    best = min(runs, key=lambda name: runs[name].wall)
    print(f"{best} is the fastest: {runs[best].wall:.1f} ms a step, {runs[best].wall / first.wall:.3f} of NCCL's choice")


def main(words):
    if words[0] == "exchange":
        with open(words[3], encoding="utf-8") as file:
            lines = [line for line in map(json.loads, file) if "seconds" in line]
        exchange(Step(words[1]), Step(words[2]), 2 * (1 << 30) / lines[0]["seconds"])
    else:
        ctas({name: Step(run) for name, run in (word.split("=", 1) for word in words[1:])})


if __name__ == "__main__":
    main(sys.argv[1:])
