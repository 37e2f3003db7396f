#!/usr/bin/env python3
"""Writes FILE of about BYTES bytes: words drawn by a fixed rule, each likely after the one before it, so that a model
has something to learn. Needs no network.
Usage: make_text.py FILE BYTES"""

import random
import sys


def words(rng):
    letters = "etaoinshrdlucmfwypvbgk"
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(1000)]
    followers = [[rng.randrange(1000) for _ in range(4)] for _ in vocabulary]
    word = 0
    while True:
        yield vocabulary[word]
        word = rng.choice(followers[word]) if rng.random() < 0.9 else rng.randrange(1000)


def main():
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return
    if len(arguments) != 2 or not arguments[1].isdigit():
        print(f"make_text.py: '{' '.join(arguments)}', expected FILE BYTES (see --help)", file=sys.stderr)
        raise SystemExit(64)
    path, left = arguments[0], int(arguments[1])
    source = words(random.Random(1))
    with open(path, "w", encoding="ascii") as file:
        while left > 0:
            line = " ".join(next(source) for _ in range(12)) + ".\n"
            left -= file.write(line)


if __name__ == "__main__":
    main()
