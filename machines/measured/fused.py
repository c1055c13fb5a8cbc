#!/usr/bin/env python3
"""What Triton's kernels reach on a GPU: small products, beside the vendor's; and what fusing gains where one core has
all it needs: chains and three layers as one kernel, beside the vendor's kernels apart. Rows as those of measure.h, on standard output; each result is compared with the product
of 64-bit numbers first. Tiles: the fastest of those listed.
"""
import itertools
import sys

import torch
import triton
import triton.language as tl

import library

CHAINS = {name: (128, *library.FFN[name]) for name in ("G1", "G2", "G3")}
CHAINS.update({name: library.CONVOLUTIONS[name] for name in ("C1", "C2", "C3")})


@triton.jit
def chain_kernel(a, b, d, e, rows, N: tl.constexpr, K: tl.constexpr, L: tl.constexpr, BM: tl.constexpr,
                 BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    """E = relu(A B) D for BM rows and every SPLIT-th block of BN columns of B, added in memory where SPLIT > 1."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, L)
    inside = m[:, None] < rows
    total = tl.zeros((BM, L), dtype=tl.float32)
    for block in range(tl.program_id(1), N // BN, SPLIT):
        n = block * BN + tl.arange(0, BN)
        c = tl.zeros((BM, BN), dtype=tl.float32)
        for depth in range(0, K, BK):
            k = depth + tl.arange(0, BK)
            left = tl.load(a + m[:, None] * K + k[None, :], mask=inside, other=0.0)
            c = tl.dot(left, tl.load(b + k[:, None] * N + n[None, :]), c)
        held = tl.maximum(c, 0.0).to(tl.bfloat16)
        total = tl.dot(held, tl.load(d + n[:, None] * L + columns[None, :]), total)
    at = e + m[:, None] * L + columns[None, :]
    if SPLIT == 1:
        tl.store(at, total.to(tl.bfloat16), mask=inside)
    else:
        tl.atomic_add(at, total, mask=inside)


@triton.jit
def layers_kernel(x, w0, w1, w2, y, W: tl.constexpr, BM: tl.constexpr):
    """Three layers of width W on BM rows, an activation after the first two."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    w = tl.arange(0, W)
    at = w[:, None] * W + w[None, :]
    c = tl.dot(tl.load(x + m[:, None] * W + w[None, :]), tl.load(w0 + at))
    c = tl.dot(tl.maximum(c, 0.0).to(tl.bfloat16), tl.load(w1 + at))
    c = tl.dot(tl.maximum(c, 0.0).to(tl.bfloat16), tl.load(w2 + at))
    tl.store(y + m[:, None] * W + w[None, :], c.to(tl.bfloat16))


@triton.jit
def product_kernel(a, b, c, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   STAGES: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for depth in tl.range(0, K, BK, num_stages=STAGES):
        k = depth + tl.arange(0, BK)
        total = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.bfloat16))


def same(found, expected, what):
    error = ((found.double() - expected).norm() / expected.norm()).item()
    if not error < 1e-2:
        sys.exit(f"fused: {what}: relative error {error}")


def fastest(what, works, sets, reference):
    """Checks every work on the first set, times all; seconds and name of the fastest."""
    best = None
    for name, work in works:
        try:
            same(work(*sets[0]), reference, f"{what} {name}")
            time = library.seconds(work, sets)
        except triton.runtime.errors.OutOfResources:
            continue
        if best is None or time < best[0]:
            best = (time, name)
    return best


def small_products():
    for m, n, k in ((128, 768, 768), (512, 512, 512), (128, 4096, 1024)):
        sets = library.random_sets((m, k), (k, n))
        a, b = (operand.double() for operand in sets[0])
        works = []
        for bm, bn, bk, stages in itertools.product((32, 64, 128), (32, 64), (64, 128), (3, 5)):

            def work(a, b, bm=bm, bn=bn, bk=bk, stages=stages):
                c = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
                product_kernel[(m // bm, n // bn)](a, b, c, n, k, bm, bn, bk, stages, num_warps=4)
                return c

            works.append((f"{bm}x{bn}x{bk} stages {stages}", work))
        time, tile = fastest("product", works, sets, a @ b)
        library.row("small_product", f"{m}x{n}x{k} triton tile {tile}", time * 1e6, "us")
        library.row("small_product", f"{m}x{n}x{k} library", library.seconds(torch.mm, sets) * 1e6, "us")


def chains():
    for name, (rows, n, k, l) in CHAINS.items():
        sets = library.random_sets((rows, k), (k, n), (n, l))
        a, b, d = (operand.double() for operand in sets[0])
        reference = torch.relu(a @ b) @ d
        works = []
        for bm, bn, split in itertools.product((16, 32, 64), (32, 64), (1, 4, 8)):
            blocks = triton.cdiv(rows, bm)
            if n // bn % split or (split > 1 and blocks * split > 264) or bm * l > 64 * 256:
                continue
            bk = 64 if k % 64 == 0 else 32

            def work(a, b, d, bm=bm, bn=bn, bk=bk, split=split, blocks=blocks):
                e = torch.zeros if split > 1 else torch.empty
                result = e((rows, l), device="cuda", dtype=torch.float32 if split > 1 else torch.bfloat16)
                chain_kernel[(blocks, split)](a, b, d, result, rows, n, k, l, bm, bn, bk, split, num_warps=4)
                return result

            works.append((f"{bm}x{bn}x{bk} split {split}", work))
        time, tile = fastest(name, works, sets, reference)
        library.row("chain_fused", f"{name} tile {tile}", time * 1e6, "us")


def layers():
    width = 128
    for rows in (8192, 65536):
        sets = library.random_sets((rows, width), *[(width, width)] * 3)
        x, w0, w1, w2 = (operand.double() for operand in sets[0])
        reference = torch.relu(torch.relu(x @ w0) @ w1) @ w2
        bias = torch.zeros(width, device="cuda", dtype=torch.bfloat16)
        apart = lambda x, w0, w1, w2: torch.mm(  # noqa: E731
            torch._addmm_activation(bias, torch._addmm_activation(bias, x, w0, use_gelu=False), w1, use_gelu=False), w2)
        same(apart(*sets[0]), reference, "layers apart")
        works = []
        for bm, warps in ((64, 4), (128, 4), (128, 8)):

            def work(x, w0, w1, w2, bm=bm, warps=warps):
                y = torch.empty_like(x)
                layers_kernel[(rows // bm,)](x, w0, w1, w2, y, width, bm, num_warps=warps)
                return y

            works.append((f"{bm} rows {warps} warps", work))
        time, tile = fastest("layers", works, sets, reference)
        library.row("layers_apart", f"3 layers {rows} rows width {width} activation folded",
                    library.seconds(apart, sets) * 1e6, "us")
        library.row("layers_fused", f"3 layers {rows} rows width {width} tile {tile}", time * 1e6, "us")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    small_products()
    layers()
    chains()
