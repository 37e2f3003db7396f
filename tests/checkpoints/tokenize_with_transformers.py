#!/usr/bin/env python3
"""Loads the tokenizer and the model of an exported folder by transformers' Auto classes, without network.

Usage: tests/checkpoints/tokenize_with_transformers.py FOLDER TEXT IDS EOS
  FOLDER   the exported folder
  TEXT     a text file
  IDS      JSON: the ids that Octet makes of it, with what tokenizer.json puts around every text
  EOS      the text of the token that ends a document

Exit 0 when they agree, 1 with what differs when not. tests/jobs/transformers_test.cpp calls this.
"""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers  # noqa: E402, which reads the variable


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, eos = sys.argv[1], sys.argv[4]
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    with open(sys.argv[3], encoding="utf-8") as file:
        ids = json.load(file)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    found = tokenizer(text)["input_ids"]
    if found != ids:
        at = next((i for i, (a, b) in enumerate(zip(found, ids)) if a != b), min(len(found), len(ids)))
        sys.exit(f"{len(found)} ids, Octet {len(ids)}; the first difference is at {at}")
    expected = tokenizer.convert_tokens_to_ids(eos)
    for name, value in (("tokenizer", tokenizer.eos_token_id), ("config", model.config.eos_token_id),
                        ("generation_config", model.generation_config.eos_token_id)):
        if value != expected:
            sys.exit(f"eos of {name} is {value}, expected {expected}, the id of {eos}")
    print(f"transformers {transformers.__version__}: {len(ids)} ids agree, eos is {expected}")


if __name__ == "__main__":
    main()
