"""Chains of matrix products and feed-forward layers, dense or pruned."""
import torch
from torch import nn

from models import data
from models.case import Case


class Chain(nn.Module):
    """x W1 W2 ... without anything between."""

    def __init__(self, widths):
        super().__init__()
        self.weights = nn.ParameterList(data.glorot(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for weight in self.weights:
            x = torch.matmul(x, weight)
        return x


class Inputs(nn.Module):
    """a b c, or a (b c), of three inputs; transposed: a^T b^T."""

    def __init__(self, form):
        super().__init__()
        self.form = form

    def forward(self, a, b, c=None):
        if self.form == "right":
            return torch.matmul(a, torch.matmul(b, c))
        if self.form == "transposed":
            return torch.matmul(a.T, b.T)
        return torch.matmul(torch.matmul(a, b), c)


class Ffn(nn.Module):
    """relu(x W1 + b1) W2 + b2."""

    def __init__(self, width, ffn):
        super().__init__()
        self.up, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Gated(nn.Module):
    """(act(x Wg) * (x Wu)) Wd with plain products."""

    def __init__(self, width, ffn, act):
        super().__init__()
        self.wg, self.wu = data.glorot(width, ffn), data.glorot(width, ffn)
        self.wd = data.glorot(ffn, width)
        self.act = act

    def forward(self, x):
        gate = self.act(torch.matmul(x, self.wg))
        return torch.matmul(gate * torch.matmul(x, self.wu), self.wd)


def model(build, sparsity=0.0):
    def make(o):
        rows, width, ffn = o.seq or 16, o.dmodel or 32, o.ffn or 48
        net = build(width, ffn)
        for weight in net.parameters():
            if weight.dim() == 2:
                data.prune_(weight, sparsity if o.sparsity is None else o.sparsity)
        return Case(net, {"x": torch.randn(rows, width)})
    return make


def inputs(form):
    """Three inputs, a and b sparse."""
    def make(o):
        def sparse(r, c):
            return torch.randn(r, c) * (torch.rand(r, c) < 0.25)
        if form == "transposed":
            given = {"a": sparse(20, 18), "b": sparse(24, 20)}
        else:
            given = {"a": sparse(18, 20), "b": sparse(20, 24), "c": torch.randn(24, 12)}
        return Case(Inputs(form), given, sparse={"a", "b"})
    return make


VARIANTS = {
    "chain": (model(lambda w, f: Chain([w, f, w, 24])), "three products"),
    "chain_pruned": (model(lambda w, f: Chain([w, f, w, 24]), 0.8), "80% of the weights zero"),
    "chain_left": (inputs("left"), "(a b) c of three inputs, two sparse"),
    "chain_right": (inputs("right"), "a (b c)"),
    "transposed": (inputs("transposed"), "a^T b^T, both sparse"),
    "ffn": (model(Ffn), "feed-forward layer (Gemm)"),
    "ffn_pruned": (model(Ffn, 0.9), "90% of the weights zero"),
    "gated": (model(lambda w, f: Gated(w, f, torch.sigmoid)), "gated by a sigmoid"),
    "gated_silu": (model(lambda w, f: Gated(w, f, nn.functional.silu)), "gated by SiLU"),
    "gated_relu": (model(lambda w, f: Gated(w, f, torch.relu), 0.5), "gated by ReLU, half zero"),
}
