"""Sparse autoencoders: relu(X We + b) Wd + b with pruned weights."""
import torch
from torch import nn

from models import data
from models.case import Case


class Autoencoder(nn.Module):
    """nn.Linear twice: Gemm for a 2-D input, MatMul and Add for a 3-D one."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.encoder = nn.Linear(inputs, hidden)
        self.decoder = nn.Linear(hidden, inputs)

    def forward(self, x):
        return self.decoder(torch.relu(self.encoder(x)))


class MatMulAutoencoder(nn.Module):
    """An autoencoder with weights [inputs, outputs] and plain products."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.we, self.be = data.glorot(inputs, hidden), data.bias(hidden)
        self.wd, self.bd = data.glorot(hidden, inputs), data.bias(inputs)

    def forward(self, x):
        h = torch.relu(torch.matmul(x, self.we) + self.be)
        return torch.matmul(h, self.wd) + self.bd


class TopKAutoencoder(MatMulAutoencoder):
    """A code of the k largest elements of a row, scattered into zeros; `rectified`: if positive."""

    def __init__(self, inputs, hidden, k, rectified):
        super().__init__(inputs, hidden)
        self.k, self.rectified = k, rectified

    def forward(self, x):
        h = torch.matmul(x, self.we) + self.be
        values, places = torch.topk(h, self.k, dim=-1)
        if self.rectified:
            values = torch.relu(values)
        code = torch.zeros_like(h).scatter(-1, places, values)
        return torch.matmul(code, self.wd) + self.bd


class MaskedLinear(nn.Module):
    """A linear layer whose pruning mask is still a product (Cast and Mul unless folded)."""

    def __init__(self, inputs, outputs, sparsity):
        super().__init__()
        self.weight = data.glorot(outputs, inputs)
        self.bias = data.bias(outputs)
        kept = data.prune_(self.weight.detach().clone(), sparsity) != 0
        self.register_buffer("mask", kept)

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask.float(), self.bias)


class MaskedAutoencoder(nn.Module):
    def __init__(self, inputs, hidden, sparsity):
        super().__init__()
        self.encoder = MaskedLinear(inputs, hidden, sparsity)
        self.decoder = MaskedLinear(hidden, inputs, sparsity)

    def forward(self, x):
        return self.decoder(torch.relu(self.encoder(x)))


def make(kind, sparsity, rank=2):
    def build(o):
        size, hidden, batch = o.features or 48, o.hidden or 24, o.batch or 5
        level = sparsity if o.sparsity is None else o.sparsity
        if kind == "masked":
            model = MaskedAutoencoder(size, hidden, level)
        elif kind in ("topk", "topk_relu"):
            model = TopKAutoencoder(size, hidden, hidden // 6, kind == "topk_relu")
        else:
            model = (Autoencoder if kind == "linear" else MatMulAutoencoder)(size, hidden)
            prune = data.prune_ if size * hidden < 1 << 20 else data.random_prune_
            for weight in model.parameters():
                if weight.dim() == 2:
                    prune(weight, level)
        shape = (batch, size) if rank == 2 else (2, batch, size)
        axes = {"x": {rank - 2: "batch"}, "y": {rank - 2: "batch"}}
        return Case(model, {"x": torch.rand(shape)}, axes=axes)
    return build


VARIANTS = {
    "gemm": (make("linear", 0.5), "2-D input: Gemm; half of the weights are zero"),
    "gemm_90": (make("linear", 0.9), "the same with 90% zeros"),
    "gemm_dense": (make("linear", 0.0), "the same with dense weights"),
    "matmul": (make("matmul", 0.5), "weights [in, out]: MatMul and Add"),
    "matmul3d": (make("linear", 0.5, 3), "3-D input: MatMul, Add with the bias first"),
    "matmul3d_90": (make("linear", 0.9, 3), "the same with 90% zeros"),
    "topk": (make("topk", 0.0), "the 4 largest of 24 elements: TopK and ScatterElements"),
    "topk_relu": (make("topk_relu", 0.0), "the same, Relu between the two"),
    "masked": (make("masked", 0.5), "pruning masks left as a product"),
    "masked_90": (make("masked", 0.9), "the same with 90% zeros"),
}
