#!/usr/bin/env python3
"""Compares our ids for SentencePiece models with those of its Python package, and the speeds.

Usage: tests/tokenizer/compare_sentencepiece.py BUILD/bin/octet-tokenizer-alone [--megabytes 10] [--fuzzed 20000]
       (needs PyPI's sentencepiece, tokenizers, tiktoken and numpy)

Trains a BPE model with byte_fallback and a unigram model with NFKC, 8,000 pieces each. Prints a line for each with the number
of texts, how many differ, and MB/s of one thread each; exit 1 where something differs.
"""
import argparse
import os
import sys
import tempfile

import compare
import sentencepiece
import sentencepiece_models
import texts as made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--fuzzed", type=int, default=20000)
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    samples = {"texts": made.of_machine(size * 3 // 4) + made.languages(7, size // 4), "fuzzed": made.fuzzed(9, arguments.fuzzed)}
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, sample in samples.items():
            compare.write_texts(f"{folder}/{kind}", sample)
        for model in ("bpe", "unigram"):
            trained = sentencepiece_models.train(samples["texts"][::10], model, 8000, "nmt_nfkc")
            path = os.path.join(folder, "tokenizer.model")
            with open(path, "wb") as file:
                file.write(trained)
            processor = sentencepiece.SentencePieceProcessor(model_proto=trained)
            for kind, sample in samples.items():
                different += compare.compare(f"{model}, {kind}", sample,
                                             compare.ours(arguments.program, path, f"{folder}/{kind}", folder, False),
                                             compare.theirs(processor.encode, sample))
    sys.exit(1 if different else 0)


main()
