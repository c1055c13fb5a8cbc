"""Other transformers: BERT with a mask input, ViT, cross-attention, einsum attention, ALiBi."""
import torch
from torch import nn

from models import masks
from models.case import Case
from models.encoder import shape
from models.gpt import layer_norm


class Layer(nn.Module):
    """Post-normalised encoder layer as BERT writes it; bias is added to the scores."""

    def __init__(self, width, heads, ffn):
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)
        self.norm1, self.norm2 = layer_norm(width), layer_norm(width)

    def split(self, t):
        return t.view(t.size()[:-1] + (self.heads, self.head)).permute(0, 2, 1, 3)

    def forward(self, x, bias=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        s = torch.matmul(q, k.transpose(-1, -2)) / self.head ** 0.5
        if bias is not None:
            s = s + bias
        y = torch.matmul(nn.functional.softmax(s, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        x = self.norm1(self.o(y.view(y.size()[:-2] + (self.heads * self.head,))) + x)
        return self.norm2(self.down(nn.functional.gelu(self.up(x))) + x)


class Bert(nn.Module):
    """Three embeddings, layers, a tanh pooler; the mask [batch, seq] becomes [batch, 1, 1, seq]."""

    def __init__(self, vocab, seq, width, heads, ffn, count):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.kinds, self.norm = nn.Embedding(2, width), layer_norm(width)
        self.layers = nn.ModuleList(Layer(width, heads, ffn) for _ in range(count))
        self.pooler = nn.Linear(width, width)
        self.register_buffer("position_ids", torch.arange(seq)[None, :])

    def forward(self, ids, kinds, mask):
        bias = (1.0 - mask[:, None, None, :].to(torch.float32)) * masks.LEAST
        x = self.words(ids) + self.kinds(kinds) + self.places(self.position_ids[:, :ids.size(1)])
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Vit(nn.Module):
    """Patches by a convolution, a class token, encoder layers, a head on that token."""

    def __init__(self, width, heads, ffn, patches):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, patches + 1, width))
        self.layer, self.head = Layer(width, heads, ffn), nn.Linear(width, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
        return self.head(self.layer(x)[:, 0])


class Einsum(nn.Module):
    """Attention by torch.einsum with an ALiBi bias (a slope a head) and a causal -inf mask."""

    def __init__(self, seq, width, heads):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, width, heads, width // heads) / width ** 0.5)
        self.out = nn.Parameter(torch.randn(heads, width // heads, width) / width ** 0.5)
        i = torch.arange(seq)
        slope = 2.0 ** -(torch.arange(1, heads + 1).float())
        bias = slope[:, None, None] * (i[None, :] - i[:, None]).float()
        self.register_buffer("bias", bias.masked_fill(~masks.causal(seq), float("-inf")))

    def forward(self, x):
        q, k, v = (torch.einsum("bsd,dhe->bhse", x, w) for w in (self.w[0], self.w[1], self.w[2]))
        s = torch.einsum("bhqe,bhke->bhqk", q, k) * q.size(-1) ** -0.5 + self.bias
        y = torch.einsum("bhqk,bhke->bqhe", torch.softmax(s, dim=-1), v)
        return torch.einsum("bqhe,hed->bqd", y, self.out)


class Cross(nn.Module):
    """nn.TransformerDecoderLayer: causal self-attention, then attention to `memory`."""

    def __init__(self, seq, width, heads, ffn):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(width, heads, ffn, dropout=0.0, batch_first=True)
        bias = torch.zeros(seq, seq).masked_fill(~masks.causal(seq), float("-inf"))
        self.register_buffer("bias", bias)

    def forward(self, x, memory):
        return self.layer(x, memory, tgt_mask=self.bias)


def small(o):
    seq, width, heads, ffn, batch = shape(o)
    if o.dmodel is None:
        width, heads, ffn = 24, 3, 36
    return seq, width, heads, ffn, batch


def bert(o):
    seq, width, heads, ffn, _ = small(o)
    batch, vocab = o.batch or 2, o.vocab or 30
    mask = torch.ones(batch, seq, dtype=torch.int64)
    mask[-1, seq - 5:] = 0
    given = {"ids": torch.randint(0, vocab, (batch, seq)),
             "kinds": (torch.arange(seq) >= seq // 2).long()[None, :].repeat(batch, 1),
             "mask": mask}
    axes = {name: {0: "batch", 1: "seq"} for name in given}
    return Case(Bert(vocab, 2 * seq, width, heads, ffn, o.layers or 1), given, ["y", "pooled"],
                axes=axes)


def vit(o):
    _, width, heads, ffn, _ = small(o)
    return Case(Vit(width, heads, ffn, 9), {"x": torch.randn(o.batch or 2, 3, 12, 12)})


def einsum(o):
    seq, width, heads, _, batch = small(o)
    return Case(Einsum(seq, width, heads), {"x": torch.randn(batch, seq, width)})


def cross(o):
    seq, width, heads, ffn, batch = small(o)
    given = {"x": torch.randn(batch, seq, width), "memory": torch.randn(batch, seq + 4, width)}
    return Case(Cross(seq, width, heads, ffn), given)


VARIANTS = {
    "bert": (bert, "BERT: three inputs, two results, a padding mask"),
    "vit": (vit, "ViT: patches by Conv, a class token"),
    "einsum": (einsum, "attention by Einsum, ALiBi bias"),
    "cross": (cross, "nn.TransformerDecoderLayer with memory"),
}
