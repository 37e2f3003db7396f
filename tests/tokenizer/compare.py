#!/usr/bin/env python3
"""Compares our ids with those of Hugging Face's tokenizers and of tiktoken on 50 MB of text, and the speeds.

Usage: tests/tokenizer/compare.py BUILD/bin/octet-tokenizer-alone [--megabytes 50] [--fuzzed 20000]
       (needs PyPI's tokenizers, tiktoken and numpy; cmake --build BUILD --target octet-tokenizer-alone)

Trains vocabularies of 512, 4,096 and 32,768 entries, and makes a rank file of the last; for a tenth of the texts, the
pre-tokenizers of golden/pre_tokenizers.py and the patterns of OpenAI's encodings too. Prints a line for each with the
number of texts, how many differ, and MB/s of one thread each; exit 1 where something differs.
"""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
import tiktoken
from tiktoken_ext import openai_public

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden"))
import pre_tokenizers  # noqa: E402
import texts as made  # noqa: E402
import train  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def write_texts(path, texts):
    with open(path, "wb") as file:
        for text in texts:
            data = text.encode()
            file.write(len(data).to_bytes(4, "little") + data)


def ours(program, tokenizer, texts_file, folder, control):
    """(ids of each text, MB/s)"""
    ids_file = os.path.join(folder, "ids")
    run = subprocess.run([program, tokenizer, texts_file, ids_file, str(int(control))], check=True, capture_output=True, text=True)
    all_ids, ids, place = numpy.fromfile(ids_file, dtype=numpy.int32), [], 0
    while place < len(all_ids):
        count = int(all_ids[place])
        ids.append(all_ids[place + 1:place + 1 + count].tolist())
        place += 1 + count
    return ids, float(run.stdout.split()[0])


def theirs(encode, texts):
    begin = time.perf_counter()
    ids = [encode(text) for text in texts]
    return ids, sum(len(text.encode()) for text in texts) / (time.perf_counter() - begin) / 1e6


def compare(name, texts, our_result, their_result):
    (our_ids, our_speed), (their_ids, their_speed) = our_result, their_result
    differ = [i for i, (a, b) in enumerate(zip(our_ids, their_ids)) if a != b]
    tokens = sum(map(len, our_ids))
    print(f"{name:34} {len(texts):6} texts {tokens:10} ids  {len(differ)} differ   "
          f"{our_speed:6.1f} MB/s against {their_speed:.1f}", flush=True)
    for i in differ[:3]:
        print(f"    {texts[i][:200]!r}\n    {our_ids[i][:40]}\n    {their_ids[i][:40]}")
    return len(differ) + (len(our_ids) != len(texts))


def rank_file(tokenizer, path, pattern=train.LLAMA3, count=0):
    """The bytes and merges of a tokenizer in the order of their ids, special tokens left out, and words that occur nowhere
    up to `count`."""
    vocab, ranks = tokenizer.get_vocab(), {}
    for token in sorted(vocab, key=vocab.get):
        if token not in train.SPECIAL:
            ranks[bytes(BYTE_OF[c] for c in token)] = len(ranks)
    while len(ranks) < count:
        ranks[b"\xff\xfe%d" % len(ranks)] = len(ranks)
    with open(path, "wb") as file:
        for token, rank in ranks.items():
            file.write(base64.b64encode(token) + f" {rank}\n".encode())
    return tiktoken.Encoding("made", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def byte_alphabet():
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in own]
    return {**{chr(b): b for b in own}, **{chr(0x100 + i): b for i, b in enumerate(others)}}


BYTE_OF = byte_alphabet()


def compare_pre_tokenizers(program, tokenizer, samples, folder):
    path, different = f"{folder}/tokenizer.json", 0
    for name, section in pre_tokenizers.ALL.items():
        if name in pre_tokenizers.LOSSY:
            continue
        changed = json.dumps({**json.loads(tokenizer.to_str()), "pre_tokenizer": section})
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
        other = Tokenizer.from_str(changed)
        other.encode_special_tokens = True
        for kind, sample in samples.items():
            different += compare(f"{name}, {kind}", sample, ours(program, path, f"{folder}/{kind}", folder, False),
                                 theirs(lambda text: other.encode(text, add_special_tokens=False).ids, sample))
    return different


def compare_encodings(program, tokenizer, samples, folder):
    path, different = f"{folder}/ranks.tiktoken", 0
    for name, count, pattern in (("r50k_base", 50256, openai_public.r50k_pat_str), ("o200k_base", 199998, pre_tokenizers.O200K)):
        encoding = rank_file(tokenizer, path, pattern, count)
        for kind, sample in samples.items():
            different += compare(f"{name}'s pattern, {kind}", sample,
                                 ours(program, path, f"{folder}/{kind}", folder, False),
                                 theirs(encoding.encode_ordinary, sample))
    return different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--fuzzed", type=int, default=20000)
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    machine = made.of_machine(size * 3 // 4)
    texts = machine + made.languages(7, size // 4) + made.of_tree(ROOT)
    fuzzed = made.fuzzed(9, arguments.fuzzed)
    print(f"{sum(len(text.encode()) for text in texts) / 1e6:.1f} MB, of which {sum(len(t.encode()) for t in machine) / 1e6:.1f} "
          f"are files of this machine; {len(fuzzed)} fuzzed strings")
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        write_texts(f"{folder}/texts", texts)
        write_texts(f"{folder}/fuzzed", fuzzed)
        for vocabulary, ignore_merges in ((512, False), (4096, True), (32768, True)):
            tokenizer = train.train(texts[::3], vocabulary, ignore_merges)
            path = f"{folder}/tokenizer.json"
            tokenizer.save(path)
            for control in (False, True):
                tokenizer.encode_special_tokens = not control
                for name, sample in (("texts", texts), ("fuzzed", fuzzed)):
                    if control and name == "texts":
                        continue  # the same as before: none of them spells a special token
                    different += compare(
                        f"{tokenizer.get_vocab_size()} entries, {name}{', control' if control else ''}", sample,
                        ours(arguments.program, path, f"{folder}/{name}", folder, control),
                        theirs(lambda text: tokenizer.encode(text, add_special_tokens=False).ids, sample))
        few = {"tenth": texts[::10], "fuzzed": fuzzed}
        write_texts(f"{folder}/tenth", few["tenth"])
        different += compare_pre_tokenizers(arguments.program, tokenizer, few, folder)
        different += compare_encodings(arguments.program, tokenizer, few, folder)
        encoding = rank_file(tokenizer, f"{folder}/ranks.tiktoken")
        for name, sample in (("texts", texts), ("fuzzed", fuzzed)):
            different += compare(f"{encoding.n_vocab} ranks, {name}", sample,
                                 ours(arguments.program, f"{folder}/ranks.tiktoken", f"{folder}/{name}", folder, False),
                                 theirs(encoding.encode_ordinary, sample))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
