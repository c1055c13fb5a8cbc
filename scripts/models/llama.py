"""Llama blocks: RMS normalisation, rotary embedding, SwiGLU; and gated feed-forward layers."""
import torch
import torch.nn.functional as F
from torch import nn

from models import data, masks
from models.case import Case


class RmsNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * w; by Pow, ReduceMean, Add, Sqrt, Div (rsqrt) and Mul."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.rand(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], dim=-1)


class Rotary(nn.Module):
    """cos and sin tables as buffers, sliced to the sequence."""

    def __init__(self, head, longest):
        super().__init__()
        rate = 1.0 / (10000 ** (torch.arange(0, head, 2).float() / head))
        angle = torch.outer(torch.arange(longest).float(), rate)
        angle = torch.cat([angle, angle], dim=-1)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, t):
        cos, sin = self.cos[:t.shape[-2]], self.sin[:t.shape[-2]]
        return t * cos + rotate_half(t) * sin


class Attention(nn.Module):
    """Rotary attention; `groups` < heads shares each key and value head (Expand, Reshape)."""

    def __init__(self, width, heads, groups, mask, longest):
        super().__init__()
        self.heads, self.groups, self.head = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.head, bias=False)
        self.v = nn.Linear(width, groups * self.head, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.rotary, self.mask = Rotary(self.head, longest), mask

    def heads_of(self, t, count):
        return t.view(t.shape[0], t.shape[1], count, self.head).transpose(1, 2)

    def shared(self, t):
        if self.groups == self.heads:
            return t
        b, g, s, d = t.shape
        t = t[:, :, None].expand(b, g, self.heads // g, s, d)
        return t.reshape(b, self.heads, s, d)

    def forward(self, x):
        q = self.rotary(self.heads_of(self.q(x), self.heads))
        k = self.shared(self.rotary(self.heads_of(self.k(x), self.groups)))
        v = self.shared(self.heads_of(self.v(x), self.groups))
        s = self.mask(torch.matmul(q, k.transpose(2, 3)) / self.head ** 0.5)
        p = torch.softmax(s, dim=-1, dtype=torch.float32)
        y = torch.matmul(p, v).transpose(1, 2).contiguous()
        return self.o(y.reshape(x.shape[0], x.shape[1], -1))


class SwiGlu(nn.Module):
    """down(silu(gate x) * up x)."""

    def __init__(self, width, ffn):
        super().__init__()
        self.gate = nn.Linear(width, ffn, bias=False)
        self.up = nn.Linear(width, ffn, bias=False)
        self.down = nn.Linear(ffn, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Glu(nn.Module):
    """One product, halved: F.glu (a Split without sizes) or chunk with another gate."""

    def __init__(self, width, ffn, act):
        super().__init__()
        self.up = nn.Linear(width, 2 * ffn)
        self.down = nn.Linear(ffn, width)
        self.act = act

    def forward(self, x):
        if self.act == "glu":
            return self.down(F.glu(self.up(x), dim=-1))
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down((F.gelu(gate) if self.act == "geglu" else F.relu(gate)) * value)


class Block(nn.Module):
    def __init__(self, width, heads, groups, ffn, mask, longest):
        super().__init__()
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.attention = Attention(width, heads, groups, mask, longest)
        self.ffn = SwiGlu(width, ffn)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Whole(nn.Module):
    """Embedding, blocks, normalisation, head."""

    def __init__(self, vocab, width, blocks):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(blocks)
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def sizes(o):
    width = o.dmodel or 32
    return o.seq or 16, width, o.heads or 4, o.ffn or width * 3 // 2


def make_block(o, groups, mask):
    seq, width, heads, ffn = sizes(o)
    keep = masks.CONSTANT[mask][1](masks.causal(seq))
    return Block(width, heads, groups or heads, ffn, keep, 2 * seq)


def block(groups=None, mask="where_ninf"):
    def make(o):
        seq, width, _, _ = sizes(o)
        axes = {"x": {0: "batch", 1: "seq"}, "y": {0: "batch", 1: "seq"}}
        return Case(make_block(o, groups, mask), {"x": torch.randn(o.batch or 1, seq, width)},
                    axes=axes)
    return make


def whole(o):
    """A whole small Llama on token ids."""
    o.dmodel = o.dmodel or 24
    seq, width, _, _ = sizes(o)
    vocab = o.vocab or 40
    model = Whole(vocab, width, [make_block(o, None, "add_ninf") for _ in range(o.layers or 2)])
    return Case(model, {"ids": torch.randint(0, vocab, (o.batch or 1, seq))})


def ffn(act, rank=3, sparsity=0.0):
    def make(o):
        seq, width, _, ffn_width = sizes(o)
        model = SwiGlu(width, ffn_width) if act == "swiglu" else Glu(width, ffn_width, act)
        for weight in model.parameters():
            if weight.dim() == 2:
                data.prune_(weight, sparsity)
        shape = (o.batch or 1, seq, width) if rank == 3 else (seq, width)
        return Case(model, {"x": torch.randn(shape)})
    return make


def norm(o):
    """RMS normalisation alone."""
    seq, width, _, _ = sizes(o)
    return Case(RmsNorm(width), {"x": torch.randn(o.batch or 1, seq, width)})


VARIANTS = {
    "block": (block(), "RMSNorm, rotary, SwiGLU, causal -inf"),
    "grouped": (block(groups=2), "grouped keys and values (Expand)"),
    "additive": (block(mask="add_ninf"), "additive -inf mask"),
    "whole": (whole, "embedding, two blocks, head"),
    "rmsnorm": (norm, "RMS normalisation alone"),
    "swiglu": (ffn("swiglu"), "SwiGLU feed-forward layer"),
    "swiglu_pruned": (ffn("swiglu", 2, 0.8), "the same, 2-D, 80% of the weights zero"),
    "glu": (ffn("glu"), "GLU: Split without sizes"),
    "glu_2d": (ffn("glu", 2), "the same on 2-D"),
    "geglu": (ffn("geglu"), "gate by GELU, chunk"),
    "reglu": (ffn("reglu"), "gate by ReLU, chunk"),
}
