#!/usr/bin/env python3
"""Compares what octet-evaluate says of one text, or of the task "own", on two devices, for jobs/gpu/evaluate.sh.

Usage: compare_scores.py NAME TOLERANCE CPU_FOLDER OTHER_FOLDER     folders with results.json, and samples_own.jsonl of a task
Prints a row of a table: name, both losses, their relative difference, verdict; of a task the mean log-likelihoods of the
choices, and the largest relative difference of one. Exit 1 where that is above TOLERANCE, a number is none, the two are not of
as many tokens, or the accuracies differ by more than one question in fifty.
"""
import json
import math
import os
import sys


def text_of(folder):
    """What was said of the text; NaN where the loss is not finite (null there)."""
    with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
        text = json.load(file)["results"]["text"]
    return {"tokens": text["tokens"], "loss": math.nan if text["loss"] is None else text["loss"]}


def compare(a, b, tolerance):
    """(relative difference, what is wrong or None)."""
    if a["tokens"] != b["tokens"]:
        return math.nan, f"{a['tokens']} and {b['tokens']} tokens"
    if not (math.isfinite(a["loss"]) and math.isfinite(b["loss"])):
        return math.nan, "not finite"
    difference = abs(a["loss"] - b["loss"]) / abs(a["loss"])
    return difference, None if difference <= tolerance else "too far apart"


def task_of(folder):
    """(log-likelihoods of all choices, accuracy)"""
    with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
        accuracy = json.load(file)["results"]["own"]["acc"]
    with open(os.path.join(folder, "samples_own.jsonl"), encoding="utf-8") as file:
        return [value for line in file for value in json.loads(line)["loglikelihoods"]], accuracy


def compare_tasks(a, b, tolerance):
    """As compare(): the largest relative difference."""
    (first, right), (second, right_too) = a, b
    if len(first) != len(second):
        return math.nan, f"{len(first)} and {len(second)} choices"
    if not all(map(math.isfinite, first + second)):
        return math.nan, "not finite"
    difference = max(abs(x - y) / abs(x) for x, y in zip(first, second))
    if difference > tolerance:
        return difference, "too far apart"
    return difference, None if abs(right - right_too) <= 0.02 else f"accuracies {right:.3f} and {right_too:.3f}"


def main():
    name, tolerance = sys.argv[1], float(sys.argv[2])
    if os.path.exists(os.path.join(sys.argv[3], "samples_own.jsonl")):
        a, b = task_of(sys.argv[3]), task_of(sys.argv[4])
        difference, wrong = compare_tasks(a, b, tolerance)
        shown = [sum(values) / max(len(values), 1) for values, _ in (a, b)]
    else:
        a, b = text_of(sys.argv[3]), text_of(sys.argv[4])
        difference, wrong = compare(a, b, tolerance)
        shown = [a["loss"], b["loss"]]
    print(f"{name:<10} {shown[0]:12.6f} {shown[1]:12.6f} {difference:12.1e} {tolerance:9.0e}  {'FAILED: ' + wrong if wrong else 'ok'}")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
