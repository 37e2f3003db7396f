#!/usr/bin/env python3
"""Computes the paired differences of octet-evaluate --compare again, from what it wrote of each document or question.

Usage: paired_differences.py FOLDER     the folder of --output

Holds every number of "difference" in results.json to 1e-12, and prints how many intervals it has held. The draws are those
of src/evaluate/bootstrap.h, with Philox4x32-10 (Salmon et al., SC'11) written down here once more.
"""
import json
import math
import os
import sys

BOOTSTRAP = 5  # RandomPurpose::bootstrap


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniform(seed, stream, index):
    block = philox((index & 0xFFFFFFFF, index >> 32, BOOTSTRAP, stream), (seed & 0xFFFFFFFF, seed >> 32))
    return ((block[1] << 32 | block[0]) >> 12) * 2.0**-52 + 2.0**-53


def percentile(ordered, part):
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def interval(numerators, denominators, bootstrap):
    n = len(numerators)
    if n < 2:
        return None
    ratios = []
    for sample in range(bootstrap["samples"]):
        drawn = [int(uniform(bootstrap["seed"], sample, i) * n) for i in range(n)]
        ratios.append(sum(numerators[d] for d in drawn) / sum(denominators[d] for d in drawn))
    ratios.sort()
    return [percentile(ratios, 0.025), percentile(ratios, 0.975)]


class Check:
    def __init__(self, folder):
        self.folder, self.held = folder, 0
        with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
            self.results = json.load(file)

    def pairs(self, name):
        """Lines of the first model with those of the other, by document or question."""
        both = []
        for folder in (self.folder, os.path.join(self.folder, "compare")):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                both.append([json.loads(line) for line in file])
        assert [line["doc_id"] for line in both[0]] == [line["doc_id"] for line in both[1]], name
        return list(zip(*both))

    def hold(self, found, key, numerators, denominators, what):
        value = sum(numerators) / sum(denominators)
        assert abs(found[key] - value) < 1e-12, f"{what}, {key}: {found[key]}, expected {value}"
        again = interval(numerators, denominators, self.results["bootstrap"])
        ends = found[key + "_interval"]
        same = ends == again if again is None else all(abs(a - b) < 1e-12 for a, b in zip(ends, again))
        assert same, f"{what}, {key}: {ends}, expected {again}"
        self.held += 1

    def texts(self):
        pairs, found = self.pairs("documents.jsonl"), self.results["difference"]
        losses = [b["log_likelihood"] - a["log_likelihood"] for a, b in pairs]
        self.hold(found, "loss", losses, [a["tokens"] for a, _ in pairs], "texts")
        self.hold(found, "bits_per_byte", losses, [a["bytes"] * math.log(2) for a, _ in pairs], "texts")

    def task(self, name, members):
        pairs, found = [pair for member in members for pair in self.pairs(f"samples_{member}.jsonl")], self.results["difference"][name]
        assert found["questions"] == len(pairs), name
        for key in ("acc", "acc_norm", "acc_bytes"):
            assert (key in found) == (key in self.results["results"][name]), f"{name}: {key}"
            if key in found:
                self.hold(found, key, [a[key] - b[key] for a, b in pairs], [1] * len(pairs), name)

    def tasks(self):
        names, groups = list(self.results["n-shot"]), list(self.results["groups"])
        assert set(self.results["difference"]) == {*names, *groups}
        for name in names:
            self.task(name, [name])
        if "mmlu" in groups:
            self.task("mmlu", [name for name in names if name.startswith("mmlu_")])
            whole, *parts = [self.results["difference"][group] for group in groups]  # which subjects a part has, no file says
            assert sum(part["questions"] for part in parts) == whole["questions"]
            of_parts = sum(part["acc"] * part["questions"] for part in parts)
            assert abs(of_parts - whole["acc"] * whole["questions"]) < 1e-9, "the parts of mmlu"

    def run(self):
        if "n-shot" in self.results:
            self.tasks()
        else:
            self.texts()
        print(self.held)


if __name__ == "__main__":
    Check(sys.argv[1]).run()
