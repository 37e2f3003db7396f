#!/usr/bin/env bash
# prepare_words.sh BIN FOLDER: token data of words drawn by a fixed rule, 2 MB, in FOLDER/tokens. Speed does not depend on
# what a text says.
set -euo pipefail
[[ $# == 2 && $1 != -* ]] || { echo 'usage: tests/benchmark/prepare_words.sh BIN FOLDER' >&2 && exit 64; }
bin=$1 folder=$2
mkdir "$folder/text"
python3 - > "$folder/text/words.txt" << 'END'
import random
rng = random.Random(1)
words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(2000)]
for _ in range(30000):
    print(" ".join(rng.choices(words, k=10)))
END
"$bin/octet" prepare --input "$folder/text" --output "$folder/tokens" > "$folder/prepare.log" 2>&1 ||
  { cat "$folder/prepare.log" >&2; exit 70; }
