"""Programs of the evaluation as IR text: one region per kernel, as the importer writes them.

Tensors come from files where real data is given, else from seeded generators of the same size, so
that neither PyTorch nor a download is needed. `Text` collects declarations and regions.
"""


class Text:
    def __init__(self, name):
        self.name = name
        self.tensors = []
        self.regions = []

    def tensor(self, role, name, shape, levels, source="", extra="facts(finite)"):
        line = f"{role} %{name}: f32[{', '.join(map(str, shape))}] {levels} {extra}".rstrip()
        self.tensors.append(line + (f" = {source}" if source else ""))
        return name

    def weight(self, name, *shape, seed=1, fan_in=None, density=1):
        """Of variance 1 / fan_in, as models are initialised: activations keep their size, so that no
        exponential of a softmax vanishes and what is counted does not depend on values. A matrix
        of less than full density is compressed by rows."""
        terms = fan_in or (shape[0] if len(shape) > 1 else 1)
        bound = (3 / terms) ** 0.5 if terms > 1 else 1
        values = f"values=uniform({-bound:.6f},{bound:.6f}),seed={seed}"
        if density < 1:
            return self.tensor("const", name, shape, "dense,compressed",
                               f"uniform(density={density},{values})")
        return self.tensor("const", name, shape, ",".join(["dense"] * len(shape)),
                           f"dense({values})", "facts(finite, nonzero)")

    def temp(self, name, shape, levels=None, extra="facts(finite)"):
        return self.tensor("temp", name, shape, levels or ",".join(["dense"] * len(shape)), "",
                           extra)

    def result(self, name, shape, levels=None, extra=""):
        return self.tensor("result", name, shape, levels or ",".join(["dense"] * len(shape)), "",
                           extra)

    def region(self, name, *statements):
        body = "\n".join("  " + s for s in statements)
        self.regions.append(f"region @{name} {{\n{body}\n}}\n")

    def __str__(self):
        return (f'fuseflow 1\nprogram "{self.name}"\n\n' + "\n".join(self.tensors) + "\n\n" +
                "\n".join(self.regions))


def _graph_inputs(t, graph):
    n, f = graph["nodes"], graph["features"]
    t.tensor(graph.get("adj_role", "input"), "adj", (n, n), "dense,compressed", graph["adj"],
             "facts(finite, nonnegative)")
    t.tensor("input", "x", (n, f), graph.get("x_levels", "dense,compressed"), graph["x"],
             "facts(finite, nonnegative)")
    return n, f


def _softmax(t, source, n, c):
    t.temp("y_max", (n,))
    t.temp("y_exp", (n, c), extra="facts(finite, nonnegative)")
    t.temp("y_sum", (n,), extra="facts(finite, nonnegative, nonzero)")
    t.result("y", (n, c))
    t.region("softmax", f"%y_max[i] = max(j) %{source}[i, j]",
             f"%y_exp[i, j] = exp(%{source}[i, j] - %y_max[i])",
             "%y_sum[i] = sum(j) %y_exp[i, j]", "%y[i, j] = %y_exp[i, j] / %y_sum[i]")


def as_published(graph):
    """The graph as the kernels of the FuseFlow artifact read it: X is a dense tensor
    (`gcn_adj_x1.mlir`), half of every weight matrix is zero (DEFAULT_SPARSITY of its script)."""
    return {**graph, "x_levels": "dense,dense", "weights": 0.5}


def gcn(graph, hidden=16):
    """Two layers: A X W1 + b1, relu, A H W2 + b2, row softmax; eight kernels."""
    t = Text("gcn")
    n, f = _graph_inputs(t, graph)
    c, density = graph["classes"], graph.get("weights", 1)
    t.weight("w1", f, hidden, seed=11, density=density)
    t.weight("b1", hidden, seed=12)
    t.weight("w2", hidden, c, seed=13, density=density)
    t.weight("b2", c, seed=14)
    dense_x = graph.get("x_levels") == "dense,dense"
    t.temp("ax", (n, f), "dense,dense" if dense_x else "dense,compressed",
           "facts(finite, nonnegative)")
    for name in ("xw", "h1", "h"):
        t.temp(name, (n, hidden))
    t.temp("ah", (n, hidden))
    t.temp("hw", (n, c))
    t.temp("z", (n, c))
    t.region("l1_ax", "%ax[i, f] = sum(k) %adj[i, k] * %x[k, f]")
    t.region("l1_xw", "%xw[i, h] = sum(f) %ax[i, f] * %w1[f, h]")
    t.region("l1_bias", "%h1[i, h] = %xw[i, h] + %b1[h]")
    t.region("l1_relu", "%h[i, h] = relu(%h1[i, h])")
    t.region("l2_ah", "%ah[i, h] = sum(k) %adj[i, k] * %h[k, h]")
    t.region("l2_hw", "%hw[i, c] = sum(h) %ah[i, h] * %w2[h, c]")
    t.region("l2_bias", "%z[i, c] = %hw[i, c] + %b2[c]")
    _softmax(t, "z", n, c)
    layers = [["l1_ax", "l1_xw", "l1_bias", "l1_relu"], ["l2_ah", "l2_hw", "l2_bias", "softmax"]]
    return str(t), layers


def sage(graph, hidden=16):
    """Two layers of relu((X Ws + bs) + ((A X) Wn + bn)); fourteen kernels."""
    t = Text("sage")
    n, f = _graph_inputs(t, graph)
    c, density = graph["classes"], graph.get("weights", 1)
    layers = []
    source, width = "x", f
    for layer, out in ((1, hidden), (2, c)):
        p = f"l{layer}_"
        t.weight(p + "ws", width, out, seed=20 * layer + 1, density=density)
        t.weight(p + "bs", out, seed=20 * layer + 2)
        t.weight(p + "wn", width, out, seed=20 * layer + 3, density=density)
        t.weight(p + "bn", out, seed=20 * layer + 4)
        sparse = layer == 1 and graph.get("x_levels") != "dense,dense"
        t.temp(p + "ax", (n, width), "dense,compressed" if sparse else "dense,dense")
        for name in ("s", "sb", "n", "nb", "sum"):
            t.temp(p + name, (n, out))
        last = p + "h" if layer == 1 else "y"
        (t.temp if layer == 1 else t.result)(last, (n, out))
        t.region(p + "ax", f"%{p}ax[i, f] = sum(k) %adj[i, k] * %{source}[k, f]")
        t.region(p + "s", f"%{p}s[i, h] = sum(f) %{source}[i, f] * %{p}ws[f, h]")
        t.region(p + "sb", f"%{p}sb[i, h] = %{p}s[i, h] + %{p}bs[h]")
        t.region(p + "n", f"%{p}n[i, h] = sum(f) %{p}ax[i, f] * %{p}wn[f, h]")
        t.region(p + "nb", f"%{p}nb[i, h] = %{p}n[i, h] + %{p}bn[h]")
        t.region(p + "sum", f"%{p}sum[i, h] = %{p}sb[i, h] + %{p}nb[i, h]")
        t.region(last, f"%{last}[i, h] = relu(%{p}sum[i, h])")
        layers.append([p + k for k in ("ax", "s", "sb", "n", "nb", "sum")] + [last])
        source, width = last, out
    return str(t), layers


def autoencoder(batch, d, h, density=0.5):
    """X We + be, relu, Wd + bd; five kernels. Encoder and decoder are the partial configuration."""
    t = Text("sae")
    t.tensor("input", "x", (batch, d), "dense,dense", "dense(seed=31)", "facts(finite, nonzero)")
    t.tensor("const", "we", (d, h), "dense,compressed", f"uniform(density={density},seed=32)")
    t.tensor("const", "wd", (h, d), "dense,compressed", f"uniform(density={density},seed=33)")
    t.weight("be", h, seed=34)
    t.weight("bd", d, seed=35)
    t.temp("e", (batch, h), "dense,dense")
    t.temp("eb", (batch, h))
    t.temp("code", (batch, h))
    t.temp("dec", (batch, d), "dense,dense")
    t.result("y", (batch, d))
    t.region("encode", "%e[i, h] = sum(d) %x[i, d] * %we[d, h]")
    t.region("encode_bias", "%eb[i, h] = %e[i, h] + %be[h]")
    t.region("relu", "%code[i, h] = relu(%eb[i, h])")
    t.region("decode", "%dec[i, d] = sum(h) %code[i, h] * %wd[h, d]")
    t.region("decode_bias", "%y[i, d] = %dec[i, d] + %bd[d]")
    return str(t), [["encode", "encode_bias", "relu"], ["decode", "decode_bias"]]


def _layer_norm(t, p, source, s, d):
    t.weight(p + "_g", d, seed=41)
    t.weight(p + "_b", d, seed=42)
    t.temp(p + "_mean", (s,))
    t.temp(p + "_c", (s, d))
    t.temp(p + "_inv", (s,))
    t.temp(p, (s, d))
    t.region(p, f"%{p}_mean[i] = mean(j) %{source}[i, j]",
             f"%{p}_c[i, j] = %{source}[i, j] - %{p}_mean[i]",
             f"%{p}_inv[i] = reciprocal(sqrt(mean(j) (%{p}_c[i, j] * %{p}_c[i, j]) + 0.00001))",
             f"%{p}[i, j] = %{p}_c[i, j] * %{p}_inv[i] * %{p}_g[j] + %{p}_b[j]")


def _mask(t, s, block):
    t.tensor("const", "mask", (s, s), "dense,compressed",
             f"bigbird(block={block},random=2,values=ones,seed=3)",
             "facts(finite, nonnegative)")


def _attention(t, p, s, heads, dh):
    """From %q, %k, %v to %av, all of them with the prefix p; five kernels."""
    sparse = "dense,dense,compressed"
    t.temp(p + "qk", (heads, s, s))
    t.temp(p + "scale", (heads, s, s))
    t.temp(p + "masked", (heads, s, s), sparse + " fill(-inf)", "facts(below_inf)")
    t.temp(p + "smax", (heads, s), extra="assume(finite)")
    t.temp(p + "sexp", (heads, s, s), sparse, "facts(nonnegative) assume(finite)")
    # No sum is of no block: it is 1 at least.
    t.temp(p + "ssum", (heads, s), extra="fill(1) assume(finite, nonnegative, nonzero)")
    t.temp(p + "soft", (heads, s, s), sparse, "assume(finite, nonnegative)")
    t.temp(p + "av", (heads, s, dh))
    t.region(p + "qk", f"%{p}qk[h, i, j] = sum(l) %{p}q[i, h, l] * %{p}k[j, h, l]")
    t.region(p + "scale", f"%{p}scale[h, i, j] = %{p}qk[h, i, j] * 0.125")
    t.region(p + "masked", f"%{p}masked[h, i, j] = where(%mask[i, j], %{p}scale[h, i, j], -inf)")
    t.region(p + "soft", f"%{p}smax[h, i] = max(j) %{p}masked[h, i, j]",
             f"%{p}sexp[h, i, j] = exp(%{p}masked[h, i, j] - %{p}smax[h, i])",
             f"%{p}ssum[h, i] = sum(j) %{p}sexp[h, i, j]",
             f"%{p}soft[h, i, j] = %{p}sexp[h, i, j] / %{p}ssum[h, i]")
    t.region(p + "av", f"%{p}av[h, i, l] = sum(j) %{p}soft[h, i, j] * %{p}v[j, h, l]")
    return [p + kernel for kernel in ("qk", "scale", "masked", "soft", "av")]


def attention(s, dh, block, heads=1):
    """BigBird attention: mask, scores, softmax, values."""
    t = Text("bigbird")
    for name in "qkv":
        t.tensor("input", name, (s, heads, dh), "dense,dense,dense", f"dense(seed={ord(name)})",
                 "facts(finite)")
    _mask(t, s, block)
    group = _attention(t, "", s, heads, dh)
    return str(t).replace("temp %av", "result %av"), [group]


def _decoder(t, p, source, result, s, d, heads, ffn):
    """One decoder from %source to %result; its kernels in three groups: queries, keys and values;
    attention; the rest."""
    dh = d // heads
    _layer_norm(t, p + "ln1", source, s, d)
    first = [p + "ln1"]
    for name in "qkv":
        w, b, x = f"{p}w{name}", f"{p}b{name}", p + name
        t.weight(w, d, heads, dh, seed=52)
        t.weight(b, heads, dh, seed=53)
        t.temp(x + "p", (s, heads, dh))
        t.temp(x, (s, heads, dh))
        t.region(x + "p", f"%{x}p[i, h, l] = sum(k) %{p}ln1[i, k] * %{w}[k, h, l]")
        t.region(x, f"%{x}[i, h, l] = %{x}p[i, h, l] + %{b}[h, l]")
        first += [x + "p", x]
    middle = _attention(t, p, s, heads, dh)
    t.weight(p + "wo", heads, dh, d, seed=54, fan_in=d)
    t.weight(p + "bo", d, seed=55)
    t.weight(p + "wu", d, ffn, seed=56)
    t.weight(p + "bu", ffn, seed=57)
    t.weight(p + "wd", ffn, d, seed=58)
    t.weight(p + "bd", d, seed=59)
    for name in ("op", "ob", "r1"):
        t.temp(p + name, (s, d))
    t.region(p + "op", f"%{p}op[i, j] = sum(h, l) %{p}av[h, i, l] * %{p}wo[h, l, j]")
    t.region(p + "ob", f"%{p}ob[i, j] = %{p}op[i, j] + %{p}bo[j]")
    t.region(p + "r1", f"%{p}r1[i, j] = %{source}[i, j] + %{p}ob[i, j]")
    _layer_norm(t, p + "ln2", p + "r1", s, d)
    for name in ("up", "ub", "act"):
        t.temp(p + name, (s, ffn))
    t.temp(p + "dp", (s, d))
    t.temp(p + "db", (s, d))
    (t.result if result == "y" else t.temp)(result, (s, d))
    t.region(p + "up", f"%{p}up[i, j] = sum(k) %{p}ln2[i, k] * %{p}wu[k, j]")
    t.region(p + "ub", f"%{p}ub[i, j] = %{p}up[i, j] + %{p}bu[j]")
    t.region(p + "act", f"%{p}act[i, j] = relu(%{p}ub[i, j])")
    t.region(p + "dp", f"%{p}dp[i, j] = sum(k) %{p}act[i, k] * %{p}wd[k, j]")
    t.region(p + "db", f"%{p}db[i, j] = %{p}dp[i, j] + %{p}bd[j]")
    t.region(result, f"%{result}[i, j] = %{p}r1[i, j] + %{p}db[i, j]")
    last = [p + kernel for kernel in ("op", "ob", "r1", "ln2", "up", "ub", "act", "dp", "db")]
    return [first, middle, last + [result]]


def decoders(count, s=1024, d=768, heads=12, ffn=3072, block=64):
    """GPT-3 Small decoders with BigBird attention, ReLU for GELU; batch 1. The groups of kernels of
    each decoder, three a decoder."""
    t = Text("gpt3")
    t.tensor("input", "x", (s, d), "dense,dense", "dense(seed=51)", "facts(finite, nonzero)")
    _mask(t, s, block)
    groups, source = [], "x"
    for i in range(count):
        p = "" if count == 1 else f"d{i}_"
        result = "y" if i == count - 1 else p + "y"
        groups += _decoder(t, p, source, result, s, d, heads, ffn)
        source = result
    return str(t), groups


def decoder(**sizes):
    return decoders(1, **sizes)


def nested_matmul(graph, columns=16, order="ijkm"):
    """A B C: A the graph, B dense, C at 50%; one region. Every tensor is stored as `order`, loops
    from the outermost, walks it."""
    n = graph["nodes"]
    t = Text("nested")

    def stored(levels, indices):
        walked = sorted(range(len(indices)), key=lambda at: order.index(indices[at]))
        return levels if walked == [0, 1] else f"{levels}@{','.join(map(str, walked))}"

    t.tensor("input", "a", (n, n), stored("dense,compressed", "ij"), graph["adj"])
    t.tensor("const", "b", (n, n), stored("dense,dense", "jk"), "dense(seed=61)", "facts(finite, nonzero)")
    t.tensor("input", "c", (n, columns), stored("dense,compressed", "km"), "uniform(density=0.5,seed=62)")
    t.temp("ab", (n, n), stored("dense,dense", "ik"))
    t.result("y", (n, columns), stored("dense,dense", "im"))
    t.region("y", "%ab[i, k] = sum(j) %a[i, j] * %b[j, k]",
             "%y[i, m] = sum(k) %ab[i, k] * %c[k, m]")
    return str(t), []
