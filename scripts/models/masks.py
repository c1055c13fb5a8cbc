"""Attention masks: every form in which a PyTorch model writes "only these scores count".

A form is a module; forward(scores [..., q, k], mask) gives the scores to be put into softmax.
`keep` is bool [q, k], True where a score counts; `mask` is the model's mask input, for the forms
that have one.
"""
import torch
from torch import nn

LEAST = torch.finfo(torch.float32).min


class WhereNinf(nn.Module):
    """masked_fill(masked, -inf): Where(masked, -inf, s)."""

    def __init__(self, keep):
        super().__init__()
        self.register_buffer("masked", ~keep)

    def forward(self, s, mask=None):
        return s.masked_fill(self.masked, float("-inf"))


class WhereFinite(nn.Module):
    """Where(keep, s, value) for a large finite value."""

    def __init__(self, keep, value):
        super().__init__()
        self.register_buffer("keep", keep)
        self.value = value

    def forward(self, s, mask=None):
        return torch.where(self.keep, s, torch.tensor(self.value))


class Additive(nn.Module):
    """s + bias, the bias being 0 where kept, else `value` (-inf or a large finite one)."""

    def __init__(self, keep, value):
        super().__init__()
        bias = torch.zeros(keep.shape).masked_fill(~keep, value)
        self.register_buffer("bias", bias)

    def forward(self, s, mask=None):
        return s + self.bias


class MulSub(nn.Module):
    """s * b - 1e4 * (1 - b), as in the first GPT."""

    def __init__(self, keep):
        super().__init__()
        self.register_buffer("b", keep.float())

    def forward(self, s, mask=None):
        return s * self.b - 1e4 * (1 - self.b)


class TrilInGraph(nn.Module):
    """The causal mask is made in the graph: tril(ones(q, k)) == 0."""

    def forward(self, s, mask=None):
        ones = torch.ones(s.size(-2), s.size(-1))
        return s.masked_fill(torch.tril(ones) == 0, float("-inf"))


class SlicedWhere(nn.Module):
    """Where(bias[:, :, k - q : k, :k], s, least), a causal buffer longer than the sequence."""

    def __init__(self, longest):
        super().__init__()
        causal = torch.tril(torch.ones(longest, longest, dtype=torch.bool))
        self.register_buffer("bias", causal[None, None])

    def forward(self, s, mask=None):
        q, k = s.size(-2), s.size(-1)
        keep = self.bias[:, :, k - q:k, :k]
        return torch.where(keep, s, torch.full([], LEAST, dtype=s.dtype))


class InputWhere(nn.Module):
    """The mask is an input, an entry of 0 is masked: Cast, Equal, Where."""

    def forward(self, s, mask=None):
        return s.masked_fill(mask == 0, float("-inf"))


class InputBool(nn.Module):
    """The mask is a bool input, True where kept: Where(mask, s, -1e9)."""

    def forward(self, s, mask=None):
        return torch.where(mask, s, torch.tensor(-1e9))


class InputAdditive(nn.Module):
    """The mask is an integer input of 0 and 1: s + (1 - mask) * least."""

    def forward(self, s, mask=None):
        return s + (1.0 - mask.to(torch.float32)) * LEAST


class InputBias(nn.Module):
    """The mask is an input to be added (0 or -inf)."""

    def forward(self, s, mask=None):
        return s + mask


class NoMask(nn.Module):
    def forward(self, s, mask=None):
        return s


def causal(seq):
    return torch.tril(torch.ones(seq, seq, dtype=torch.bool))


# name -> (what it exports to, module of `keep`)
CONSTANT = {
    "where_ninf": ("Where(masked, -inf, s)", WhereNinf),
    "where_1e9": ("Where(keep, s, -1e9)", lambda k: WhereFinite(k, -1e9)),
    "where_least": ("Where(keep, s, least float)", lambda k: WhereFinite(k, LEAST)),
    "add_ninf": ("s + bias of -inf", lambda k: Additive(k, float("-inf"))),
    "add_1e4": ("s + bias of -1e4", lambda k: Additive(k, -1e4)),
    "mul_sub": ("s * b - 1e4 * (1 - b)", MulSub),
    "tril": ("tril(ones) == 0 in the graph, -inf (causal only)", lambda k: TrilInGraph()),
    "sliced": ("slice of a longer causal buffer (causal only)",
               lambda k: SlicedWhere(2 * k.shape[-1])),
}

# name -> (what it exports to, module, the input made from `keep`)
INPUT = {
    "input_int": ("int64 mask input: Equal, Where", InputWhere, lambda k: k.to(torch.int64)),
    "input_float": ("0/1 float mask input (.mtx): Equal, Where", InputWhere, lambda k: k.float()),
    "input_bool": ("bool mask input: Where -1e9", InputBool, lambda k: k),
    "input_padding": ("int64 mask input: (1 - mask) * least, added", InputAdditive,
                      lambda k: k.to(torch.int64)),
    "input_bias": ("mask input of 0 and -inf, added", InputBias,
                   lambda k: torch.zeros(k.shape).masked_fill(~k, float("-inf"))),
}
