"""Writes a golden case: a directory with golden.json (what is there) and golden.bin (raw little-endian bytes).

golden.json is {"attributes": {...}, "tensors": [{"name", "dtype", "shape", "offset"}, ...]}; offsets are in bytes and
multiples of 8. The C++ reader is tests/support/golden.h.
"""

import json
import pathlib

import numpy as np
import torch

MAX_CASE_BYTES = 700_000


def _raw(tensor):
    """(dtype name, little-endian bytes) of a torch tensor or numpy array."""
    if isinstance(tensor, np.ndarray):
        tensor = torch.from_numpy(tensor)
    tensor = tensor.detach().contiguous()
    views = {
        torch.float64: ("f64", None, "<f8"),
        torch.float32: ("f32", None, "<f4"),
        torch.int32: ("i32", None, "<i4"),
        torch.uint8: ("u8", None, "|u1"),
        torch.bfloat16: ("bf16", torch.int16, "<i2"),
        torch.float8_e4m3fn: ("e4m3", torch.uint8, "|u1"),
        torch.float8_e5m2: ("e5m2", torch.uint8, "|u1"),
    }
    name, bits, little = views[tensor.dtype]
    return name, (tensor if bits is None else tensor.view(bits)).numpy().astype(little).tobytes()


class GoldenFile:
    def __init__(self, **attributes):
        self.attributes = attributes
        self.tensors = []
        self.blob = bytearray()

    def add(self, name, tensor):
        dtype, raw = _raw(tensor)
        self.tensors.append({"name": name, "dtype": dtype, "shape": list(tensor.shape), "offset": len(self.blob)})
        self.blob += raw + bytes(-len(raw) % 8)

    def write(self, directory):
        if len(self.blob) > MAX_CASE_BYTES:
            raise SystemExit(f"{directory}: {len(self.blob)} bytes, more than the {MAX_CASE_BYTES} that a case may take")
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "golden.bin").write_bytes(self.blob)
        rows = ",\n".join("  " + json.dumps(t) for t in self.tensors)
        head = json.dumps(self.attributes)
        (directory / "golden.json").write_text('{"attributes": %s,\n"tensors": [\n%s\n]}\n' % (head, rows))
        print(f"{directory}: {len(self.tensors)} tensors, {len(self.blob)} bytes")
