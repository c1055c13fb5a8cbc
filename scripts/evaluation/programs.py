"""Programs of the evaluation as IR text: one region a kernel, as the importer gives them.

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

    def weight(self, name, *shape, seed=1, fan_in=None):
        """Of variance 1 / fan_in, as models are initialised: activations keep their size, so that no
        exponential of a softmax vanishes and what is counted does not depend on values."""
        terms = fan_in or (shape[0] if len(shape) > 1 else 1)
        bound = (3 / terms) ** 0.5 if terms > 1 else 1
        source = f"dense(values=uniform({-bound:.6f},{bound:.6f}),seed={seed})"
        return self.tensor("const", name, shape, ",".join(["dense"] * len(shape)), source,
                           "facts(finite, nonzero)")

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
    t.tensor("input", "adj", (n, n), "dense,compressed", graph["adj"],
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


def gcn(graph, hidden=16):
    """Two layers: A X W1 + b1, relu, A H W2 + b2, row softmax; eight kernels."""
    t = Text("gcn")
    n, f = _graph_inputs(t, graph)
    c = graph["classes"]
    t.weight("w1", f, hidden, seed=11)
    t.weight("b1", hidden, seed=12)
    t.weight("w2", hidden, c, seed=13)
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
    c = graph["classes"]
    layers = []
    source, width = "x", f
    for layer, out in ((1, hidden), (2, c)):
        p = f"l{layer}_"
        t.weight(p + "ws", width, out, seed=20 * layer + 1)
        t.weight(p + "bs", out, seed=20 * layer + 2)
        t.weight(p + "wn", width, out, seed=20 * layer + 3)
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


def _attention(t, s, heads, dh, block, q="q", k="k", v="v"):
    t.tensor("const", "mask", (s, s), "dense,compressed",
             f"bigbird(block={block},random=2,values=ones,seed=3)",
             "facts(finite, nonnegative)")
    sparse = "dense,dense,compressed"
    t.temp("qk", (heads, s, s))
    t.temp("scale", (heads, s, s))
    t.temp("masked", (heads, s, s), sparse + " fill(-inf)", "facts(below_inf)")
    t.temp("smax", (heads, s), extra="assume(finite)")
    t.temp("sexp", (heads, s, s), sparse, "facts(nonnegative) assume(finite)")
    t.temp("ssum", (heads, s), extra="fill(1) assume(finite, nonnegative, nonzero)")  # of no block 0
    t.temp("soft", (heads, s, s), sparse, "assume(finite, nonnegative)")
    t.temp("av", (heads, s, dh))
    t.region("qk", f"%qk[h, i, j] = sum(l) %{q}[i, h, l] * %{k}[j, h, l]")
    t.region("scale", "%scale[h, i, j] = %qk[h, i, j] * 0.125")
    t.region("masked", "%masked[h, i, j] = where(%mask[i, j], %scale[h, i, j], -inf)")
    t.region("soft", "%smax[h, i] = max(j) %masked[h, i, j]",
             "%sexp[h, i, j] = exp(%masked[h, i, j] - %smax[h, i])",
             "%ssum[h, i] = sum(j) %sexp[h, i, j]",
             "%soft[h, i, j] = %sexp[h, i, j] / %ssum[h, i]")
    t.region("av", f"%av[h, i, l] = sum(j) %soft[h, i, j] * %{v}[j, h, l]")


def attention(s, dh, block, heads=1):
    """BigBird attention: mask, scores, softmax, values."""
    t = Text("bigbird")
    for name in "qkv":
        t.tensor("input", name, (s, heads, dh), "dense,dense,dense", f"dense(seed={ord(name)})",
                 "facts(finite)")
    _attention(t, s, heads, dh, block)
    return str(t).replace("temp %av", "result %av"), [["qk", "scale", "masked", "soft", "av"]]


def decoder(s=1024, d=768, heads=12, ffn=3072, block=64):
    """One GPT-3 Small decoder with BigBird attention, ReLU for GELU; batch 1."""
    t = Text("gpt3")
    dh = d // heads
    t.tensor("input", "x", (s, d), "dense,dense", "dense(seed=51)", "facts(finite, nonzero)")
    _layer_norm(t, "ln1", "x", s, d)
    for name in "qkv":
        t.weight("w" + name, d, heads, dh, seed=52)
        t.weight("b" + name, heads, dh, seed=53)
        t.temp(name + "p", (s, heads, dh))
        t.temp(name, (s, heads, dh))
        t.region(name + "p", f"%{name}p[i, h, l] = sum(k) %ln1[i, k] * %w{name}[k, h, l]")
        t.region(name, f"%{name}[i, h, l] = %{name}p[i, h, l] + %b{name}[h, l]")
    _attention(t, s, heads, dh, block)
    t.weight("wo", heads, dh, d, seed=54, fan_in=d)
    t.weight("bo", d, seed=55)
    t.weight("wu", d, ffn, seed=56)
    t.weight("bu", ffn, seed=57)
    t.weight("wd", ffn, d, seed=58)
    t.weight("bd", d, seed=59)
    for name in ("op", "ob", "r1"):
        t.temp(name, (s, d))
    t.region("op", "%op[i, j] = sum(h, l) %av[h, i, l] * %wo[h, l, j]")
    t.region("ob", "%ob[i, j] = %op[i, j] + %bo[j]")
    t.region("r1", "%r1[i, j] = %x[i, j] + %ob[i, j]")
    _layer_norm(t, "ln2", "r1", s, d)
    for name in ("up", "ub", "act"):
        t.temp(name, (s, ffn))
    t.temp("dp", (s, d))
    t.temp("db", (s, d))
    t.result("y", (s, d))
    t.region("up", "%up[i, j] = sum(k) %ln2[i, k] * %wu[k, j]")
    t.region("ub", "%ub[i, j] = %up[i, j] + %bu[j]")
    t.region("act", "%act[i, j] = relu(%ub[i, j])")
    t.region("dp", "%dp[i, j] = sum(k) %act[i, k] * %wd[k, j]")
    t.region("db", "%db[i, j] = %dp[i, j] + %bd[j]")
    t.region("y", "%y[i, j] = %r1[i, j] + %db[i, j]")
    return str(t), [["ln1", "qp", "q", "kp", "k", "vp", "v"], ["qk", "scale", "masked", "soft", "av"],
                    ["op", "ob", "r1", "ln2", "up", "ub", "act", "dp", "db", "y"]]


def nested_matmul(graph, columns=16):
    """A B C: A the graph, B dense, C at 50%; one region."""
    n = graph["nodes"]
    t = Text("nested")
    t.tensor("input", "a", (n, n), "dense,compressed", graph["adj"])
    t.weight("b", n, n, seed=61)
    t.tensor("input", "c", (n, columns), "dense,compressed", "uniform(density=0.5,seed=62)")
    t.temp("ab", (n, n), "dense,dense")
    t.result("y", (n, columns), "dense,dense")
    t.region("y", "%ab[i, k] = sum(j) %a[i, j] * %b[j, k]",
             "%y[i, m] = sum(k) %ab[i, k] * %c[k, m]")
    return str(t), []
