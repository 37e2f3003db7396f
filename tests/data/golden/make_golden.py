#!/usr/bin/env python3
"""Writes the golden token files of this folder, with nothing but the standard library.

The format is written down here a second time, from Megatron-LM's megatron/core/datasets/indexed_dataset.py
(_IndexWriter.write), so that the files are independent of Octet's own writer. Run it in this folder; the result is
committed, and tests/data/token_file_test.cpp compares it with Octet's files byte for byte and reads it back.
"""

import struct

CODES = {"uint8": (1, "B"), "int32": (4, "i"), "uint16": (8, "H")}


def write(name, dtype, documents):
    """documents: a list of documents, each a list of sequences, each a list of token ids."""
    code, letter = CODES[dtype]
    width = struct.calcsize("<" + letter)
    lengths, document_indices = [], [0]
    with open(name + ".bin", "wb") as out:
        for document in documents:
            for sequence in document:
                out.write(struct.pack(f"<{len(sequence)}{letter}", *sequence))
                lengths.append(len(sequence))
            document_indices.append(len(lengths))
    pointers, pointer = [], 0
    for length in lengths:
        pointers.append(pointer)
        pointer += length * width
    with open(name + ".idx", "wb") as out:
        out.write(b"MMIDIDX\x00\x00")
        out.write(struct.pack("<Q", 1))
        out.write(struct.pack("<B", code))
        out.write(struct.pack("<Q", len(lengths)))
        out.write(struct.pack("<Q", len(document_indices)))
        out.write(struct.pack(f"<{len(lengths)}i", *lengths))
        out.write(struct.pack(f"<{len(pointers)}q", *pointers))
        out.write(struct.pack(f"<{len(document_indices)}q", *document_indices))


def in_sequences(ids, longest):
    return [ids[i : i + longest] for i in range(0, len(ids), longest)]


write("bytes", "uint8", [[list(text.encode()) + [0]] for text in ("To be,", "or not", "to be: that is the question")])
write("words", "uint16", [[[1, 300, 65535]], [[0]], [[40000, 2]]])
write("wide", "int32", [in_sequences([100000 + i for i in range(7)], 3), [[2147483647, 5]]])
