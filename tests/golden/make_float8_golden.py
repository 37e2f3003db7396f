#!/usr/bin/env python3
"""Reference values of float8 casts and of one tensorwise-scaled float8 linear, from PyTorch and torchao.

    python3 -m venv venv && venv/bin/pip install torch torchao numpy
    venv/bin/python tests/golden/make_float8_golden.py

Written from the recipe's description, not from Octet: scale = max_of_format / max(amax, 1e-12), divided in float64 and
rounded to float32; code = saturating round-to-nearest-even of float32(x) * scale; the GEMM gets 1/scale in float32.
The casts are PyTorch's, the products are formed in float64. torchao's emulated Float8Linear, which forms them in
float32, is run on the same inputs. See README.md beside this file for what is written.
"""

import pathlib

import torch

from golden_file import GoldenFile

HERE = pathlib.Path(__file__).parent
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
TOKENS, K, N = 64, 48, 32


def versions():
    import torchao

    return {"torch": torch.__version__.split("+")[0], "torchao": torchao.__version__.split("+")[0]}


# ---- casts


def cast(x, dtype):
    """Saturating, round to nearest even; NaN stays NaN."""
    limit = torch.finfo(dtype).max
    return x.float().clamp(-limit, limit).to(dtype)


def interesting_values(dtype):
    """float32: every finite value of the format, every midpoint between neighbours and what lies one float32 step
    beside it, values at and beyond the largest, float32's own extremes, and random values of all exponents."""
    codes = torch.arange(128, dtype=torch.uint8).view(dtype).double()
    finite = codes[codes.isfinite()].sort().values
    middle = ((finite[1:] + finite[:-1]) / 2).float()
    limit = finite[-1].float()
    half_step = ((finite[-1] - finite[-2]) / 2).float()
    up, down = torch.tensor(float("inf")), torch.tensor(0.0)
    largest = torch.finfo(torch.float32).max
    edges = torch.tensor([limit + half_step, limit + 2 * half_step, 2 * limit, 1e-12, 1e-30, 2.0**-126, 2.0**-127,
                          2.0**-149, largest, float("inf"), float("nan")])
    generator = torch.Generator().manual_seed(3)
    exponent = torch.randint(-24, 20, (500,), generator=generator).double()
    random = ((1 + torch.rand(500, generator=generator, dtype=torch.float64)) * 2**exponent).float()
    positive = torch.cat([finite.float(), middle, torch.nextafter(middle, up), torch.nextafter(middle, down), edges,
                          torch.nextafter(edges[:1], up), torch.nextafter(edges[:1], down), random])
    return torch.cat([positive, -positive])


def make_casts():
    golden = GoldenFile(**versions())
    for name, dtype in (("e4m3", E4M3), ("e5m2", E5M2)):
        x = interesting_values(dtype)
        assert len(x) <= 4000
        golden.add(f"{name}.input", x)
        golden.add(f"{name}.bytes", cast(x, dtype).view(torch.uint8))
        golden.add(f"{name}.decoded", torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype).float())
    amax = torch.tensor([0.0, 1e-45, 1e-13, 1e-12, 1.1e-12, 2.0**-126, 1e-6, 0.1, 1 / 3, 0.7, 1.0, 3.0, 447.0, 448.0, 449.0,
                         57344.0, 65504.0, 1e10, 3.0e38, torch.finfo(torch.float32).max])
    generator = torch.Generator().manual_seed(4)
    amax = torch.cat([amax, torch.rand(200, generator=generator) * 10 ** (20 * torch.rand(200, generator=generator) - 10)])
    golden.add("amax", amax)
    for name, dtype in (("e4m3", E4M3), ("e5m2", E5M2)):
        scale = scale_of(amax, dtype)
        golden.add(f"{name}.scale", scale)
        golden.add(f"{name}.inverse_scale", 1 / scale)
    golden.write(HERE / "float8_cast")


# ---- the linear


def scale_of(amax, dtype):
    return (torch.finfo(dtype).max / amax.double().clamp(min=1e-12)).float()


def linear_inputs(case):
    """X [tokens, K] and dY [tokens, N] in bf16, the master weight W [N, K] in float32."""
    generator = torch.Generator().manual_seed(5)
    normal = lambda *shape: torch.randn(shape, generator=generator)
    x, w, dy = normal(TOKENS, K), normal(N, K) * K**-0.5, normal(TOKENS, N) * 1e-3
    if case == "zero_input":
        x.zero_()
    if case == "zero_grad":
        dy.zero_()
    if case == "outliers":  # the rest of each tensor is pressed into the subnormals of the format
        x[7, 5], x[40, 11] = 3.0e4, -1.7e4
        w[3, 9] = 250.0
        dy[20, 2] = -4.0e4
    return x.bfloat16(), w, dy.bfloat16()


def quantise(golden, name, x, dtype):
    """The dequantised values in float64; adds amax, scale, 1/scale and the codes."""
    amax = x.abs().max().float()
    scale = scale_of(amax, dtype)
    inverse = 1 / scale
    codes = cast(x.float() * scale, dtype)
    for key, value in (("amax", amax), ("scale", scale), ("inverse_scale", inverse)):
        golden.add(f"{name}.{key}", value[None])
    golden.add(f"{name}.codes", codes)
    return codes.double() * inverse.double()


def torchao_linear(x, w, dy):
    """Output, input gradient and weight gradient of torchao's emulated Float8Linear; its weight is the float32 master,
    as with torchao's float8 all-gather, which casts the float32 shard."""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    from torchao.float8.float8_linear import Float8Linear

    model = torch.nn.Sequential(torch.nn.Linear(K, N, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(w)
    model = convert_to_float8_training(model, config=Float8LinearConfig(emulate=True))
    assert isinstance(model[0], Float8Linear)
    x = x.clone().requires_grad_()
    y = model(x)
    y.backward(dy)
    return y.detach(), x.grad, model[0].weight.grad


def make_linear(case):
    x, w, dy = linear_inputs(case)
    golden = GoldenFile(tokens=TOKENS, k=K, n=N, **versions())
    golden.add("x", x)
    golden.add("w", w)
    golden.add("dy", dy)
    xq, wq, dyq = quantise(golden, "x", x, E4M3), quantise(golden, "w", w, E4M3), quantise(golden, "dy", dy, E5M2)
    ours = {"y": xq @ wq.T, "dx": dyq @ wq, "dw": dyq.T @ xq}
    torchao = dict(zip(ours, torchao_linear(x, w, dy)))
    for name, value in ours.items():
        golden.add(name, value)
    for name, value in torchao.items():
        golden.add("torchao." + name, value)
    golden.write(HERE / f"float8_linear_{case}")
    for name, value in ours.items():
        compare(name, value, torchao[name])


def compare(name, ours, torchao):
    """torchao's bf16 results may differ from the rounded float64 ones only where a float32 sum crosses a tie."""
    differ = (ours.bfloat16() != torchao.bfloat16()).sum().item()
    error = ((ours - torchao.double()).norm() / ours.norm().clamp(min=1e-300)).item()
    print(f"  {name}: torchao {str(torchao.dtype).removeprefix('torch.')}, {differ} of {ours.numel()} differ after "
          f"rounding to bf16, relative distance {error:.1e}")
    if error > 4e-3:
        raise SystemExit("the float64 computation and torchao disagree")


def main():
    torch.set_num_threads(1)
    make_casts()
    for case in ("normal", "zero_input", "zero_grad", "outliers"):
        make_linear(case)


if __name__ == "__main__":
    main()
