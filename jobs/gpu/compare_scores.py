#!/usr/bin/env python3
"""Compares what octet-evaluate says of one text on two devices, for jobs/gpu/evaluate.sh.

Usage: compare_scores.py NAME TOLERANCE CPU_FOLDER OTHER_FOLDER     folders with results.json
Prints a row of a table: name, both losses, their relative difference, verdict. Exit 1 where that is above TOLERANCE, a loss is
no number, or the two are not of as many tokens.
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


def main():
    name, tolerance = sys.argv[1], float(sys.argv[2])
    a, b = text_of(sys.argv[3]), text_of(sys.argv[4])
    difference, wrong = compare(a, b, tolerance)
    print(f"{name:<8} {a['loss']:12.6f} {b['loss']:12.6f} {difference:12.1e} {tolerance:9.0e}  {'FAILED: ' + wrong if wrong else 'ok'}")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
