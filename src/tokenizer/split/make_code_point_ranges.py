#!/usr/bin/env python3
"""Writes code_point_ranges.cpp, the letters and numbers of the Unicode version that the tokenizers package has.

Usage: python3 src/tokenizer/split/make_code_point_ranges.py > code_point_ranges.cpp     (needs PyPI's tokenizers)

The package is asked about every code point, since it names no version; 0.23.3 behaves like Unicode 16.0. The script
also makes sure of what llama3.cpp takes for granted: which characters are spaces, and which fold to the letters of the
contractions.
"""
import sys
import textwrap

import tokenizers
from tokenizers import Regex, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPACES = [0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def matched(pattern):
    """The code points that the pattern, which matches one character, takes."""
    rest = pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str("".join(map(chr, CODE_POINTS)))
    left = {c for _, (begin, end) in rest for c in CODE_POINTS[begin:end]}
    return [c for c in CODE_POINTS if c not in left]


def ranges(points):
    found = []
    for c in points:
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def check_folding():
    for word in ["s", "t", "re", "ve", "m", "ll", "d"]:
        split = pre_tokenizers.Split(Regex(f"(?i:'{word})"), "isolated")
        for place, letter in enumerate(word):
            texts = (word[:place] + chr(c) + word[place + 1:] for c in CODE_POINTS)
            taken = [text[place] for text in texts if len(split.pre_tokenize_str(f"'{text}0")) > 1]
            expected = [letter.upper(), letter] + ["\u017f"] * (letter == "s")
            if taken != expected:
                sys.exit(f"'{word}: {letter} matches {taken}")


def written(name, points):
    text = ", ".join(f"{{0x{first:X},0x{last:X}}}" for first, last in ranges(points))
    lines = "\n".join(textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    "))
    return f"constexpr CodePointRange {name}[] = {{\n{lines}}};\n"


TEXT = """// Made by make_code_point_ranges.py beside this file, from tokenizers VERSION.
#include "src/tokenizer/split/code_point_ranges.h"

namespace octet {
namespace {

// clang-format off
LETTERS
NUMBERS// clang-format on

}  // namespace

std::span<const CodePointRange> letter_ranges() {
  return letters;
}

std::span<const CodePointRange> number_ranges() {
  return numbers;
}

}  // namespace octet
"""


def main():
    if matched(r"\s") != SPACES:
        sys.exit("the spaces are others")
    check_folding()
    text = TEXT.replace("VERSION", tokenizers.__version__)
    text = text.replace("LETTERS", written("letters", matched(r"\p{L}")))
    sys.stdout.write(text.replace("NUMBERS", written("numbers", matched(r"\p{N}"))))


main()
