#!/usr/bin/env python3
"""Writes tests/jobs/pairs.txt: a covering array of the features that meet in one training step. Every pair of values of
any two features is in at least one case. `--check` compares instead of writing.

A case is refused at start where the configuration contradicts itself; the array says so, with the key of the message, by
the rules below, which repeat those of the documentation and not of the program."""

import itertools
import pathlib
import random
import sys

FEATURES = {
    "numbers": ["fp32", "bf16", "tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"],
    "dp_shard": ["1", "2"],
    "dp_replicate": ["1", "2"],
    "tp": ["1", "2"],
    "recompute": ["none", "full", "selective"],
    "gradient_wire": ["fp32", "bf16"],
    "zero": ["3", "2", "1"],
    "all_gather": ["auto", "true", "false"],
}


def refused(case):
    """The key that the message names, or None."""
    if case["all_gather"] == "true" and case["numbers"].startswith("rowwise"):
        return "float8.all_gather"
    if case["gradient_wire"] == "bf16" and case["dp_shard"] == "1":
        return "parallel.gradient_wire"
    return None


def pairs_of(case):
    return {((a, case[a]), (b, case[b])) for a, b in itertools.combinations(FEATURES, 2)}


def covering_array():
    """Greedy: of many random cases the one that has most of the pairs that are still missing. A refused case counts only
    for the pair that refuses it: what else is in it has not been tried."""
    chance = random.Random(1)
    missing = set()
    for a, b in itertools.combinations(FEATURES, 2):
        missing |= {((a, x), (b, y)) for x in FEATURES[a] for y in FEATURES[b]}
    cases = []
    while missing:
        best, found = None, set()
        for _ in range(400):
            case = {name: chance.choice(values) for name, values in FEATURES.items()}
            case.update(dict(chance.choice(sorted(missing))))
            covered = pairs_of(case) & missing
            if refused(case):
                covered = {pair for pair in covered if refused({**default_case(), **dict(pair)})}
            if len(covered) > len(found):
                best, found = case, covered
        if best is None:
            raise SystemExit(f"cannot cover {sorted(missing)[:3]}")
        missing -= found
        cases.append(best)
    return cases


def default_case():
    return {name: values[0] for name, values in FEATURES.items()} | {"dp_shard": "2", "numbers": "tensorwise"}


def text():
    lines = ["# Written by tests/jobs/pairs.py: " + ", ".join(FEATURES) + ", and the key that refuses it."]
    for case in covering_array():
        lines.append(" ".join(case.values()) + " " + (refused(case) or "-"))
    return "\n".join(lines) + "\n"


def main():
    path = pathlib.Path(__file__).with_suffix(".txt")
    if sys.argv[1:] == ["--check"]:
        if path.read_text() != text():
            raise SystemExit(f"{path}: not what tests/jobs/pairs.py writes; run it")
    else:
        path.write_text(text())


if __name__ == "__main__":
    main()
