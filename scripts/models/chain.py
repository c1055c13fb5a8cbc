"""Dense chains that fit linked scratchpads: feed-forward layers and convolutions, alone and beside
sparse products."""
import torch
from torch import nn

from models import data
from models.case import Case


class LlamaFfn(nn.Module):
    """x + (silu(x Wg) * (x Wu)) Wd, on [batch, rows, width]."""

    def __init__(self, width, ffn):
        super().__init__()
        self.gate, self.up = nn.Linear(width, ffn, bias=False), nn.Linear(width, ffn, bias=False)
        self.down = nn.Linear(ffn, width, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class GptFfn(nn.Module):
    """x + gelu(x W1 + b1) W2 + b2."""

    def __init__(self, width, ffn, approximate="none"):
        super().__init__()
        self.up, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)
        self.approximate = approximate

    def forward(self, x):
        up = nn.functional.gelu(self.up(x), approximate=self.approximate)
        return x + self.down(up)


class Convolutions(nn.Module):
    """A padded convolution, ReLU, a 1x1 convolution; `residual` adds the image."""

    def __init__(self, channels, middle, out, kernel, residual=False):
        super().__init__()
        self.first = nn.Conv2d(channels, middle, kernel, padding=kernel // 2)
        self.second = nn.Conv2d(middle, out, 1)
        self.residual = residual

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        return x + y if self.residual else y


class Beside(nn.Module):
    """A graph convolution, whose result goes through a feed-forward layer."""

    def __init__(self, adj, features, width, ffn):
        super().__init__()
        self.register_buffer("adj", adj)
        self.weight = data.glorot(features, width)
        self.ffn = GptFfn(width, ffn)

    def forward(self, x):
        return self.ffn(torch.relu(self.adj @ (x @ self.weight)))


def ffn(build):
    def make(o):
        width, hidden = o.dmodel or 32, o.ffn or 80
        shape = (o.batch or 1, o.seq or 24, width)
        return Case(build(width, hidden), {"x": torch.randn(*shape)})
    return make


def convolution(kernel, residual):
    def make(o):
        net = Convolutions(6, 12, 6 if residual else 10, kernel, residual)
        return Case(net, {"x": torch.randn(o.batch or 2, 6, 9, 9)})
    return make


def beside(o):
    adj = data.normalised(data.graph(o))
    adj = torch.as_tensor(adj) if not torch.is_tensor(adj) else adj
    net = Beside(adj.to_dense() if adj.is_sparse else adj, 12, 16, 32)
    return Case(net, {"x": torch.randn(adj.shape[0], 12)})


VARIANTS = {
    "llama": (ffn(LlamaFfn), "SwiGLU feed-forward layer with residual"),
    "gpt": (ffn(GptFfn), "GELU feed-forward layer with biases and residual"),
    "gpt_tanh": (ffn(lambda w, f: GptFfn(w, f, "tanh")), "GELU by tanh"),
    "conv1": (convolution(1, False), "two 1x1 convolutions"),
    "conv3": (convolution(3, False), "3x3 and 1x1 convolution"),
    "conv3_residual": (convolution(3, True), "the same with a residual"),
    "beside": (beside, "a sparse product before a feed-forward layer"),
}
