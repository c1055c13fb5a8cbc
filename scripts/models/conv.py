"""Small convolution networks: folded batch normalisation, relu6, pooling, residuals."""
import torch
import torch.nn.functional as F
from torch import nn

from models import data
from models.case import Case


def norm(count):
    """Batch normalisation with statistics that are not 0 and 1."""
    bn = nn.BatchNorm2d(count)
    bn.running_mean.copy_(0.2 * torch.rand(count) - 0.1)
    bn.running_var.copy_(0.5 + torch.rand(count))
    bn.weight.data = 0.5 + torch.rand(count)
    bn.bias.data = data.bias(count).data
    return bn


def conv_bn(inputs, outputs, act=nn.ReLU, **options):
    """Conv, BatchNorm (folded by the exporter), activation."""
    conv = nn.Conv2d(inputs, outputs, options.pop("kernel", 3), bias=False, **options)
    return nn.Sequential(conv, norm(outputs), act())


class Residual(nn.Module):
    """relu(x + conv(conv(x)))."""

    def __init__(self, count):
        super().__init__()
        self.first = conv_bn(count, count, padding=1)
        self.second = nn.Sequential(nn.Conv2d(count, count, 3, padding=1, bias=False), norm(count))

    def forward(self, x):
        return torch.relu(x + self.second(self.first(x)))


class PreNorm(nn.Module):
    """Batch normalisation before the convolution: it stays in the exported graph."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm = norm(inputs)
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        return self.conv(torch.relu(self.norm(x)))


class Padded(nn.Module):
    """Explicit zero padding (Pad), then a convolution with a stride and a dilation."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2, dilation=2)

    def forward(self, x):
        return F.hardswish(self.conv(F.pad(x, (1, 2, 2, 1))))


def head(count, classes):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(count, classes)]


def nets(classes):
    """name -> (layers of the network on [batch, 3, 12, 12], description)."""
    return {
        "simple": ([conv_bn(3, 8, padding=1), nn.MaxPool2d(2), conv_bn(8, 12, padding=1),
                    *head(12, classes)], "Conv, ReLU, MaxPool, global average, Gemm"),
        "relu6": ([conv_bn(3, 8, nn.ReLU6, stride=2, padding=1),
                   conv_bn(8, 8, nn.ReLU6, padding=1, groups=8),
                   conv_bn(8, 12, nn.ReLU6, kernel=1), *head(12, classes)],
                  "relu6, depthwise and 1x1 convolutions"),
        "flatten": ([conv_bn(3, 4, padding=1), nn.AvgPool2d(2), nn.Flatten(),
                     nn.Linear(4 * 36, classes)], "AveragePool, Flatten, Gemm"),
        "residual": ([conv_bn(3, 8, padding=1), Residual(8), *head(8, classes)],
                     "a residual block"),
        "pre_norm": ([PreNorm(3, 8), nn.MaxPool2d(2), PreNorm(8, 8), *head(8, classes)],
                     "BatchNormalization that stays"),
        "pooled": ([nn.Conv2d(3, 6, 3), nn.MaxPool2d(3, stride=2, padding=1),
                    nn.AvgPool2d(3, stride=2, padding=1), nn.Flatten(), nn.Linear(54, classes)],
                   "overlapping, padded pools"),
        "padded": ([Padded(), nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.Flatten(),
                    nn.Linear(54, classes)], "Pad, stride, dilation, HardSwish"),
    }


def make(name, sparsity=0.0):
    def build(o):
        net = nn.Sequential(*nets(o.classes or 5)[name][0])
        for weight in net.parameters():
            if weight.dim() == 4:
                data.prune_(weight, sparsity)
        axes = {"x": {0: "batch"}, "y": {0: "batch"}}
        return Case(net, {"x": torch.randn(o.batch or 2, 3, 12, 12)}, axes=axes)
    return build


VARIANTS = {name: (make(name), text) for name, (_, text) in nets(5).items()}
VARIANTS["pruned"] = (make("simple", 0.8), "the first with 80% of the weights zero")
