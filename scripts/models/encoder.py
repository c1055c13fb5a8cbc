"""nn.TransformerEncoderLayer and nn.MultiheadAttention, as PyTorch itself exports them."""
import torch
from torch import nn

from models import masks
from models.case import Case


class Encoder(nn.Module):
    """Encoder layers in evaluation mode; `mask` (additive or bool) and padding are optional."""

    def __init__(self, width, heads, ffn, count, act, mask, pre_norm, batch_first, padding=None):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, ffn, dropout=0.0, activation=act,
                                       norm_first=pre_norm, batch_first=batch_first)
            for _ in range(count))
        self.register_buffer("mask", mask)
        self.register_buffer("padding", padding)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, src_mask=self.mask, src_key_padding_mask=self.padding)
        return x


class SelfAttention(nn.Module):
    """nn.MultiheadAttention of x with itself; the weights are not wanted."""

    def __init__(self, width, heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


def shape(o):
    width = o.dmodel or 32
    return o.seq or 16, width, o.heads or 2, o.ffn or width * 3 // 2, o.batch or 1


def layer(act="relu", mask=None, pre_norm=False, batch_first=False, padding=False, count=1):
    def make(o):
        seq, width, heads, ffn, batch = shape(o)
        keep = masks.causal(seq)
        if mask == "bool":
            buffer = ~keep
        elif mask == "additive":
            buffer = torch.zeros(seq, seq).masked_fill(~keep, float("-inf"))
        else:
            buffer = None
        pad = torch.arange(seq)[None, :].expand(batch, seq) >= seq - 3 if padding else None
        model = Encoder(width, heads, ffn, count, act, buffer, pre_norm, batch_first, pad)
        x = torch.randn((batch, seq, width) if batch_first else (seq, batch, width))
        first = 0 if batch_first else 1
        axes = {n: {first: "batch"} for n in "xy"} if not padding else {}
        return Case(model, {"x": x}, axes=axes)
    return make


def attention(o):
    """nn.MultiheadAttention alone."""
    seq, width, heads, _, batch = shape(o)
    return Case(SelfAttention(width, heads), {"x": torch.randn(seq, batch, width)})


VARIANTS = {
    "relu": (layer(), "post-normalised, ReLU, sequence first"),
    "gelu": (layer("gelu"), "GELU"),
    "pre_norm": (layer(pre_norm=True), "pre-normalised"),
    "batch_first": (layer("gelu", batch_first=True), "batch first"),
    "causal": (layer(mask="additive"), "additive causal mask"),
    "causal_bool": (layer(mask="bool"), "bool causal mask"),
    "padding": (layer(padding=True), "padding mask: the last three tokens"),
    "two": (layer("gelu", "additive", True, True, count=2), "two layers, pre-normalised, causal"),
    "attention": (attention, "nn.MultiheadAttention alone"),
}
