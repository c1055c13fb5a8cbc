"""BigBird attention at full size (GPT-3 Small's shapes by default) and its block-gathered form."""
import torch
from torch import nn

from models import data, gpt, masks
from models.case import Case


class Gathered(nn.Module):
    """Attention that gathers each row's key and value blocks with a constant index table.

    The first two block rows attend to everything; each other block row attends to the `count`
    blocks of `table` (padded with block 0, which `bias` then masks with -inf). That is the
    mask of data.bigbird, computed without ever forming the whole score matrix.
    """

    def __init__(self, width, heads, blocks, block, seed):
        super().__init__()
        self.qkv = gpt.Qkv(width, heads, "separate")
        self.out = nn.Linear(width, width)
        self.heads, self.head, self.blocks, self.block = heads, width // heads, blocks, block
        rows = [row.nonzero().flatten() for row in data.bigbird_blocks(blocks, seed)[2:]]
        self.count = max(len(row) for row in rows)
        table = torch.zeros(len(rows), self.count, dtype=torch.int64)
        bias = torch.full((len(rows), self.count), float("-inf"))
        for i, row in enumerate(rows):
            table[i, :len(row)] = row
            bias[i, :len(row)] = 0
        self.register_buffer("table", table.flatten())
        self.register_buffer("bias", bias.repeat_interleave(block, 1)[:, None, :])

    def gather(self, t):
        """[batch, heads, seq, head] -> [batch, heads, rows, count * block, head]."""
        t = t.reshape(t.size(0), self.heads, self.blocks, self.block, self.head)
        t = torch.index_select(t, 2, self.table)
        return t.reshape(t.size(0), self.heads, self.blocks - 2, self.count * self.block, self.head)

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x)
        scale, split = self.head ** -0.5, 2 * self.block
        first = torch.softmax(torch.matmul(q[:, :, :split], k.transpose(-2, -1)) * scale, dim=-1)
        first = torch.matmul(first, v)
        rest = q[:, :, split:].reshape(x.size(0), self.heads, -1, self.block, self.head)
        s = torch.matmul(rest, self.gather(k).transpose(-2, -1)) * scale + self.bias
        rest = torch.matmul(torch.softmax(s, dim=-1), self.gather(v))
        rest = rest.reshape(x.size(0), self.heads, -1, self.head)
        y = torch.cat([first, rest], dim=2).transpose(1, 2)
        return self.out(y.reshape(x.size(0), x.size(1), self.heads * self.head))


def sizes(o):
    """(seq, width, heads, ffn, block): small, or GPT-3 Small's for --seq 1024."""
    if (o.seq or 16) < 1024:
        width = o.dmodel or 24
        return o.seq or 16, width, o.heads or 3, o.ffn or width * 3 // 2, o.block or 2
    width = o.dmodel or 768
    return o.seq, width, o.heads or 12, o.ffn or 4 * width, o.block or 64


def gathered(whole):
    def make(o):
        seq, width, heads, ffn, block = sizes(o)
        model = Gathered(width, heads, seq // block, block, o.seed)
        if whole:
            outer = gpt.Block(width, heads, ffn, None, "separate", act="relu")
            outer.attn = model
            model = outer
        return Case(model, {"x": torch.randn(o.batch or 1, seq, width)})
    return make


def masked(form, mask):
    """Decoder blocks with ReLU; the mask is a constant or the input `mask` (.mtx)."""
    def make(o):
        seq, width, heads, ffn, size = sizes(o)
        keep = data.bigbird(seq, size, o.seed)
        inputs = {"x": torch.randn(o.batch or 1, seq, width)}
        build = lambda: masks.CONSTANT[mask][1](keep)  # noqa: E731
        if mask in masks.INPUT:
            _, build, value = masks.INPUT[mask]
            inputs["mask"] = value(keep)
        blocks = [gpt.Block(width, heads, ffn, build(), form, act="relu")
                  for _ in range(o.layers or 1)]
        return Case(gpt.Stack(blocks, width, len(blocks) > 1), inputs, sparse={"mask"})
    return make


VARIANTS = {
    "constant": (masked("separate", "where_ninf"), "decoder blocks, mask as a constant, -inf"),
    "fused": (masked("fused", "where_ninf"), "the same with a fused QKV"),
    "add_1e4": (masked("separate", "add_1e4"), "the same, additive -1e4"),
    "where_1e9": (masked("separate", "where_1e9"), "the same, Where -1e9"),
    "input": (masked("separate", "input_float"), "mask as an input (.mtx)"),
    "gathered": (gathered(False), "block-gathered attention alone"),
    "gathered_block": (gathered(True), "block-gathered attention in a decoder block"),
}
