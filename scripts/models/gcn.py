"""Two-layer GCN with a dense adjacency, as an input or as a constant."""
import torch
from torch import nn

from models import data
from models.case import Case


class AxwLayer(nn.Module):
    """(A X) W + b."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = data.glorot(inputs, outputs)
        self.bias = data.bias(outputs)

    def forward(self, adj, x):
        return torch.matmul(torch.matmul(adj, x), self.weight) + self.bias


class XwLayer(AxwLayer):
    """A (X W) + b."""

    def forward(self, adj, x):
        return torch.matmul(adj, torch.matmul(x, self.weight)) + self.bias


class LinearLayer(nn.Module):
    """A X through nn.Linear: a Gemm with a transposed weight."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, adj, x):
        return self.linear(torch.matmul(adj, x))


class Gcn(nn.Module):
    """Two layers, relu between, softmax or log-softmax over the classes."""

    def __init__(self, layer, sizes, log=False):
        super().__init__()
        self.layer1 = layer(sizes[0], sizes[1])
        self.layer2 = layer(sizes[1], sizes[2])
        self.log = log

    def forward(self, adj, x):
        y = self.layer2(adj, torch.relu(self.layer1(adj, x)))
        return torch.log_softmax(y, dim=1) if self.log else torch.softmax(y, dim=1)


class Constant(nn.Module):
    """The adjacency is a constant of the model."""

    def __init__(self, inner, adj):
        super().__init__()
        self.inner = inner
        self.register_buffer("adj", adj)

    def forward(self, x):
        return self.inner(self.adj, x)


class Normalised(nn.Module):
    """D^-1/2 (A + I) D^-1/2 is computed in the graph from the bound adjacency."""

    def __init__(self, inner, nodes):
        super().__init__()
        self.inner = inner
        self.register_buffer("eye", torch.eye(nodes))

    def forward(self, adj, x):
        a = adj + self.eye
        d = a.sum(dim=1).pow(-0.5)
        d = d.masked_fill(d == float("inf"), 0.0)
        return self.inner(d.unsqueeze(1) * a * d.unsqueeze(0), x)


class Quotient(Normalised):
    """The normalised adjacency as a quotient: (A + I) / sqrt(row sums * column sums)."""

    def forward(self, adj, x):
        a = adj + self.eye
        return self.inner(a / torch.sqrt(a.sum(1, keepdim=True) * a.sum(0, keepdim=True)), x)


def inputs(o):
    """(adj, x, files): what was given, or a small graph with random sparse features."""
    files = {}
    if o.adj:
        files["adj"] = o.adj
        adj = data.read_mtx(o.adj)
    else:
        adj = data.graph(o)
    if o.x:
        files["x"] = o.x
        x = data.read_mtx(o.x).to_dense()
    else:
        x = data.features(adj.shape[0], o.features or 16)
    return adj, x, files


def sizes(o, x):
    return x.shape[1], o.hidden or 16, o.classes or (4 if o.adj else 2)


def case_on(o, model, adj, x, files):
    """The case of a model of (adj, x); a given graph is traced on four dummy nodes and its
    reference uses torch.sparse, so that no dense adjacency is ever made."""
    axes = {"adj": {0: "nodes", 1: "nodes"}, "x": {0: "nodes"}, "y": {0: "nodes"}}
    trace = None
    if files:
        trace = {"adj": torch.ones(4, 4), "x": torch.ones(4, x.shape[1])}
    return Case(model, {"adj": adj, "x": x}, sparse={"adj", "x"}, files=files, axes=axes,
                trace=trace)


def two_layers(layer, log=False):
    def make(o):
        adj, x, files = inputs(o)
        return case_on(o, Gcn(layer, sizes(o, x), log), adj, x, files)
    return make


def constant(layer, norm):
    def make(o):
        adj, x, _ = inputs(o)
        inner = Gcn(layer, sizes(o, x))
        adj = norm(adj.to_dense())
        return Case(Constant(inner, adj), {"x": x}, sparse={"x"})
    return make


def normalised(module):
    """Normalisation in the graph."""
    def make(o):
        adj, x, _ = inputs(o)
        model = module(Gcn(AxwLayer, sizes(o, x)), adj.shape[0])
        return Case(model, {"adj": adj.to_dense(), "x": x}, sparse={"adj", "x"})
    return make


VARIANTS = {
    "axw": (two_layers(AxwLayer), "(A X) W, softmax"),
    "xw": (two_layers(XwLayer), "A (X W), softmax"),
    "linear": (two_layers(LinearLayer), "(A X) through nn.Linear, softmax"),
    "log": (two_layers(AxwLayer, log=True), "(A X) W, log-softmax"),
    "constant": (constant(AxwLayer, lambda a: a), "adjacency as a constant"),
    "constant_norm": (constant(XwLayer, data.normalised), "normalised adjacency as a constant"),
    "normalised": (normalised(Normalised), "normalisation in the graph"),
    "quotient": (normalised(Quotient), "normalisation in the graph, by a quotient of sums"),
}
