"""Other graph networks on a dense adjacency: deep GCN, GIN, SGC, APPNP, Cheb, einsum."""
import torch
from torch import nn

from models import data
from models.case import Case
from models.gcn import AxwLayer, XwLayer, inputs, sizes


class Deep(nn.Module):
    """Three GCN layers with batch normalisation, relu and a residual."""

    def __init__(self, counts):
        super().__init__()
        widths = [counts[0], counts[1], counts[1], counts[2]]
        self.layers = nn.ModuleList(XwLayer(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(counts[1]) for _ in range(2))
        for norm in self.norms:
            norm.running_mean.copy_(torch.rand(counts[1]) - 0.5)
            norm.running_var.copy_(0.5 + torch.rand(counts[1]))

    def forward(self, adj, x):
        h = torch.relu(self.norms[0](self.layers[0](adj, x)))
        h = h + torch.relu(self.norms[1](self.layers[1](adj, h)))
        return self.layers[2](adj, nn.functional.dropout(h, 0.5, self.training))


class Gin(nn.Module):
    """Two GIN layers, mlp((1 + eps) x + A x), and a sum over the nodes in front of the head."""

    def __init__(self, counts):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.1, 0.2]))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(a, counts[1]), nn.ReLU(), nn.Linear(counts[1], counts[1]))
            for a in counts[:2])
        self.head = nn.Linear(counts[1], counts[2])

    def forward(self, adj, x):
        for i, mlp in enumerate(self.mlps):
            x = torch.relu(mlp((1 + self.eps[i]) * x + torch.matmul(adj, x)))
        return self.head(x.sum(dim=0, keepdim=True))


class Sgc(nn.Module):
    """A A X W: powers of the adjacency, one linear layer."""

    def __init__(self, counts):
        super().__init__()
        self.linear = nn.Linear(counts[0], counts[2])

    def forward(self, adj, x):
        return torch.log_softmax(self.linear(adj @ (adj @ x)), dim=-1)


class Appnp(nn.Module):
    """h <- (1 - a) A h + a h0, three times, after a feed-forward layer."""

    def __init__(self, counts):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(counts[0], counts[1]), nn.ReLU(),
                                 nn.Linear(counts[1], counts[2]))

    def forward(self, adj, x):
        h = start = self.mlp(x)
        for _ in range(3):
            h = 0.9 * torch.matmul(adj, h) + 0.1 * start
        return torch.softmax(h, dim=-1)


class Cheb(nn.Module):
    """x W0 + A x W1 + (2 A A x - x) W2 + b."""

    def __init__(self, counts):
        super().__init__()
        self.w = nn.ParameterList(data.glorot(counts[0], counts[2]) for _ in range(3))
        self.bias = data.bias(counts[2])

    def forward(self, adj, x):
        first = torch.matmul(adj, x)
        second = 2.0 * torch.matmul(adj, first) - x
        y = torch.matmul(x, self.w[0]) + torch.matmul(first, self.w[1])
        return torch.tanh(y + torch.matmul(second, self.w[2]) + self.bias)


class EinsumGcn(nn.Module):
    """A layer whose two products are torch.einsum, the second with three operands' order reversed."""

    def __init__(self, counts):
        super().__init__()
        self.w1, self.w2 = data.glorot(counts[0], counts[1]), data.glorot(counts[1], counts[2])

    def forward(self, adj, x):
        h = torch.relu(torch.einsum("ij,jf->if", adj, torch.einsum("jk,kf->jf", x, self.w1)))
        return torch.einsum("fc,ji,jf->ic", self.w2, adj, h)


class Batched(nn.Module):
    """Two graphs at once: adj [2, n, n], x [2, n, f], one AxwLayer and a mean over the nodes."""

    def __init__(self, counts):
        super().__init__()
        self.layer = AxwLayer(counts[0], counts[1])
        self.head = nn.Linear(counts[1], counts[2])

    def forward(self, adj, x):
        return self.head(torch.relu(self.layer(adj, x)).mean(dim=1))


def make(model):
    def build(o):
        adj, x, _ = inputs(o)
        adj = data.normalised(adj.to_dense())
        net = model(sizes(o, x))
        return Case(net, {"adj": adj, "x": x}, sparse={"adj", "x"})
    return build


def batched(o):
    """A batch of two random graphs of 20 nodes, as dense files."""
    upper = torch.triu((torch.rand(2, 20, 20) < 0.15).float(), 1)
    x = data.features(40, 12).view(2, 20, 12)
    return Case(Batched((12, 16, 3)), {"adj": upper + upper.transpose(1, 2), "x": x})


VARIANTS = {
    "deep": (make(Deep), "three GCN layers, batch normalisation, a residual, dropout"),
    "gin": (make(Gin), "GIN, sum over the nodes"),
    "sgc": (make(Sgc), "A (A X) W"),
    "appnp": (make(Appnp), "personalised propagation"),
    "cheb": (make(Cheb), "Chebyshev polynomials"),
    "einsum": (make(EinsumGcn), "GCN by Einsum"),
    "batched": (batched, "a batch of graphs, dense files"),
}
