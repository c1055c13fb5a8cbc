#!/usr/bin/env python3
"""What the vendor's libraries reach on a GPU, through PyTorch: products, chains as kernels apart, attention, kernels
of rows, sparse products; and the clock under a long product. Rows as those of measure.h, on standard output.

Operands are random normal numbers. What a kernel reads is cold: the sets of operands in turn take several times the
L2, except where `warm` stands. Kernels run from a captured graph, so that the host does not bound them; a time holds
what lies between two kernels. Medians of 7 replays.
"""
import csv
import subprocess
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

GROUP = "library"
WRITER = csv.writer(sys.stdout, lineterminator="\n")
CARD = torch.cuda.get_device_name()
COLD_BYTES = 256 << 20
# Chains of the cluster paper, 128 rows: name: columns of C (n), depth of A (k), columns of E (l); fuseflow-cluster
# --workload NAME has the same. C1 to C4 are convolutions with kernels of 1 x 1: pixels as rows.
FFN = {"G1": (512, 32, 256), "G2": (256, 512, 64), "G3": (512, 416, 256), "G4": (3072, 768, 768),
       "G5": (16384, 4096, 4096), "G6": (4096, 1024, 1024), "G7": (768, 768, 768), "G8": (8192, 2048, 2048),
       "G9": (2048, 512, 512), "G10": (1536, 384, 384)}
GATED = {"S1": (8192, 3072), "S2": (5632, 2048), "S3": (11008, 4096), "S4": (8192, 2048), "S5": (11008, 2048),
         "S6": (8960, 1536), "S7": (9728, 2560), "S8": (3072, 1024)}
CONVOLUTIONS = {"C1": (3136, 256, 64, 64), "C2": (784, 512, 128, 128), "C3": (196, 1024, 256, 256),
                "C4": (49, 2048, 512, 512)}


def row(what, parameter, value, unit):
    WRITER.writerow([CARD, GROUP, what, parameter, f"{value:.6g}", unit])
    sys.stdout.flush()


def median(values):
    return sorted(values)[len(values) // 2]


def seconds(work, sets, least=0.003):
    """Median seconds of one call of `work` over `sets` in turn, from a captured graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for operands in sets[:2]:
            work(*operands)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for operands in sets[:2]:
            work(*operands)
        end.record()
        end.synchronize()
        each = begin.elapsed_time(end) * 1e-3 / min(2, len(sets))
        calls = max(len(sets), min(400, int(least / each) + 1))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for call in range(calls):
                work(*sets[call % len(sets)])
        times = []
        for repeat in range(8):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if repeat > 0:
                times.append(begin.elapsed_time(end) * 1e-3 / calls)
    return median(times)


def random_sets(*shapes, dtype=torch.bfloat16, warm=False):
    """Sets of operands of these shapes, as many as take COLD_BYTES together (one when warm)."""
    size = torch.tensor([], dtype=dtype).element_size()
    bytes_of_set = sum(torch.Size(shape).numel() for shape in shapes) * size
    number = 1 if warm else max(1, min(64, COLD_BYTES // bytes_of_set + 1))
    return [[torch.randn(shape, device="cuda", dtype=dtype) * 0.1 for shape in shapes] for _ in range(number)]


def products():
    for m, n, k in [(4096, 4096, 4096), (8192, 8192, 8192), (1, 4096, 4096), (16, 4096, 4096), (64, 4096, 4096),
                    (1, 16384, 4096), (64, 16384, 4096), (128, 4096, 1024), (128, 768, 768), (512, 512, 512),
                    (1024, 1024, 1024), (2048, 2048, 2048)]:
        time_each = seconds(torch.mm, random_sets((m, k), (k, n)))
        shape = f"{m}x{n}x{k}"
        row("product_time", shape, time_each * 1e6, "us")
        row("product_tflops", shape, 2.0 * m * n * k / time_each * 1e-12, "TFLOP/s")
        row("product_bytes", shape, 2.0 * (m * n + m * k + k * n) / time_each * 1e-9, "GB/s")


def ffn(a, b, d):
    return torch.mm(torch.relu(torch.mm(a, b)), d)


def ffn_folded(a, b, d, bias):
    return torch.mm(torch._addmm_activation(bias, a, b, use_gelu=False), d)


def gated(a, b0, b1, d):
    return torch.mm(F.silu(torch.mm(a, b0)) * torch.mm(a, b1), d)


def chains():
    for name, (n, k, l) in FFN.items():
        row("chain_apart", f"{name} three kernels", seconds(ffn, random_sets((128, k), (k, n), (n, l))) * 1e6, "us")
        folded = seconds(ffn_folded, random_sets((128, k), (k, n), (n, l), (n,)))
        row("chain_apart", f"{name} activation folded", folded * 1e6, "us")
    for name, (n, k) in GATED.items():
        row("chain_apart", f"{name} five kernels",
            seconds(gated, random_sets((128, k), (k, n), (k, n), (n, k))) * 1e6, "us")
    for name, (m, n, k, l) in CONVOLUTIONS.items():
        folded = seconds(ffn_folded, random_sets((m, k), (k, n), (n, l), (n,)))
        row("chain_apart", f"{name} activation folded", folded * 1e6, "us")


def attention_apart(q, k, v):
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores, -1), v)


def attention():
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    shapes = [(16384 // length, 2048 // size, length, size) for size in (64, 128) for length in (2048, 4096, 8192, 16384)]
    shapes += [(1, 32, length, size) for size in (64, 128) for length in (512, 1024, 2048)]
    for batch, heads, length, size in shapes:
        sets = random_sets(*[(batch, heads, length, size)] * 3, dtype=torch.float16)
        shape = f"{batch * heads} heads {length} length {size} size"
        for name, backend in backends.items():
            for causal in (False, True):
                try:
                    with sdpa_kernel(backend):
                        each = seconds(lambda q, k, v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c), sets)
                except RuntimeError as error:
                    print(f"library: {shape} {name}: {error}", file=sys.stderr)
                    continue
                parameter = f"{shape} {name}{' causal' if causal else ''}"
                row("attention_time", parameter, each * 1e6, "us")
                flops = 4.0 * batch * heads * length * length * size / (2 if causal else 1)
                row("attention_tflops", parameter, flops / each * 1e-12, "TFLOP/s")
        if batch == 1:
            row("attention_time", f"{shape} apart", seconds(attention_apart, sets) * 1e6, "us")
    for heads, length in ((32, 1024), (32, 8192)):
        one, many = (1, heads, 1, 128), (1, heads, length, 128)
        sets = random_sets(one, many, many, dtype=torch.float16)
        for name, backend in backends.items():
            try:
                with sdpa_kernel(backend):
                    each = seconds(F.scaled_dot_product_attention, sets)
            except RuntimeError as error:
                print(f"library: decode {heads} {length} {name}: {error}", file=sys.stderr)
                continue
            row("attention_time", f"decode {heads} heads {length} keys 128 size {name}", each * 1e6, "us")


def rows():
    for m, n in ((512, 768), (2048, 1024), (4096, 4096), (16384, 8192)):
        shape = f"{m}x{n} bf16"
        weight = torch.randn(n, device="cuda", dtype=torch.bfloat16)
        sets = random_sets((m, n))
        row("softmax", shape, seconds(lambda x: torch.softmax(x, -1), sets) * 1e6, "us")
        row("layer_norm", shape, seconds(lambda x, w=weight, n=n: F.layer_norm(x, (n,), w, w), sets) * 1e6, "us")
        row("gelu", shape, seconds(F.gelu, sets) * 1e6, "us")
        row("row_sum", shape, seconds(lambda x: torch.sum(x, -1), sets) * 1e6, "us")
        row("add", shape, seconds(torch.add, random_sets((m, n), (m, n))) * 1e6, "us")


def sparse():
    """A graph of the size of Cora: 2,708 nodes, four neighbours each on average and itself; features of 512 numbers."""
    generator = torch.Generator().manual_seed(1)
    nodes, features, hidden = 2708, 512, 512
    edges = torch.randint(0, nodes, (2, 10556), generator=generator)
    edges = torch.cat([edges, torch.arange(nodes).repeat(2, 1)], 1)
    matrix = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (nodes, nodes)).coalesce().to_sparse_csr().cuda()
    x = torch.randn(nodes, features, device="cuda")
    w = torch.randn(features, hidden, device="cuda")
    for name, work in (("A X", lambda x, w: torch.mm(matrix, x)), ("(A X) W", lambda x, w: torch.mm(torch.mm(matrix, x), w))):
        times = []
        for repeat in range(60):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work(x, w)
            end.record()
            end.synchronize()
            if repeat >= 10:
                times.append(begin.elapsed_time(end) * 1e-3)
        row("sparse", f"{name} 2708 nodes 512 features f32 warm without a graph", median(times) * 1e6, "us")


def telemetry():
    done = subprocess.run(["nvidia-smi", "--query-gpu=power.draw,clocks.sm,clocks.mem", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=False)
    return [float(word) for word in done.stdout.strip().split(",")]


def under_load():
    """Power and clock after a second and a half of the same kernel, as nvidia-smi reads them, and the rate reached."""
    time.sleep(1.0)
    for name, value, unit in zip(("power", "clock", "memory_clock"), telemetry(), ("W", "MHz", "MHz")):
        row(f"{name}_under_load", "nothing", value, unit)
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    zeros = torch.zeros_like(a)
    large = torch.randn(1 << 29, device="cuda")  # 2 GB
    small = torch.randn(1 << 22, device="cuda")  # 16 MB: stays in the L2
    q = torch.randn(16, 16, 8192, 128, device="cuda", dtype=torch.float16)
    out = torch.empty_like(a)
    loads = {
        "product 8192 bf16 random": (lambda: torch.mm(a, b, out=out), 2 * 8192**3 * 1e-12, "TFLOP/s"),
        "product 8192 bf16 zeros": (lambda: torch.mm(zeros, zeros, out=out), 2 * 8192**3 * 1e-12, "TFLOP/s"),
        "attention 8192 size 128 cudnn": (lambda: F.scaled_dot_product_attention(q, q, q), 4 * 256 * 8192**2 * 128 * 1e-12,
                                          "TFLOP/s"),
        "sum of 2 GB": (lambda: torch.sum(large), large.numel() * 4e-9, "GB/s"),
        "sum of 16 MB": (lambda: torch.sum(small), small.numel() * 4e-9, "GB/s"),
        "copy of 2 GB": (lambda: torch.neg(large, out=large), large.numel() * 8e-9, "GB/s"),
    }
    for name, (work, amount, unit) in loads.items():
        read = []

        def watch():
            time.sleep(1.5)
            for _ in range(3):
                read.append(telemetry())

        watcher = threading.Thread(target=watch)
        calls, begin, end = 0, *(torch.cuda.Event(enable_timing=True) for _ in range(2))
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            work()
            watcher.start()
            begin.record()
            while watcher.is_alive():
                for _ in range(20):
                    work()
                calls += 20
                torch.cuda.synchronize()
            end.record()
            end.synchronize()
        row("rate_under_load", name, calls * amount / begin.elapsed_time(end) * 1e3, unit)
        for column, (what, unit_of) in enumerate((("power", "W"), ("clock", "MHz"), ("memory_clock", "MHz"))):
            row(f"{what}_under_load", name, median([values[column] for values in read]), unit_of)


def main():
    torch.set_grad_enabled(False)
    for work in (products, chains, attention, rows, sparse, under_load):
        try:
            work()
        except Exception as error:  # The other groups are worth their time on a lent machine.
            print(f"library: {work.__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
