#!/usr/bin/env python3
"""Makes patterns up and compares where they cut with Oniguruma, by which Hugging Face's tokenizers match.

Usage: tests/tokenizer/compare_patterns.py BUILD/bin/octet-tokenizer-alone [--patterns 3000] [--seed 1]
       (needs PyPI's tokenizers, tiktoken and numpy)

Each pattern is the Split of golden/bpe-512.json, with which both encode 62 texts. Patterns that Octet refuses are counted;
one on which PCRE2 gives up is printed. Exit 1 where ids differ.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import compare
import pre_tokenizers
import texts as made
from tokenizers import Tokenizer

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
ATOMS = ["a", "b", "\u00e9", "\u4e2d", "1", "'", " ", r"\s", r"\S", r"\d", r"\D", r"\p{L}", r"\p{N}", r"\P{L}", r"\p{Lu}", r"\p{P}", r"\p{M}",
         r"\p{Han}", ".", "^", "$", r"\Z", r"\A", r"\z", r"[^\s\p{L}]", "[a-z]", r"[\r\n]", "[ab[cd]]", r"[\p{L}\p{M}'-]", r"\n", r"\t",
         "(?=a)", r"(?!\s)", r"(?<=\s)", r"(?<!\p{L})", r"(?!\S)", "(?i:'s|'re)", "(?i:[a-k]x)", "-", "<", r"\|", "{", "}", "]", r"\u00e9",
         r"\x{4e2d}"]
TIMES = ["", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{,2}", "{2,}", "{1,3}+", "{1,2}?", "{0,2}+"]
MORE = ["aab 12345 'S're \u00c9\u00e9Bb\n\n\u4e2d\u6587 a-b<|{}] ", "axbx'S 'RE\r\n  \n1a"]


def pattern(rng, depth=0):
    out = ""
    for _ in range(rng.randint(1, 4)):
        group = rng.random() < 0.15 and depth < 3
        atom = rng.choice(["(", "(?:", "(?>", "(?=", "(?!"]) + pattern(rng, depth + 1) + ")" if group else rng.choice(ATOMS)
        out += atom + rng.choice(TIMES) + ("|" if rng.random() < 0.25 else "")
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--patterns", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    texts = made.fuzzed(arguments.seed, 60, 25) + MORE
    with open(f"{GOLDEN}/bpe-512.json", encoding="utf-8") as file:
        model = json.load(file)
    compared = refused = different = 0
    with tempfile.TemporaryDirectory() as folder:
        compare.write_texts(f"{folder}/texts", texts)
        for _ in range(arguments.patterns):
            made_up = pattern(rng)
            changed = json.dumps({**model, "pre_tokenizer": pre_tokenizers.sequence(pre_tokenizers.split(made_up), pre_tokenizers.BYTES)})
            with open(f"{folder}/tokenizer.json", "w", encoding="utf-8") as file:
                file.write(changed)
            try:
                our_ids, _ = compare.ours(arguments.program, f"{folder}/tokenizer.json", f"{folder}/texts", folder, False)
            except subprocess.CalledProcessError as error:
                refused += 1
                if "expected a pattern" not in error.stderr:
                    print(f"{made_up!r}: {error.stderr.strip()}")
                continue
            try:
                other = Tokenizer.from_str(changed)
            except Exception as error:  # noqa: BLE001  its own kind is not exported
                print(f"{made_up!r}: Oniguruma alone refuses it: {error}")
                continue
            other.encode_special_tokens = True
            compared += 1
            wrong = [text for text, ids in zip(texts, our_ids) if ids != other.encode(text, add_special_tokens=False).ids]
            if wrong:
                different += 1
                print(f"{made_up!r}: {len(wrong)} texts differ, such as {min(wrong, key=len)!r}")
    print(f"{compared} patterns compared, {refused} refused, {different} differ")
    sys.exit(1 if different else 0)


main()
