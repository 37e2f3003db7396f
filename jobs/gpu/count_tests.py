#!/usr/bin/env python3
"""What a GoogleTest program did, from its JSON report: for jobs/gpu/check.sh and sanitize.sh.

Usage: count_tests.py REPORT EXIT_CODE     prints the failed tests and one line of counts. Exit 1 when a test failed,
the program did not end well, or no test ran: tests that were all skipped have shown nothing.
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
    code = int(sys.argv[2])
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            passed, failed, skipped = count(json.load(file))
    except (OSError, json.JSONDecodeError):
        print(f"no report: the program ended with exit code {code}" + (" (time limit)" if code == 124 else ""))
        return 1
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    if code != 0 and not failed:
        print(f"the program ended with exit code {code}")
    if not passed:
        print("no test ran")
    return 0 if passed and not failed and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
