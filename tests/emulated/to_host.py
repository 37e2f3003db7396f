#!/usr/bin/env python3
"""Writes a kernel's source as C++ that a host compiler reads: launches become calls of octet::emulated::Launch, and
dynamic shared memory a call. Everything else is done by the headers that are included before it (prelude.h).

Usage: to_host.py FILE.cu FILE.cpp
"""
import os
import re
import sys

LAUNCH = re.compile(r"\b(\w+(?:<[^<>;(){}]*>)?)\s*<<<(.*?)>>>\s*\((\)?)", re.S)
DYNAMIC = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];")


def converted(text, name):
    def launch(m):
        # Several files call what they launch just so.
        of_file = f" of {os.path.basename(name)}" if m[1] == "kernel" else ""
        return f'::octet::emulated::Launch("{m[1]}{of_file}", {m[2]})({m[1]}{"" if m[3] else ", "}{m[3]}'

    text = LAUNCH.sub(launch, text)
    text = DYNAMIC.sub(r"\1* \2 = ::octet::emulated::dynamic_shared<\1>();", text)
    if "<<<" in text or "extern __shared__" in text:
        sys.exit(f"{name}: a launch or a declaration of dynamic shared memory that to_host.py does not understand")
    return f'#line 1 "{name}"\n{text}'


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        text = converted(f.read(), source)
    with open(target, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
