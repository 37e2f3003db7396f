#!/usr/bin/env python3
"""Sums of fp8 products as Hopper's tensor cores make them, from mmaemu (PyPI), which models them.

    python3 -m venv venv && venv/bin/pip install mmaemu torch numpy
    venv/bin/python tests/golden/make_hopper_golden.py

Each case has codes a [m, k] and b [n, k] and mmaemu's fp32 accumulators [m, n] of a bᵀ, before any scale, by its
reference backend and without splitting k: `fast` is one chain over k, `slow` is promoted to fp32 every 128 of k. See
README.md beside this file for the cases.
"""

import pathlib

import mmaemu
import torch

from golden_file import GoldenFile

HERE = pathlib.Path(__file__).parent
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
PAIRS = {"e4m3_e4m3": (E4M3, E4M3), "e5m2_e4m3": (E5M2, E4M3), "e4m3_e5m2": (E4M3, E5M2)}


class Codes:
    """Makes operands: uint8 codes of one format, the same in every run."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def integers(self, low, high, shape):
        return torch.randint(low, high, shape, generator=self.generator)

    def normal(self, shape, dtype, sigma=1.0):
        return (torch.randn(shape, generator=self.generator) * sigma).to(dtype)

    def magnitudes(self, shape, dtype, low, high):
        """Codes from `low` up to `high` without their sign, of either sign."""
        codes = self.integers(low, high, shape) + 128 * self.integers(0, 2, shape)
        return codes.to(torch.uint8).view(dtype)

    def finite(self, shape, dtype):
        return self.magnitudes(shape, dtype, 0, 0x7F if dtype == E4M3 else 0x7C)

    def sparse(self, shape, dtype, present):
        """Normal values, most of them zero of either sign."""
        x = self.normal(shape, dtype).view(torch.uint8)
        kept = torch.rand(shape, generator=self.generator) < present
        return torch.where(kept, x, x & 0x80).view(dtype)


def subnormal_limit(dtype):
    return 8 if dtype == E4M3 else 4


def cancelling(codes, m, n, k, a_type, b_type):
    """Every product comes back with the other sign in another block, and a few small ones remain."""
    a, b = codes.finite((m, k), a_type).view(torch.uint8), codes.finite((n, k), b_type).view(torch.uint8)
    a[:, k // 2 :] = a[:, : k // 2].flip(1) ^ 0x80
    b[:, k // 2 :] = b[:, : k // 2].flip(1)
    a[:, 5] = codes.integers(1, subnormal_limit(a_type), (m,)).to(torch.uint8)
    return a.view(a_type), b.view(b_type)


def special(codes, m, n, k, a_type, b_type):
    """NaN and, in e5m2, infinities in some rows of each operand; infinities meet zeros and each other."""
    a, b = codes.sparse((m, k), a_type, 0.7).view(torch.uint8), codes.sparse((n, k), b_type, 0.7).view(torch.uint8)
    for x, dtype in ((a, a_type), (b, b_type)):
        choice = [0x7F, 0xFF] if dtype == E4M3 else [0x7C, 0xFC, 0x7C, 0xFC, 0x7C, 0xFC, 0x7E, 0xFF]
        for row in range(0, len(x), 3):
            x[row, codes.integers(0, k, (1,))] = choice[codes.integers(0, len(choice), (1,))]
        x[1, 0] = choice[0]
    return a.view(a_type), b.view(b_type)


def cases(a_type, b_type):
    codes = Codes(7)
    both = lambda m, n, k, make: (make((m, k), a_type), make((n, k), b_type))
    yield "normal", both(9, 37, 160, codes.normal)
    yield "all_codes", both(17, 33, 288, codes.finite)
    yield "subnormal", both(6, 35, 160, lambda s, t: codes.magnitudes(s, t, 0, subnormal_limit(t)))
    yield "mixed_subnormal", both(6, 35, 160, lambda s, t: codes.magnitudes(s, t, 0, 3 * subnormal_limit(t)))
    yield "sparse", both(8, 33, 320, lambda s, t: codes.sparse(s, t, 0.03))
    yield "largest", both(3, 9, 1056, lambda s, t: codes.magnitudes(s, t, 0x6E if t == E4M3 else 0x70, 0x7C))
    yield "cancelling", cancelling(codes, 7, 34, 512, a_type, b_type)
    yield "special", special(codes, 10, 40, 96, a_type, b_type)
    yield "long", both(2, 3, 8208 if a_type == b_type else 4112, codes.normal)
    for m, n, k in ((5, 7, 1), (1, 1, 31), (3, 2, 33), (131, 3, 129), (2, 131, 47), (1, 70, 257)):
        yield f"ragged_{m}_{n}_{k}", both(m, n, k, codes.finite)


def accumulate(a, b, fast):
    return mmaemu.accumulate(a, b, use_fast_accum=fast, profile="hopper", splitk=1, backend="reference")


def main():
    torch.set_num_threads(1)
    golden = GoldenFile(mmaemu=mmaemu.__version__, torch=torch.__version__.split("+")[0])
    for pair, types in PAIRS.items():
        for name, (a, b) in cases(*types):
            fast, slow = accumulate(a, b, True), accumulate(a, b, False)
            for key, tensor in (("a", a), ("b", b), ("fast", fast), ("slow", slow)):
                golden.add(f"{pair}.{name}.{key}", tensor)
            print(f"{pair} {name}: {fast.numel()} sums, {(fast.view(torch.int32) != slow.view(torch.int32)).sum()} differ between fast and slow, "
                  f"{fast.isnan().sum()} NaN, {fast.isinf().sum()} infinite, {(fast == 0).sum()} zero")
    golden.write(HERE / "hopper_accumulate")


if __name__ == "__main__":
    main()
