#!/usr/bin/env python3
"""Counts the tests in a GoogleTest JSON report: prints "PASSED FAILED SKIPPED".

Usage: tests/support/count.py REPORT EXIT_CODE      EXIT_CODE: how the test program ended
A program that left no whole report, ran nothing, or ended badly although no test failed counts as one failure more.
"""
import json
import sys


def count(path, code):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError):
        return 0, 1, 0
    passed = failed = skipped = 0
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            if test.get("failures"):
                failed += 1
            elif test.get("status") == "NOTRUN" or test.get("result") == "SKIPPED":
                skipped += 1
            else:
                passed += 1
    if (code != 0 and failed == 0) or passed + failed + skipped == 0:
        failed += 1
    return passed, failed, skipped


if __name__ == "__main__":
    print(*count(sys.argv[1], int(sys.argv[2])))
