#!/usr/bin/env python3
"""Puts the sources of a target into batches that are compiled as one (OCTET_UNITY). Two sources share a batch only if
neither mentions a name that the other has for itself (in an anonymous namespace, as a static, a macro or an alias): so what a
source means does not depend on its neighbours, and two that use a name each in their own way need not be renamed.

Usage: cmake/unity.py MOST FILE...     prints a line "NUMBER FILE" for each file that shares a batch
"""
import re
import sys

WORDS = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")
TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
KEYWORD = re.compile(r"^(?:template <.*?> )?(?:struct|class|union|enum class|enum|using|concept)\s+(?:\[\[.*?\]\]\s*)?(\w+)")
ATTRIBUTE = re.compile(r"\b(?:alignas|requires|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*")
DECLARED = re.compile(r"(\boperator\W+?(?=\()|\w+)\s*(?:\(|=|\{|;|\[|$)")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST\w*|INSTANTIATE_\w+)\((\w+), *(\w+)")


def stripped(text):
    """Without comments and literals; lines stay."""
    return TOKENS.sub(lambda m: "\n" * m.group().count("\n") + (" " if m.group().startswith("/") else '""'), text)


def own_names(text):
    """What the source declares for itself: clang-format puts what is in a namespace at the beginning of the line."""
    names, anonymous, depth = set(), False, 0
    for line in ATTRIBUTE.sub("", text).splitlines():
        macro = re.match(r"#\s*define\s+(\w+)", line)
        if macro:
            names.add(macro.group(1))
        if re.match(r"namespace \{", line):
            anonymous = True
            continue
        if anonymous and depth == 0 and line.startswith("}"):
            anonymous = False
            continue
        if re.match(r"template <|namespace |static_assert|using (?!\w+ =)", line):
            continue
        if (anonymous or re.match(r"static |using |constexpr |const (?![^=({]*[&*] [\w:]+\()", line)) and re.match(r"\w|\[", line):
            test = TEST.match(line)
            keyword = KEYWORD.match(line)
            if test:
                names.add("_".join(test.groups()) + "_Test")
            elif re.match(r"(?:static |inline )*const(?:expr)? ", line):
                names.update(re.findall(r"(?<!::)\b(\w+)(?: =|\{|\(|\[)", line)[: 1 + line.count(",")])
            elif keyword:
                names.add(keyword.group(1))
            else:
                found = DECLARED.search(re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", line)))
                # PrintTo is overloaded: what it prints has a name of its own.
                if found and found.group(1) not in ("std", "INSTANTIATE_TEST_SUITE_P", "PrintTo"):
                    names.add(found.group(1))
        depth += line.count("{") - line.count("}") if anonymous else 0
    return names


class Source:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = stripped(file.read())
        self.path = path
        self.own = own_names(text)
        self.words = set(WORDS.findall(text)) | self.own
        # Changed diagnostics and replaced allocation functions would be its neighbours' too.
        self.alone = bool(re.search(r"^#\s*(?:undef|pragma (?!once|omp))|^void\*? operator (?:new|delete)", text, re.M))
        self.opened = set(re.findall(r"^using namespace ([\w:]+)", text, re.M))

    def fits(self, other):
        return self.opened == other.opened and not (self.own & other.words or other.own & self.words)


def batches(sources, most):
    """The sources with most conflicts first: they are the ones that need a batch of their own."""
    found = []
    conflicts = {s.path: sum(not s.fits(other) for other in sources if other is not s) for s in sources}
    for source in sorted(sources, key=lambda s: -conflicts[s.path]):
        home = None
        if not source.alone:
            home = next((b for b in found if len(b) < most and not b[0].alone and all(source.fits(o) for o in b)), None)
        if home is None:
            found.append(home := [])
        home.append(source)
    return found


def main():
    most = int(sys.argv[1])
    for i, batch in enumerate(batches([Source(path) for path in sorted(sys.argv[2:])], most)):
        for source in batch if len(batch) > 1 else []:
            print(i, source.path)


if __name__ == "__main__":
    main()
