#!/usr/bin/env python3
"""Writes what Hugging Face's tokenizers make of texts with the pre-tokenizers of pre_tokenizers.py and the vocabulary of
bpe-512.json: pre_tokenizers.json has these by name, each line of pre_tokenizers.jsonl a text and its ids by name.

Usage: tests/tokenizer/golden/make_pre_tokenizers.py     (needs PyPI's tokenizers; they were made with 0.23.3)
"""
import json
import os

import pre_tokenizers
import texts
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
NEW = "\U00013460\U00011DE0\u1C89\uA7DA\U00031350\U0001E030\U00010D40\U0001CC00\U0001FAE9"  # of Unicode 15 to 17


def main():
    with open(os.path.join(HERE, "bpe-512.json"), encoding="utf-8") as file:
        model = json.load(file)
    tokenizers = {}
    for name, section in pre_tokenizers.ALL.items():
        tokenizers[name] = Tokenizer.from_str(json.dumps({**model, "pre_tokenizer": section}))
        tokenizers[name].encode_special_tokens = True
    with open(os.path.join(HERE, "pre_tokenizers.json"), "w", encoding="utf-8") as file:
        json.dump(pre_tokenizers.ALL, file, separators=(",", ":"))
        file.write("\n")
    samples = texts.fuzzed(11, 80, 30) + [text[:80] for text in texts.languages(12, 8_000)][:25]
    samples += [f"a{c}1{c}{c} {c}" for c in NEW] + ["1234567 12 ab.cd! 12345\n", "x  \n\n  y\t\n", "don't WE'LL 'S\u017f"]
    with open(os.path.join(HERE, "pre_tokenizers.jsonl"), "w", encoding="utf-8") as file:
        for text in samples:
            ids = {name: tokenizer.encode(text, add_special_tokens=False).ids for name, tokenizer in tokenizers.items()}
            file.write(json.dumps({"text": text, **ids}, separators=(",", ":")) + "\n")


main()
