#!/usr/bin/env python3
"""Writes ranks-512.tiktoken, the bytes of bpe-512.json's tokens in the order of their ids, and adds to each line of
ids.jsonl the ids that tiktoken gives its text.

Usage: tests/tokenizer/golden/make_ranks.py      after make.py (needs PyPI's tiktoken; they were made with 0.14.0)
"""
import base64
import json
import os

import tiktoken

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def byte_of():
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return {**{chr(b): b for b in own}, **{chr(0x100 + i): b for i, b in enumerate(b for b in range(256) if b not in own)}}


def main():
    with open(os.path.join(HERE, "bpe-512.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    special = {token["content"] for token in tokenizer["added_tokens"]}
    vocab, alphabet, ranks = tokenizer["model"]["vocab"], byte_of(), {}
    for token in sorted(vocab, key=vocab.get):
        if token not in special:
            ranks[bytes(alphabet[c] for c in token)] = len(ranks)
    with open(os.path.join(HERE, "ranks-512.tiktoken"), "wb") as file:
        for token, rank in ranks.items():
            file.write(base64.b64encode(token) + f" {rank}\n".encode())
    encoding = tiktoken.Encoding("made", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens={})
    path = os.path.join(HERE, "ids.jsonl")
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            line["ranks-512"] = encoding.encode_ordinary(line["text"])
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


main()
