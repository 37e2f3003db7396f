#!/usr/bin/env python3
"""Writes letter_cases.cpp: what Python's str.capitalize makes of the first character of a text and of the others.

Usage: python3 src/evaluate/tasks/make_letter_cases.py > src/evaluate/tasks/letter_cases.cpp

lm-eval-harness calls it on texts of HellaSwag. Python's table is the only source; 3.11 has Unicode 14.0. The capital
sigma, whose small form depends on its place, has none here.
"""
import sys
import textwrap
import unicodedata

SIGMA = 0x3A3
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def runs(changed):
    """(first, last, step, difference) of pairs that follow each other by steps of 1 or 2 with one difference."""
    found = []
    for c, to in changed:
        last = found[-1] if found else None
        if last and to - c == last[3] and (c - last[1] == last[2] or (last[0] == last[1] and c - last[1] in (1, 2))):
            last[2] = c - last[1]
            last[1] = c
        else:
            found.append([c, c, 1, to - c])
    return found


def written(name, mapping):
    plain = [(c, ord(to)) for c, to in mapping if len(to) == 1]
    text = ", ".join(f"{{0x{first:X},0x{last:X},{step},{by}}}" for first, last, step, by in runs(plain))
    lines = "\n".join(textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    "))
    return f"constexpr CaseRun {name}[] = {{\n{lines}}};\n"


def written_long(name, mapping):
    text = ", ".join(f"{{0x{c:X}, \"{''.join(f'{b:c}' if b < 128 else f'{chr(92)}{b:03o}' for b in to.encode())}\"}}"
                     for c, to in mapping if len(to) > 1)
    lines = "\n".join(textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    "))
    return f"constexpr LongCase {name}[] = {{\n{lines}}};\n"


TEXT = """// Made by make_letter_cases.py beside this file, from Python's table of Unicode VERSION.
#include "src/evaluate/tasks/letter_cases.h"

namespace octet {
namespace {

// clang-format off
TABLES// clang-format on

}  // namespace

CaseTable small_letters() {
  return {small, long_small};
}

CaseTable first_letters() {
  return {title, long_title};
}

}  // namespace octet
"""


def main():
    small = [(c, ("a" + chr(c)).capitalize()[1:]) for c in CODE_POINTS if c != SIGMA]
    small = [(c, to) for c, to in small if to != chr(c)]
    title = [(c, chr(c).capitalize()) for c in CODE_POINTS if chr(c).capitalize() != chr(c)]
    tables = (written("small", small) + written_long("long_small", small) + written("title", title)
              + written_long("long_title", title))
    sys.stdout.write(TEXT.replace("VERSION", unicodedata.unidata_version).replace("TABLES", tables))


main()
