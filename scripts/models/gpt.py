"""GPT-2 and GPT-3 decoder blocks and small whole models, with every mask form of masks.py."""
import torch
from torch import nn

from models import data, masks
from models.case import Case


class ChainNorm(nn.Module):
    """Layer normalisation written out by its definition."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.rand(width))
        self.bias = data.bias(width)

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.weight + self.bias


def layer_norm(width):
    """nn.LayerNorm with weights that are not 1 and 0."""
    norm = nn.LayerNorm(width)
    norm.weight.data = 1 + 0.2 * torch.rand(width)
    norm.bias.data = data.bias(width).data
    return norm


class GeluErf(nn.Module):
    """x / 2 * (1 + erf(x / sqrt 2)), written out."""

    def forward(self, x):
        return x * 0.5 * (1.0 + torch.erf(x / 1.4142135623730951))


class GeluPow(nn.Module):
    """The tanh form with x ** 3."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class GeluMul(nn.Module):
    """The tanh form with x * x * x."""

    def forward(self, x):
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + torch.tanh(inner))


class Quick(nn.Module):
    """x * sigmoid(1.702 x)."""

    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


ACTIVATIONS = {
    "relu": nn.ReLU, "gelu": nn.GELU, "gelu_erf": GeluErf, "gelu_pow": GeluPow,
    "gelu_mul": GeluMul, "gelu_tanh": lambda: nn.GELU(approximate="tanh"), "quick": Quick,
}


class Conv1D(nn.Module):
    """GPT-2's linear layer: weight [in, out] and addmm on a flattened view (Reshape, Gemm)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = data.glorot(inputs, outputs), data.bias(outputs)

    def forward(self, x):
        y = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return y.view(x.size(0), x.size(1), y.size(-1))


class Qkv(nn.Module):
    """The three projections, split into heads: each [batch, heads, seq, width of a head]."""

    def __init__(self, width, heads, form):
        super().__init__()
        self.width, self.heads, self.form = width, heads, form
        if form == "separate":
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        elif form == "conv1d":
            self.qkv = Conv1D(width, 3 * width)
        else:
            self.qkv = nn.Linear(width, 3 * width)

    def split_heads(self, t):
        return t.view(t.size(0), t.size(1), self.heads, self.width // self.heads).transpose(1, 2)

    def forward(self, x):
        if self.form == "separate":
            parts = self.q(x), self.k(x), self.v(x)
        elif self.form == "chunk":
            parts = self.qkv(x).chunk(3, dim=-1)
        elif self.form == "permute":
            shape = (x.size(0), x.size(1), 3, self.heads, self.width // self.heads)
            t = self.qkv(x).reshape(shape).permute(2, 0, 3, 1, 4)
            return t[0], t[1], t[2]
        else:
            parts = self.qkv(x).split(self.width, dim=2)
        return tuple(self.split_heads(t) for t in parts)


class Attention(nn.Module):
    def __init__(self, width, heads, mask, form, divide):
        super().__init__()
        self.qkv = Qkv(width, heads, form)
        self.out = (Conv1D if form == "conv1d" else nn.Linear)(width, width)
        self.mask, self.divide = mask, divide
        self.root = (width // heads) ** 0.5

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x)
        s = torch.matmul(q, k.transpose(-2, -1))
        s = s / self.root if self.divide else s * (1.0 / self.root)
        p = torch.softmax(self.mask(s, mask), dim=-1)
        y = torch.matmul(p, v).transpose(1, 2).contiguous()
        return self.out(y.view(x.size(0), x.size(1), x.size(2)))


class Block(nn.Module):
    """Pre-normalised decoder block: x + attention(norm(x)), then + ffn(norm)."""

    def __init__(self, width, heads, ffn, mask, form="fused", norm="layer", act="gelu",
                 divide=True):
        super().__init__()
        make = layer_norm if norm == "layer" else ChainNorm
        linear = Conv1D if form == "conv1d" else nn.Linear
        self.ln1, self.ln2 = make(width), make(width)
        self.attn = Attention(width, heads, mask, form, divide)
        self.up, self.down = linear(width, ffn), linear(ffn, width)
        self.act = ACTIVATIONS[act]()

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln1(x), mask)
        return x + self.down(self.act(self.up(self.ln2(x))))


class Stack(nn.Module):
    """Several blocks and a last normalisation (none for a single block)."""

    def __init__(self, blocks, width, last_norm):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.last = layer_norm(width) if last_norm else nn.Identity()

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x, mask)
        return self.last(x)


class Gpt2(nn.Module):
    """Token and position embeddings, blocks, normalisation and a tied head: ids -> logits."""

    def __init__(self, vocab, longest, width, blocks):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(longest, width)
        self.stack = Stack(blocks, width, True)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids, mask=None):
        position = torch.arange(0, ids.size(1), dtype=torch.long).unsqueeze(0)
        return self.head(self.stack(self.wte(ids) + self.wpe(position), mask))


def shape(o):
    """(seq, width, heads, width of the feed-forward layer)."""
    width = o.dmodel or 24
    return o.seq or 16, width, o.heads or 3, o.ffn or width * 3 // 2


def pattern(o, kind, seq):
    if kind == "bigbird":
        return data.bigbird(seq, o.block or 2, o.seed)
    return masks.causal(seq)


def axes_of(name):
    return {name: {0: "batch", 1: "seq"}, "y": {0: "batch", 1: "seq"}}


def block(mask="where_ninf", kind="causal", **form):
    """A single block (or --layers of them) on x [batch, seq, width]."""
    def make(o):
        seq, width, heads, ffn = shape(o)
        keep = pattern(o, kind, seq)
        inputs, sparse = {"x": torch.randn(o.batch or 1, seq, width)}, set()
        if mask in masks.INPUT:
            _, module, value = masks.INPUT[mask]
            inputs["mask"] = value(keep)
            sparse = {"mask"} if mask == "input_float" else set()
            build = module
        else:
            build = lambda: masks.CONSTANT[mask][1](keep)  # noqa: E731
        blocks = [Block(width, heads, ffn, build(), **form) for _ in range(o.layers or 1)]
        model = Stack(blocks, width, len(blocks) > 1)
        return Case(model, inputs, sparse=sparse, axes=axes_of("x"))
    return make


def whole(form, mask="where_ninf"):
    """A whole small GPT-2 on token ids [batch, seq]."""
    def make(o):
        seq, width, heads, ffn = shape(o)
        vocab = o.vocab or 40
        blocks = [Block(width, heads, ffn, masks.CONSTANT[mask][1](masks.causal(seq)), form,
                        act="gelu_pow") for _ in range(o.layers or 2)]
        ids = torch.randint(0, vocab, (o.batch or 1, seq))
        return Case(Gpt2(vocab, 2 * seq, width, blocks), {"ids": ids}, axes=axes_of("ids"))
    return make


VARIANTS = {
    "fused": (block(), "LayerNormalization, fused QKV with Split, -inf mask, GELU by erf"),
    "separate": (block(form="separate"), "three projections"),
    "chunk": (block(form="chunk"), "fused QKV by chunk"),
    "permute": (block(form="permute"), "fused QKV by a 5-D permute and Gather"),
    "conv1d": (block(form="conv1d", act="gelu_pow", mask="sliced"), "GPT-2's addmm layers"),
    "chain_norm": (block(norm="chain"), "layer normalisation written out"),
    "scale_mul": (block(divide=False), "scale by Mul"),
    "relu": (block(act="relu"), "ReLU for GELU"),
    "gelu_erf": (block(act="gelu_erf"), "GELU by erf, written out"),
    "gelu_tanh": (block(act="gelu_tanh"), "GELU by tanh, PyTorch's own"),
    "gelu_pow": (block(act="gelu_pow"), "GELU by tanh with a power"),
    "gelu_mul": (block(act="gelu_mul"), "GELU by tanh with products"),
    "quick_gelu": (block(act="quick"), "x * sigmoid(1.702 x)"),
    "bigbird": (block(kind="bigbird", act="relu"), "BigBird mask as a constant"),
    "bigbird_input": (block("input_float", "bigbird", act="relu"), "BigBird mask as an input"),
    "gpt2": (whole("conv1d"), "whole GPT-2: embeddings, two blocks, tied head"),
    "gpt2_linear": (whole("fused", "tril"), "the same with nn.Linear and tril in the graph"),
}
VARIANTS.update({f"mask_{k}": (block(k), "mask: " + v[0]) for k, v in masks.CONSTANT.items()})
VARIANTS.update({f"mask_{k}": (block(k), "mask: " + v[0]) for k, v in masks.INPUT.items()})
