#!/usr/bin/env python3
"""Trains vocabularies with `octet tokenizer train` and with Hugging Face's tokenizers (PyPI) on the same documents and
compares tokens and merges; then times both.

Usage: tests/tokenizer/train_against_tokenizers.py BIN JSONL [VOCAB_SIZE...]
       BIN is the folder of octet; JSONL has documents in the field "text". Sizes: 512 4096 32768 by default.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>"]


def trained_by_tokenizers(documents, size):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(documents, trainer)
    return json.loads(tokenizer.to_str())["model"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    octet, data = pathlib.Path(sys.argv[1]) / "octet", sys.argv[2]
    documents = [json.loads(line)["text"] for line in open(data, encoding="utf-8")]
    failed = False
    for size in [int(word) for word in sys.argv[3:]] or [512, 4096, 32768]:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tokenizer.json"
            start = time.monotonic()
            subprocess.run([octet, "tokenizer", "train", "--input", data, "--vocab-size", str(size), "--output", file],
                           check=True, stdout=subprocess.DEVNULL)
            ours_seconds = time.monotonic() - start
            ours = json.loads(file.read_text())["model"]
            assert Tokenizer.from_file(str(file)).get_vocab_size() == len(ours["vocab"])
        start = time.monotonic()
        theirs = trained_by_tokenizers(documents, size)
        theirs_seconds = time.monotonic() - start
        merges = [list(m) if isinstance(m, list) else m.split(" ") for m in theirs["merges"]]
        same = next((i for i, (a, b) in enumerate(zip(ours["merges"], merges)) if a != b), min(len(merges), len(ours["merges"])))
        equal = ours["vocab"] == theirs["vocab"] and ours["merges"] == merges
        failed |= not equal
        print(f"{size:>7}: {'equal' if equal else 'DIFFERENT'}: {len(ours['vocab'])} and {len(theirs['vocab'])} tokens, "
              f"{len(ours['merges'])} and {len(merges)} merges, the first {same} alike; "
              f"{ours_seconds:.2f} s and {theirs_seconds:.2f} s")
    sys.exit(failed)


if __name__ == "__main__":
    main()
