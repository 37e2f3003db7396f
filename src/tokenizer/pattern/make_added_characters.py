#!/usr/bin/env python3
"""Writes added_characters.cpp: which characters have a property in the tokenizers package and not yet in PCRE2.

Usage: python3 src/tokenizer/pattern/make_added_characters.py > added_characters.cpp
       (needs PyPI's tokenizers, and libpcre2-8.so.0 with Unicode 14.0, as Debian 12 has it)

Both are asked about every code point. tokenizers 0.23.3 has Oniguruma with Unicode 16.0. A property that PCRE2 gives to
a character which Oniguruma does not give it to cannot be mended by adding characters; the script stops at one.
"""
import ctypes
import sys
import textwrap

import tokenizers
from tokenizers import Regex, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "L Lu Ll Lt Lm Lo M Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf".split()
SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai".split()
TEXT = """// Made by make_added_characters.py beside this file, from tokenizers VERSION and PCRE2 with Unicode 14.0.
#include "src/tokenizer/pattern/added_characters.h"

namespace octet {
namespace {

// clang-format off
TABLES
constexpr CharacterProperty properties[] = {
PROPERTIES};
// clang-format on

}  // namespace

std::span<const CharacterProperty> character_properties() {
  return properties;
}

}  // namespace octet
"""


def of_oniguruma(name):
    rest = pre_tokenizers.Split(Regex(rf"\p{{{name}}}"), "removed").pre_tokenize_str("".join(map(chr, CODE_POINTS)))
    left = {c for _, (begin, end) in rest for c in CODE_POINTS[begin:end]}
    return {c for c in CODE_POINTS if c not in left}


def of_pcre2(name):
    library = ctypes.CDLL("libpcre2-8.so.0")
    library.pcre2_compile_8.restype = library.pcre2_match_data_create_8.restype = ctypes.c_void_p
    error, place = ctypes.c_int(), ctypes.c_size_t()
    pattern = rf"\p{{{name}}}".encode()
    utf_ucp_anchored = ctypes.c_uint32(0x00080000 | 0x00020000 | 0x80000000)
    code = ctypes.c_void_p(library.pcre2_compile_8(pattern, ctypes.c_size_t(len(pattern)), utf_ucp_anchored,
                                                   ctypes.byref(error), ctypes.byref(place), None))
    data = ctypes.c_void_p(library.pcre2_match_data_create_8(ctypes.c_uint32(1), None))

    def matches(c):
        text = chr(c).encode()
        return library.pcre2_match_8(code, text, ctypes.c_size_t(len(text)), ctypes.c_size_t(0), ctypes.c_uint32(0), data, None) >= 0

    return {c for c in CODE_POINTS if matches(c)}


def ranges(points):
    found = []
    for c in sorted(points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def main():
    tables, properties = "", ""
    for name, for_pcre2 in [(n, n) for n in CATEGORIES] + [(n, f"sc={n}") for n in SCRIPTS]:
        old, new = of_pcre2(for_pcre2), of_oniguruma(name)
        if old - new:
            sys.exit(f"{name}: PCRE2 alone has {sorted(map(hex, old - new))}")
        entry = f'    {{"{name}", "{for_pcre2}", '
        if new - old:
            text = ", ".join(f"{{0x{first:X},0x{last:X}}}" for first, last in ranges(new - old))
            tables += f"constexpr CodePointRange added_{name}[] = {{\n"
            tables += "\n".join(textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    ")) + "};\n"
            properties += f"{entry}added_{name}}},\n"
        else:
            properties += f"{entry}{{}}}},\n"
    text = TEXT.replace("VERSION", tokenizers.__version__).replace("TABLES\n", tables)
    sys.stdout.write(text.replace("PROPERTIES", properties))


main()
