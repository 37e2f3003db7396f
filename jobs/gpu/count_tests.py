#!/usr/bin/env python3
"""What GoogleTest programs did, from their JSON reports: for jobs/gpu/check.sh, ranks.sh and sanitize.sh.

Usage: count_tests.py [REPORT EXIT_CODE]...     prints the failed tests and one line of counts. Exit 1 when a test
failed, a program did not end well, or no test ran: tests that were all skipped have shown nothing.
"""

import json
import sys


def count(report):
    passed, failed, skipped = [], [], []
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("failures"):
                failed.append(name)
            elif test.get("result") == "SKIPPED":
                skipped.append(name)
            elif test.get("status") == "RUN":
                passed.append(name)
    return passed, failed, skipped


def main():
    passed, failed, skipped, wrong = [], [], [], []
    for path, code in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
        try:
            with open(path, encoding="utf-8") as file:
                found = count(json.load(file))
        except (OSError, json.JSONDecodeError):
            wrong.append(f"no report {path}: the program ended with exit code {code}" + (" (time limit)" if code == 124 else ""))
            continue
        for names, more in zip((passed, failed, skipped), found):
            names += more
        if code != 0 and not found[1]:
            wrong.append(f"{path}: the program ended with exit code {code}")
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    if not passed:
        wrong.append("no test ran")
    print("".join(f"{text}\n" for text in wrong), end="")
    return 0 if not failed and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
