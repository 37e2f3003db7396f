#!/usr/bin/env python3
"""Writes the vocabularies and the ids that the tests of src/tokenizer compare with.

Usage: tests/tokenizer/golden/make.py      (needs PyPI's tokenizers; they were made with 0.23.3)

bpe-512.json and bpe-4096.json are trained on this repository and on made-up words of many scripts; the first merges
words that are tokens (ignore_merges false). Each line of ids.jsonl has a text and its ids in both, control tokens as
plain text.
"""
import json
import os

import texts
import train

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    corpus = texts.of_tree(os.path.join(HERE, "../../..")) + texts.languages(1, 600_000)
    tokenizers = {}
    for size, ignore_merges in ((512, False), (4096, True)):
        tokenizer = train.train(corpus, size, ignore_merges)
        tokenizer.encode_special_tokens = True
        tokenizers[f"bpe-{size}"] = tokenizer
        with open(os.path.join(HERE, f"bpe-{size}.json"), "w", encoding="utf-8") as file:
            json.dump(json.loads(tokenizer.to_str()), file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
    with open(os.path.join(HERE, "ids.jsonl"), "w", encoding="utf-8") as file:
        for text in texts.fuzzed(2, 300, 30) + [text[:150] for text in texts.languages(3, 15_000)]:
            ids = {name: tokenizer.encode(text, add_special_tokens=False).ids for name, tokenizer in tokenizers.items()}
            file.write(json.dumps({"text": text, **ids}, separators=(",", ":")) + "\n")


main()
