"""Models as other projects write them: forms that the families of their own do not have.

Hugging Face's GPT-2 adds a padding mask to scores that a causal mask has filled with the least
float already, so that a row may be closed by the two together; graph attention with several heads
on an edge list ends in one view of them; ALiBi adds positions and -inf in one bias; rotary
embeddings rotate neighbouring entries; an energy is a LogSumExp.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from models.case import LOST, Case

LEAST = torch.finfo(torch.float32).min


class PaddedBlock(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        causal = torch.tril(torch.ones(longest, longest, dtype=torch.bool))
        self.register_buffer("causal", causal[None, None])

    def split(self, x):
        return x.view(x.shape[:-1] + (self.heads, -1)).permute(0, 2, 1, 3)

    def forward(self, x, padding):
        q, k, v = (self.split(t) for t in self.qkv(self.norm1(x)).split(x.shape[-1], dim=2))
        s = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(v.shape[-1])
        n = s.shape[-1]
        s = torch.where(self.causal[:, :, :n, :n], s, torch.full([], LEAST)) + padding
        a = torch.matmul(torch.softmax(s, -1), v).permute(0, 2, 1, 3).contiguous()
        x = x + self.out(a.view(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class PaddedGpt(nn.Module):
    """Token ids and a mask of 0 and 1 to logits, the output weights tied to the embedding."""

    def __init__(self, width, heads, longest, vocab):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(longest, width)
        self.block = PaddedBlock(width, heads, longest)

    def forward(self, ids, mask):
        at = torch.arange(ids.shape[-1]).unsqueeze(0)
        padding = (1.0 - mask[:, None, None, :].to(torch.float32)) * LEAST
        x = self.block(self.tokens(ids) + self.positions(at), padding)
        return F.linear(x, self.tokens.weight)


def padded(left):
    def make(o):
        seq, vocab = o.seq or 10, o.vocab or 20
        mask = torch.ones(2, seq, dtype=torch.int64)
        mask[1, slice(0, 3) if left else slice(seq - 3, seq)] = 0
        model = PaddedGpt(o.dmodel or 12, o.heads or 2, 2 * seq, vocab)
        ids = torch.randint(0, vocab, (2, seq))
        return Case(model, {"ids": ids, "mask": mask},
                    axes={"ids": {0: "batch", 1: "seq"}, "mask": {0: "batch", 1: "seq"}})
    return make


class EdgeGat(nn.Module):
    """Graph attention on an edge list, heads side by side in the result."""

    def __init__(self, width, heads, head):
        super().__init__()
        self.heads, self.head = heads, head
        self.linear = nn.Linear(width, heads * head, bias=False)
        self.left = nn.Parameter(torch.randn(1, heads, head))
        self.right = nn.Parameter(torch.randn(1, heads, head))

    def forward(self, x, edges):
        n, (src, dst) = x.shape[0], (edges[0], edges[1])
        h = self.linear(x).view(-1, self.heads, self.head)
        e = F.leaky_relu((h * self.left).sum(-1)[src] + (h * self.right).sum(-1)[dst], 0.2)
        e = (e - e.max()).exp()
        total = torch.zeros(n, self.heads).scatter_add_(0, dst[:, None].expand_as(e), e)
        m = h[src] * (e / (total[dst] + 1e-16)).unsqueeze(-1)
        out = torch.zeros(n, self.heads, self.head)
        out = out.scatter_add_(0, dst.view(-1, 1, 1).expand_as(m), m)
        return F.elu(out.view(n, self.heads * self.head))


def edge_gat(o):
    n = o.nodes or 20
    edges = torch.cat([torch.randint(0, n, (2, 50)), torch.arange(n).repeat(2, 1)], 1)
    return Case(EdgeGat(o.features or 8, o.heads or 3, 4), {"x": torch.randn(n, 8), "edges": edges},
                lost_before_16=LOST)


class Alibi(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("slopes", torch.tensor([0.5, 0.25]).view(2, 1, 1))

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = (t.reshape(b, n, 2, -1).transpose(1, 2) for t in self.qkv(x).split(width, -1))
        at = torch.arange(n)
        bias = self.slopes * (at[None, :] - at[:, None]).float()
        bias = bias + torch.full((n, n), float("-inf")).triu(1)
        s = torch.matmul(q, k.transpose(-2, -1)) * (width // 2) ** -0.5 + bias
        return self.out(torch.matmul(s.softmax(-1), v).transpose(1, 2).flatten(-2))


class Rotated(nn.Module):
    """Rotary embedding of neighbouring entries, Q, K and V by unbind."""

    def __init__(self, width, longest):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        angle = torch.outer(torch.arange(longest).float(),
                            10000 ** -(torch.arange(0, width // 2, 2).float() / (width // 2)))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def rotate(self, x):
        a, b, n = x[..., ::2], x[..., 1::2], x.shape[2]
        c, s = self.cos[:n], self.sin[:n]
        return torch.stack((a * c - b * s, a * s + b * c), dim=-1).flatten(-2)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 2, -1).permute(2, 0, 3, 1, 4).unbind(0)
        s = self.rotate(q) @ self.rotate(k).transpose(-2, -1) * (width // 2) ** -0.5
        keep = torch.ones(n, n, dtype=torch.bool).tril()
        a = s.masked_fill(~keep, float("-inf")).softmax(-1) @ v
        return a.transpose(1, 2).flatten(2)


class Energy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 6)

    def forward(self, x):
        z = self.linear(x)
        return torch.stack([z.logsumexp(-1), z.std(-1, unbiased=False), z.amax(-1)], -1)


VARIANTS = {
    "padded": (padded(False), "GPT-2 with a causal where and an added padding mask"),
    "padded_left": (padded(True), "the same padded on the left: rows that both close"),
    "gat_heads": (edge_gat, "GAT on an edge list, three heads side by side"),
    "alibi": (lambda o: Case(Alibi(12), {"x": torch.randn(2, 9, 12)}), "ALiBi and -inf in one bias"),
    "rotated": (lambda o: Case(Rotated(12, 16), {"x": torch.randn(2, 9, 12)}),
                "rotary embedding of neighbours, unbind"),
    "energy": (lambda o: Case(Energy(8), {"x": torch.randn(3, 4, 8)}), "LogSumExp, std, amax"),
}
