#!/usr/bin/env python3
"""The rows of tests/evaluate/tasks/golden/data as Parquet, in the types that Hugging Face has for the columns of each
dataset, and files that are to be refused.

Usage: tests/evaluate/tasks/make_parquet.py FOLDER      (needs PyPI's pyarrow)

Writes FOLDER/TASK/SPLIT.parquet, or its pieces, and FOLDER/refused/NAME.parquet. tests/evaluate/dataset_file_test.cpp
holds what is read there to the rows of JSONL. tests/evaluate/tasks/golden/parquet is what this made, by pyarrow 26.0.1.
"""
import datetime
import json
import pathlib
import sys

import pyarrow
import pyarrow.parquet

DATA = pathlib.Path(__file__).resolve().parent / "golden" / "data"
TEXT = pyarrow.string()
LABELLED = pyarrow.struct({"text": pyarrow.list_(TEXT), "label": pyarrow.list_(TEXT)})
LARGE = pyarrow.large_list(pyarrow.large_string())
# Columns that are no texts. OpenBookQA stands here as Polars writes it, WinoGrande as pandas does with categories.
TYPES = {
    "arc_easy": {"choices": LABELLED},
    "arc_challenge": {"choices": LABELLED},
    "hellaswag": {"ind": pyarrow.int32(), "endings": pyarrow.list_(TEXT)},
    "mmlu/anatomy": {"choices": pyarrow.list_(TEXT), "answer": pyarrow.int64()},
    "openbookqa": {"question_stem": pyarrow.large_string(), "choices": pyarrow.struct({"text": LARGE, "label": LARGE})},
    "piqa": {"label": pyarrow.int64()},
    "sciq": {},
    "winogrande": {"answer": pyarrow.dictionary(pyarrow.int8(), TEXT)},
}
PIECES = {"hellaswag/train": 2}


def write(table, path, **options):
    """In several row groups, so that a reader has to go on behind the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, path, row_group_size=5, **options)


def convert(task, file, folder):
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    schema = pyarrow.schema({name: TYPES[task].get(name, TEXT) for name in rows[0]})
    options = {"compression": "zstd", "data_page_version": "2.0"} if task == "openbookqa" else {}
    count = PIECES.get(f"{task}/{file.stem}", 1)
    for i in range(count):
        part = rows[len(rows) * i // count:len(rows) * (i + 1) // count]
        name = file.stem + (f"-{i:05}-of-{count:05}" if count > 1 else "") + ".parquet"
        write(pyarrow.Table.from_pylist(part, schema), folder / task / name, **options)


def refused():
    """PIQA's columns, and what is wrong with them."""
    row = {"goal": "g", "sol1": "a", "sol2": "b", "label": 1}
    plain = pyarrow.Table.from_pylist([row, row])
    time = pyarrow.array([datetime.datetime(2026, 1, 2)] * 2)
    no_text = pyarrow.array([b"good", b"\xff"], pyarrow.binary()).view(TEXT)
    yield "no-rows", plain.slice(0, 0)
    yield "no-column", plain.drop_columns("sol2")
    yield "column-twice", plain.append_column("goal", plain["goal"])
    yield "number-for-text", plain.set_column(1, "sol1", pyarrow.array([1, 2]))
    yield "time-for-text", plain.set_column(0, "goal", time)
    yield "null-for-text", plain.set_column(0, "goal", pyarrow.array(["g", None]))
    yield "text-for-number", plain.set_column(3, "label", pyarrow.array(["1", "one"]))
    yield "bad-utf8", plain.set_column(0, "goal", no_text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    for task in TYPES:
        for file in sorted((DATA / task).glob("*.jsonl")):
            convert(task, file, folder)
    for name, table in refused():
        write(table, folder / "refused" / f"{name}.parquet")


if __name__ == "__main__":
    main()
