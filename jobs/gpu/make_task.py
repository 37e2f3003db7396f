#!/usr/bin/env python3
"""Writes FOLDER/own.yaml and own.jsonl, a multiple choice task of TEXT for octet-evaluate --tasks: which words come next?
Several questions begin alike, and choices of one question always do, so that what they share is computed once.

Usage: make_task.py TEXT FOLDER QUESTIONS
"""
import json
import os
import random
import sys


def questions(words, count):
    """Of each stretch of 40 words the 4 that follow, among 3 others; three questions end at different words of one stretch."""
    rng = random.Random(1)
    for i in range(count):
        start = i // 3 * 50
        end = start + 40 + i % 3
        right = " ".join(words[end:end + 4])
        wrong = [" ".join(words[at:at + 4]) for at in rng.sample(range(len(words) - 4), 3)]
        gold = rng.randrange(4)
        yield {"context": " ".join(words[start:end]), "choices": [" " + w for w in wrong[:gold] + [right] + wrong[gold:]], "gold": gold}


def main():
    text, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(text, encoding="ascii") as file:
        words = file.read().split()
    with open(os.path.join(folder, "own.jsonl"), "w", encoding="ascii") as file:
        file.writelines(json.dumps(q) + "\n" for q in questions(words, count))
    with open(os.path.join(folder, "own.yaml"), "w", encoding="ascii") as file:
        file.write("name: own\npath: own.jsonl\ncontext: context\nchoices: choices\ngold: gold\n")


if __name__ == "__main__":
    main()
