"""Scaled dot-product attention on inputs q, k, v, and softmax alone: masks at their edges.

Rows without any admissible entry, infinities and NaN: what PyTorch gives for them is what is
expected, NaN included.
"""
import torch
from torch import nn

from models import data, masks
from models.case import Case


class Attention(nn.Module):
    """softmax(mask(q k^T / sqrt d)) v on [heads, seq, head] or with a batch in front."""

    def __init__(self, mask, head):
        super().__init__()
        self.mask, self.scale = mask, head ** -0.5

    def forward(self, q, k, v, mask=None):
        s = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        return torch.matmul(torch.softmax(self.mask(s, mask), dim=-1), v)


class MaskedSoftmax(nn.Module):
    def __init__(self, mask, axis=-1, log=False):
        super().__init__()
        self.mask, self.axis, self.log = mask, axis, log

    def forward(self, x, mask=None):
        s = self.mask(x, mask)
        return torch.log_softmax(s, self.axis) if self.log else torch.softmax(s, self.axis)


def random_keep(rows, cols, empty=()):
    """A random mask with every diagonal entry kept, but nothing in the rows `empty`."""
    keep = (torch.rand(rows, cols) < 0.3) | torch.eye(rows, cols, dtype=torch.bool)
    for row in empty:
        keep[row] = False
    return keep


def attention(mask, empty=(), keep=None):
    def make(o):
        seq, head, heads = o.seq or 16, o.dmodel or 8, o.heads or 2
        kept = keep(o, seq) if keep else random_keep(seq, seq, empty)
        inputs = {n: torch.randn(heads, seq, head) for n in "qkv"}
        if mask in masks.INPUT:
            _, build, value = masks.INPUT[mask]
            inputs["mask"] = value(kept)
            return Case(Attention(build(), head), inputs,
                        sparse={"mask"} if mask == "input_float" else set())
        return Case(Attention(masks.CONSTANT[mask][1](kept), head), inputs)
    return make


def softmax(mask, empty=(), axis=-1, log=False, poke=None):
    """`poke` puts special values into the scores x [16, 20]."""
    def make(o):
        x = torch.randn(16, 20)
        if poke:
            poke(x)
        keep = random_keep(16, 20, empty)
        model = masks.NoMask() if mask is None else masks.CONSTANT[mask][1](keep)
        return Case(MaskedSoftmax(model, axis, log), {"x": x})
    return make


def poke_positive(x):
    x[3, 3] = float("inf")
    x[5, 5] = x[5, 6] = float("inf")


def poke_negative(x):
    x[2, :] = float("-inf")
    x[4, 4] = float("-inf")


def poke_nan(x):
    x[1, 1] = float("nan")


def poke_large(x):
    x[0, :] = 3e38
    x[1, 0] = -3e38


EMPTY = (3, 7)
BIGBIRD = lambda o, seq: data.bigbird(seq, o.block or 2, o.seed)  # noqa: E731

VARIANTS = {
    "random": (attention("where_ninf"), "random mask, -inf"),
    "bigbird": (attention("where_ninf", keep=BIGBIRD), "BigBird mask, -inf"),
    "empty_where_ninf": (attention("where_ninf", EMPTY), "two fully masked rows, -inf: NaN"),
    "empty_add_ninf": (attention("add_ninf", EMPTY), "the same, added"),
    "empty_where_1e9": (attention("where_1e9", EMPTY), "the same, -1e9: an even spread"),
    "empty_where_least": (attention("where_least", EMPTY), "the same, least float"),
    "empty_add_1e4": (attention("add_1e4", EMPTY), "the same, additive -1e4: as if unmasked"),
    "empty_mul_sub": (attention("mul_sub", EMPTY), "the same, Mul and Sub"),
    "input_float": (attention("input_float"), "random mask as an input (.mtx)"),
    "empty_input_float": (attention("input_float", EMPTY), "the same with fully masked rows"),
    "empty_input_bias": (attention("input_bias", EMPTY), "bias input of -inf with such rows"),
    "softmax": (softmax(None), "softmax alone"),
    "softmax_axis0": (softmax(None, axis=0), "softmax over axis 0"),
    "softmax_masked": (softmax("where_ninf"), "masked softmax"),
    "softmax_log": (softmax("where_ninf", log=True), "masked log-softmax: -inf where masked"),
    "softmax_empty_log": (softmax("where_ninf", EMPTY, log=True), "with fully masked rows"),
    "softmax_inf": (softmax("where_ninf", poke=poke_positive), "scores of +inf"),
    "softmax_ninf": (softmax(None, poke=poke_negative), "scores of -inf, one whole row"),
    "softmax_ninf_where": (softmax("where_ninf", poke=poke_negative), "the same, masked"),
    "softmax_nan": (softmax("where_ninf", poke=poke_nan), "a score of NaN"),
    "softmax_nan_add": (softmax("add_1e4", poke=poke_nan), "a score of NaN, finite mask"),
    "softmax_large": (softmax(None, poke=poke_large), "scores near the largest float"),
}
