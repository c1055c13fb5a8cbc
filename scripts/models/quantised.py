"""Feed-forward layers with weights and activations of 8 bits: QuantizeLinear, DequantizeLinear.

Scales are powers of two: PyTorch multiplies by the inverse of a scale, ONNX divides by it.
"""
import torch
from torch import nn

from models import data
from models.case import Case


def scales(of):
    """One a column, so that its largest weight is at most 127."""
    most = of.detach().abs().amax(0).clamp(min=1e-3)
    return 2.0 ** torch.ceil(torch.log2(most / 127))


def weight(of, scale):
    zeros = torch.zeros(of.shape[1], dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(of, scale, zeros, 1, -128, 127)


class Quantised(nn.Module):
    """relu(x W1 + b1) W2 + b2: activations as u8 with a zero point, weights as i8 by column."""

    def __init__(self, width, ffn):
        super().__init__()
        self.up, self.down = data.glorot(width, ffn), data.glorot(ffn, width)
        self.up_bias = nn.Parameter(torch.randn(ffn) * 0.1)
        self.down_bias = nn.Parameter(torch.randn(width) * 0.1)

    def calibrate(self):
        self.register_buffer("up_scale", scales(self.up))
        self.register_buffer("down_scale", scales(self.down))

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 1 / 32, 128, 0, 255)
        h = torch.relu(torch.matmul(x, weight(self.up, self.up_scale)) + self.up_bias)
        h = torch.fake_quantize_per_tensor_affine(h, 1 / 64, 0, 0, 255)
        return torch.matmul(h, weight(self.down, self.down_scale)) + self.down_bias


def model(sparsity):
    def make(o):
        net = Quantised(o.dmodel or 32, o.ffn or 48)
        for weight in (net.up, net.down):
            data.prune_(weight, sparsity if o.sparsity is None else o.sparsity)
        net.calibrate()
        return Case(net, {"x": torch.randn(o.seq or 16, o.dmodel or 32)})
    return make


VARIANTS = {
    "ffn": (model(0.0), "feed-forward layer of 8 bits"),
    "ffn_pruned": (model(0.8), "80% of the weights zero"),
}
