#!/usr/bin/env python3
"""Reads a checkpoint as docs/checkpoint-format.md describes it, with h5py, and checks what can be checked.

Usage: tests/checkpoints/read_with_h5py.py CHECKPOINT [EXPECTED]
Every tensor is read from the shard files and, where there is one, from view.h5; both must agree, and with the raw bytes in
the file EXPECTED/NAME. Exit 0: all good. 1: something differs. 77: skipped, for want of numpy or h5py. Where there is
no xxhash, the hashes are not compared, and that is said.
"""
import json
import os
import sys

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error} (pip install h5py)")
    sys.exit(77)
try:
    import xxhash
except ImportError:
    xxhash = None

STORED = {"f32": "<f4", "bf16": "<u2", "e4m3": "u1", "e5m2": "u1", "i32": "<i4", "u8": "u1"}


def expect(condition, message):
    if not condition:
        sys.exit(f"WRONG: {message}")


def read_manifest(folder):
    with open(os.path.join(folder, "manifest.json"), "rb") as file:
        text = file.read()
    manifest = json.loads(text)
    expect(manifest["format"] == "octet-checkpoint" and manifest["version"] == 1, "format or version")
    body = text[: text.rindex(b"\n", 0, -1) + 1]
    expect(text == body + b'"xxh3_128": "%s"}\n' % manifest["xxh3_128"].encode(), "the last line")
    if xxhash:
        expect(xxhash.xxh3_128_hexdigest(body) == manifest["xxh3_128"], "the manifest's hash of itself")
    return manifest


def check_files(folder, manifest):
    for entry in manifest["files"]:
        with open(os.path.join(folder, entry["name"]), "rb") as file:
            data = file.read()
        expect(len(data) == entry["bytes"], f"{entry['name']}: size")
        if xxhash:
            expect(xxhash.xxh3_128_hexdigest(data) == entry["xxh3_128"], f"{entry['name']}: hash")


def check_state(file, manifest):
    state = manifest["state"]
    expect(file.attrs["format"].decode() == "octet-checkpoint" and file.attrs["version"] == 1, "a shard's format")
    for key in ("step", "seed", "data_fingerprint", "loss"):
        expect(file.attrs[key] == state[key], f"a shard's {key}: {file.attrs[key]}, expected {state[key]}")
    for key in ("config", "layout", "program"):
        expect(file.attrs[key].decode() == state[key], f"a shard's {key}")


def read_piece(dataset, tensor, offset, extent):
    """The data of one piece, its attributes checked."""
    where = dataset.name
    expect(dataset.attrs["tensor"].decode() == tensor["name"], f"{where}: tensor")
    expect(dataset.attrs["dtype"].decode() == tensor["dtype"], f"{where}: dtype")
    expect(list(dataset.attrs["global_shape"]) == tensor["shape"], f"{where}: global_shape")
    expect(list(dataset.attrs["offset"]) == offset, f"{where}: offset")
    expect(list(dataset.shape) == extent and dataset.dtype == STORED[tensor["dtype"]], f"{where}: shape or type")
    data = dataset[...]
    if xxhash:
        found = xxhash.xxh3_128_hexdigest(np.ascontiguousarray(data).tobytes())
        expect(dataset.attrs["xxh3_128"].decode() == found, f"{where}: hash of the data")
    return data


def read_tensors(folder, manifest):
    tensors = [np.empty(t["shape"], STORED[t["dtype"]]) for t in manifest["tensors"]]
    seen = [np.zeros(t["shape"], bool) for t in manifest["tensors"]]
    for number, entry in enumerate(manifest["files"]):
        with h5py.File(os.path.join(folder, entry["name"]), "r") as file:
            check_state(file, manifest)
            for t, f, offset, extent in manifest["pieces"]:
                if f != number:
                    continue
                tensor = manifest["tensors"][t]
                dataset = file[f"{tensor['name']}/@{','.join(map(str, offset))}"]
                box = tuple(slice(o, o + e) for o, e in zip(offset, extent))
                tensors[t][box] = read_piece(dataset, tensor, offset, extent)
                expect(not seen[t][box].any(), f"{dataset.name}: in two pieces")
                seen[t][box] = True
    expect(all(s.all() for s in seen), "elements in no piece")
    return tensors


def check_view(folder, manifest, tensors):
    path = os.path.join(folder, "view.h5")
    if not os.path.exists(path):
        return False
    with h5py.File(path, "r") as file:
        for entry, data in zip(manifest["tensors"], tensors):
            dataset = file[entry["name"]]
            expect(dataset.attrs["dtype"].decode() == entry["dtype"], f"view: dtype of {entry['name']}")
            expect(dataset[...].tobytes() == data.tobytes(), f"view: {entry['name']}")
    return True


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    tensors = read_tensors(folder, manifest)
    view = check_view(folder, manifest, tensors)
    if len(sys.argv) == 3:
        for entry, data in zip(manifest["tensors"], tensors):
            with open(os.path.join(sys.argv[2], entry["name"]), "rb") as file:
                expect(file.read() == data.tobytes(), f"{entry['name']}: other bytes than expected")
    print(f"{len(tensors)} tensors, {len(manifest['pieces'])} pieces in {len(manifest['files'])} files"
          f"{', view.h5' if view else ''}{'' if xxhash else ' (hashes not compared: no xxhash)'}: good")


if __name__ == "__main__":
    main()
