#!/usr/bin/env python3
"""Writes the SentencePiece models of the tests and what its Python package makes of texts with them.

Usage: tests/tokenizer/golden/make_sentencepiece.py     (needs PyPI's sentencepiece; they were made with 0.2.3)

spm-bpe.model and spm-unigram.model are trained on this repository and on made-up words of many scripts. Each line of
sentencepiece.jsonl has a text, its ids in both, and the texts of these ids.
"""
import json
import os

import sentencepiece
import sentencepiece_models
import texts

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    corpus = texts.of_tree(os.path.join(HERE, "../../..")) + texts.languages(1, 200_000)
    processors = {}
    for kind, size in (("bpe", 700), ("unigram", 900)):
        model = sentencepiece_models.train(corpus, kind, size)
        with open(os.path.join(HERE, f"spm-{kind}.model"), "wb") as file:
            file.write(model)
        processors[kind] = sentencepiece.SentencePieceProcessor(model_proto=model)
    samples = texts.fuzzed(14, 120, 30) + [text[:100] for text in texts.languages(15, 8_000)]
    samples += ["", " ", "  a  b ", "<sep>a<sep> <ctl> </s><s>", "\uff21\ufb01 e\u0301\u3000x\u00a0", "\u2581a \u2581", "\u0000a"]
    with open(os.path.join(HERE, "sentencepiece.jsonl"), "w", encoding="utf-8") as file:
        for text in samples:
            line = {"text": text}
            for kind, processor in processors.items():
                line[kind] = processor.encode(text)
                line[kind + "-text"] = processor.decode(line[kind])
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


main()
