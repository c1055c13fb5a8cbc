"""The figures and tables: each function measures, compares with the published numbers and writes
out/NAME.csv and out/NAME.svg."""
import itertools
import math

import chain_sweeps
import chains
import programs
import published
from figure12 import figure_12
from harness import bytes_of, rows, speed

MACHINE = "comal"


def models(h, more=()):
    """(model, data set) -> (program, parts); real sizes, of the tier's data sets and `more`."""
    cases = []
    graphs = {"fast": ["cora", "cora_ml", "dblp"], "medium": ["cora", "cora_ml", "dblp", "collab"],
              "complete": ["cora", "cora_ml", "dblp", "collab", "mag"]}[h.tier]
    for data in [*graphs, *more]:
        graph = h.graph(data)
        cases.append(("gcn", data, programs.gcn(graph)))
        cases.append(("sage", data, programs.sage(graph)))
    sizes = {"imagenet": (50176, 256)}
    if h.tier == "complete":
        sizes.update({"luna16": (262144, 512), "nih_cxr": (1048576, 512)})
    for data, (d, hidden) in sizes.items():
        cases.append(("sae", data, programs.autoencoder(5, d, hidden)))
    for block in (16, 32, 64):
        cases.append(("gpt3", f"b{block}", programs.decoder(block=block)))
    return cases


def search(h):
    """fuseflow-explore on every model: the best found against unfused, alone and with parallel
    copies, and against the best of none, layer and full."""
    columns = ["model", "data", "machine", "unfused", "unfused_copies", "best_of_three", "best",
               "speedup", "over_unfused_copies", "published_best", "replayed", "longest_kernel", "tried"]
    chosen = {"fast": ("gcn_karate", "sage_karate", "sae_small", "gpt3_small"),
              "medium": ("gcn_cora", "sage_cora", "gcn_dblp", "sage_dblp", "sae_small", "gpt3_small"),
              "complete": ("gcn_cora", "sage_cora", "gcn_citeseer", "sage_citeseer", "gcn_cora_ml",
                           "sage_cora_ml", "gcn_dblp", "sage_dblp", "sae_small", "sae_imagenet", "gpt3_small")}[h.tier]
    cases = {f"{model}_{data}": (model, data, program)
             for model, data, program in small_models(h) + models(h, ["citeseer"])}
    names = [n for n in cases if n in chosen]
    lines, labels, aims, series = [], [], [], {"best, one copy": [], "best, with copies": []}
    for name in names:
        model, data, (text, parts) = cases[name]
        h.save(name, text)
        seed = h.fused(name, name + "_seed", groups=parts)
        for label, machine, more in (("best, one copy", MACHINE, ("--max-copies", 1)),
                                     ("best, with copies", "rda", ("--max-copies", 32))):
            out = name + ("_best" if machine == MACHINE else "_copies")
            if seed:
                more += ("--seed", h.path(seed))
            found = h.explore(name, out, machine, "--max-orders", 4, "--max-placements", 5, *more)
            expect = {"result": "y"}
            three = [h.measure(n, machine, expect) for n in three_of(h, name, machine)]
            longest = share_of_longest(three[0])
            three = min([m["cycles"] for m in three if m], default=None)
            again = h.measure(out, machine, expect) if "best" in found else None
            best = found.get("best")
            gain = speed({"cycles": found["unfused"]}, {"cycles": best}) if best else None
            aim = published.AIM.get(model)
            lines.append([model, data, machine, found.get("unfused"), found.get("unfused_copies"),
                          three, best, gain,
                          found["unfused_copies"] / best if "unfused_copies" in found and best else None,
                          aim, again and again["cycles"], longest, found.get("tried")])
            series[label].append(gain)
        labels.append(name)
        aims.append(published.AIM.get(model))
    h.table("search", columns, lines)
    h.plot("search", "Best found over unfused (each kernel's best order)", labels, series,
           ("model and data", "speedup"), {"best, one copy": aims})


def share_of_longest(unfused):
    """The share of the cycles of a program (one region a kernel) that its longest kernel alone takes, and so
    the inverse of what kernels that only run side by side can gain."""
    return unfused and max(unfused["regions"].values()) / unfused["cycles"]


def three_of(h, name, machine):
    """Unfused first."""
    made = [h.fused(name, f"{name}_{s}", strategy=s, recompute="bounded", machine=machine)
            for s in ("none", "layer", "full")]
    return [n for n in made if n]


def small_models(h):
    karate = h.graph("karate")
    karate["x"], karate["x_levels"] = "dense(values=uniform(0,1),seed=8)", "dense,dense"
    return [("gcn", "karate", programs.gcn(karate)), ("sage", "karate", programs.sage(karate)),
            ("sae", "small", programs.autoencoder(5, 4096, 256)),
            ("gpt3", "small", programs.decoder(s=64, d=32, heads=2, ffn=64, block=8))]


def figure_14(h):
    """FLOPs and bytes of GCN by which layers are fused, over unfused, as estimated from the data; with
    what is dense in the paper dense, with its sparse weights, and with X as sparse as it is."""
    columns = ["data", "setting", "config", "flops_ratio", "bytes_ratio", "published_flops",
               "published_bytes", "flops_over_published", "bytes_over_published", "note"]
    lines, labels = [], []
    series, theirs = {"FLOPs": [], "bytes": []}, {"FLOPs": [], "bytes": []}
    for data in ["cora_ml", "dblp", "collab"]:
        graph = h.graph(data)
        for setting, given in (("X dense", {**graph, "x_levels": "dense,dense"}),
                               ("X dense; half of W", programs.as_published(graph)), ("X as it is", graph)):
            if setting == "X as it is" and graph.get("x_levels") == "dense,dense":
                continue
            ratios = layers_fused(h, f"gcn14_{data}_{setting}".replace(" ", "_").replace(";", ""), given)
            for i, (config, ours) in enumerate(ratios.items()):
                known = [p[i] for p in published.FIGURE_14[data]]
                over = [a and a / b for a, b in zip(ours, known)]
                lines.append([data, setting, config, *ours, *known, *over])
                if setting == "X dense":
                    labels.append(f"{data} {config}")
                    for kind, value, paper in zip(series, ours, known):
                        series[kind].append(value)
                        theirs[kind].append(paper)
    h.table("fig14", columns, [line + [why_14(line, lines)] for line in lines])
    h.plot("fig14", "GCN by fused layers, X dense", labels, series, ("data and what is fused", "over unfused"),
           theirs)


def why_14(line, lines):
    """Where a ratio is not the published one: the setting of the data in which it is, if there is
    one."""
    data, setting, config = line[:3]
    said = []
    for what, column in (("FLOPs", 7), ("bytes", 8)):
        over = line[column]
        if over is None or is_close(over):
            continue
        same = [other[1] for other in lines
                if other[0] == data and other[2] == config and other[column] and is_close(other[column])]
        said.append(f"{what} {over:.2f} of the published: " +
                    (f"as published with `{same[0]}`" if same else "not explained"))
    return "; ".join(said) or "as published within 5%"


def is_close(ratio):
    return 0.95 <= ratio <= 1.05


def layers_fused(h, base, graph):
    """Configuration -> (FLOPs, bytes) over those of the unfused model."""
    text, (first, second) = programs.gcn(graph)
    h.save(base, text)
    unfused, ratios = h.estimate_numbers(base), {}
    wanted = {"full": None, "layer 1": [first], "layer 2": [second], "both": [first, second]}
    for config, groups in wanted.items():
        name = base + "_" + config.replace(" ", "")
        made = (h.fused(base, name, groups=groups) if groups else h.fused(base, name, strategy="full"))
        m = made and h.estimate_numbers(made)
        ratios[config] = (m and m["flops"] / unfused["flops"], m and bytes_of(m) / bytes_of(unfused))
    return ratios


def figure_15(h):
    """GCN on synthetic graphs by sparsity and pattern. Rows `all`: whether partial gains more the
    sparser the graph is, and whether full is always slower than unfused, both as published."""
    columns = ["pattern", "sparsity", "unfused_cycles", "partial", "full", "source"]
    lines, series, labels = [], {}, []
    steps = [0.5, 0.7, 0.9, 0.95] if h.tier == "fast" else [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    cases = [(pattern, sparsity) for pattern in ("uniform", "power_law", "block_diagonal")
             for sparsity in steps]
    for (pattern, sparsity), (unfused, partial, full) in zip(
            cases, h.each(lambda case: synthetic(h, *case), cases)):
        ours = [speed(unfused, partial), speed(unfused, full)]
        lines.append([pattern, sparsity, unfused and unfused["cycles"], *ours,
                      unfused and unfused["source"]])
        series.setdefault(pattern + " partial", []).append(ours[0])
        series.setdefault(pattern + " full", []).append(ours[1])
    for name, values in series.items():
        pattern, config = name.rsplit(" ", 1)
        known = [v for v in values if v is not None]
        grows = config == "partial" and all(a < b for a, b in zip(known, known[1:]))
        slows = config == "full" and all(v < 1 for v in known)
        lines.append([pattern, "all", None, grows if config == "partial" else None,
                      slows if config == "full" else None, "published: True"])
    h.table("fig15", columns, lines)
    h.plot("fig15", "GCN on synthetic graphs", steps, series, ("sparsity of the graph", "speedup over unfused"),
           lines=True)


def synthetic(h, pattern, sparsity):
    density = round(1 - sparsity, 4)
    values = f"values=uniform(0,{2 / (500 * density):.6f}),seed=5"  # rows add up to about 1
    source = (f"block_diagonal(block={max(1, round(500 * density))},density=1,{values})"
              if pattern == "block_diagonal" else f"{pattern}(density={density},{values})")
    graph = {"nodes": 500, "features": 128, "classes": 8, "adj": source,
             "x": "dense(values=uniform(0,1),seed=6)", "x_levels": "dense,dense"}
    text, parts = programs.gcn(graph)
    base = f"gcn15_{pattern}_{sparsity}"
    h.save(base, text)
    expect = {"result": "y"}
    unfused = h.measure(h.ordered(base, MACHINE), MACHINE, expect)
    fused = [h.fused(base, base + "_p", groups=parts), h.fused(base, base + "_f", strategy="full")]
    return [unfused] + [name and h.measure(h.ordered(name, MACHINE), MACHINE, expect)
                        for name in fused]


# Figure 16: what is split, and in which order of loops. The loop of a single factor is nested in another
# one, so that the copies that get the heavy rows change from fiber to fiber.
HEADS_OUTERMOST, ROWS_OUTERMOST = "h,i,j,l2,l", "i,h,j,l2,l"
COPIES = ([(("i", p),) for p in (1, 2, 4, 8, 16, 32, 64)] +
          [(("i", p), ("j", q)) for p, q in ((4, 4), (4, 16), (8, 8))] +
          [(("h", p), ("i", q)) for p, q in ((4, 4), (4, 16), (8, 8))])
COPIED = {"i": "rows", "j": "keys", "h": "heads"}


def figure_16(h):
    """BigBird attention of GPT-3 Small (12 heads): speedup over parallel factor."""
    columns = ["factor", "of", "cycles", "speedup", "share", "source", "published_speedup", "note"]
    text, parts = programs.attention({"fast": 256, "medium": 512}.get(h.tier, 1024), 64, 16, heads=12)
    h.save("attention", text)
    fused = h.fused("attention", "attention_fused", groups=parts)
    if not fused:
        raise SystemExit("fig16: the attention cannot be fused")
    expect = {"result": "av"}

    def one(copies):
        name = "attention_p" + "_".join(f"{index}{p}" for index, p in copies)
        order = ROWS_OUTERMOST if copies[0][0] == "h" else HEADS_OUTERMOST
        h.run("order", h.path(fused), "--order", "part0=" + order, "-o", h.path(name))
        for index, p in copies:
            if p > 1 and h.run("parallelize", h.path(name), "--index", f"part0:{index}", "--factor", p,
                               "-o", h.path(name), check=False) is None:
                return None
        return h.measure(name, "ideal", expect, least=4.0e8)

    base = one(COPIES[0])
    lines, plain = [], {}
    for copies, m in zip(COPIES, [base] + h.each(one, COPIES[1:])):
        factor, of = "x".join(str(p) for _, p in copies), " x ".join(COPIED[i] for i, _ in copies)
        total = math.prod(p for _, p in copies)
        gain = speed(base, m)
        theirs = published.FIGURE_16_NESTED_4X4 if factor == "4x4" else total if len(copies) == 1 else None
        lines.append([factor, of, m and m["cycles"], gain, gain and gain / total, m and m["source"], theirs,
                      "" if m else "refused"])
        if len(copies) == 1:
            plain[total] = gain
    h.table("fig16", columns, lines)
    h.plot("fig16", "BigBird attention by parallel factor", list(plain), {"ours": list(plain.values())},
           ("copies of the rows", "speedup"), {"nearly linear": list(plain)}, logscale=True, lines=True)


def figure_17(h):
    """BigBird attention: speedup over block size, of the mask or of every tensor. `products_free`: the
    speedup if a product of two blocks took no longer than one of two numbers, which tests whether
    products are why the speedup is not the block's side."""
    columns = ["block", "blocked", "cycles", "speedup", "over_block_side", "products_free", "source",
               "published", "note"]
    lines, series = [], {"mask": [], "all tensors": []}
    text, _ = programs.attention({"fast": 256, "medium": 512}.get(h.tier, 1024), 64, 16)
    h.save("attention_b", text)
    expect = {"result": "av"}
    base = h.measure("attention_b", "ideal", expect)
    blocks = [1, 2, 4, 8, 16]
    free_machine = h.machine("ideal", "products_free", "block.product_interval_cycles_per_side=0")
    for kind in series:
        for block in blocks:
            m, name = base, f"attention_b{block}{kind[0]}"
            if block > 1:
                what = ["--block", f"mask={block}x{block}"] if kind == "mask" else ["--block-all", block]
                out = h.run("block", h.path("attention_b"), *what, "-o", h.path(name), check=False)
                m = None if out is None else h.measure(name, "ideal", expect)
            gain = speed(base, m)
            free = speed(base, m and block > 1 and h.measure(name, free_machine, expect))
            series[kind].append(gain)
            lines.append([block, kind, m and m["cycles"], gain, gain and gain / block, free,
                          m and m["source"], "proportional to the block size",
                          why_17(gain / block, gain, free) if m else "refused"])
    h.table("fig17", columns, lines)
    h.plot("fig17", "BigBird attention by block size", blocks, series, ("side of a block", "speedup"),
           {"in proportion": blocks}, logscale=True, lines=True)


def why_17(over_side, gain, free):
    if is_close(over_side):
        return "in proportion within 5%, as published"
    if free and free > 1.05 * gain:
        return f"{over_side:.2f} of the proportion; {free:.1f} instead of {gain:.1f} if products of blocks took one step"
    return f"{over_side:.2f} of the proportion, not explained"


def figure_18(h):
    """Orders of a nested product on KarateClub: all of them, each with every tensor stored as the
    order walks it, simulated; and what `--auto` makes of the storage of the default order. An
    experiment for the published ratio: the orders that walk tensors stored for ijkm."""
    columns = ["order", "cycles", "over_best", "published_worst_over_best", "note"]

    def one(order, stored=None):
        name = "nested_" + order + ("_" + stored if stored else "")
        h.save(name, programs.nested_matmul(h.graph("karate"), order=stored or order)[0])
        done = h.run("order", h.path(name), "--order", "y=" + ",".join(order), "-o", h.path(name), check=False)
        return None if done is None else h.measure(name, MACHINE)

    orders = ["".join(order) for order in itertools.permutations("ijkm")]
    measured = list(zip(h.each(one, orders), orders))
    found = sorted((m["cycles"], order) for m, order in measured if m)
    best = found[0][0]
    lines = [[order, cycles, cycles / best, None, None] for cycles, order in found]
    lines += [[order, "refused", None, None, None] for m, order in measured if not m]
    as_given = sorted(m["cycles"] for m in h.each(lambda order: one(order, "ijkm"), orders) if m)
    of_given = as_given[-1] / as_given[0] if as_given else None
    lines.append(["worst over best", None, found[-1][0] / best, published.FIGURE_18_BEST_OVER_WORST,
                  why_18(found[-1][0] / best, of_given)])
    lines.append(["second worst over best", None, found[-2][0] / best, None, None])
    lines.append(["worst over best, stored for ijkm", None, of_given, None, None])
    if h.run("order", h.path("nested_ijkm"), "--auto", "-o", h.path("nested_auto"), check=False) is not None:
        auto = h.measure("nested_auto", MACHINE)
        lines.append(["--auto, stored for ijkm", auto["cycles"], auto["cycles"] / best, None, None])
    h.table("fig18", columns, lines)
    h.plot("fig18", f"A B C by order, storage following: worst over best {found[-1][0] / best:.1f}, "
           f"published {published.FIGURE_18_BEST_OVER_WORST}", [o for _, o in found],
           {"cycles": [c for c, _ in found]}, ("order of the loops, outermost first", "cycles"))


def why_18(ratio, of_given):
    theirs = published.FIGURE_18_BEST_OVER_WORST
    if is_close(ratio / theirs):
        return "as published within 5%"
    if of_given and is_close(of_given / theirs):
        return "as published where tensors are stored for ijkm alone"
    return f"{ratio / theirs:.2f} of the published, not explained"


def table_3(h):
    """Errors of the estimates against the simulator."""
    import estimate_error
    lines = estimate_error.measure(h)
    h.table("table3", estimate_error.COLUMNS, lines)


def table_4(h):
    """How many dataflow orders are legal in the fully fused model, without and with the storage
    orders: exact counts of topological sorts. `permutations`: those of its loops without any rule.
    What exactly the paper counts is not known (its counts stop at a cap)."""
    columns = ["model", "indices", "permutations", "free", "constrained", "published_free",
               "published_constrained", "note"]
    lines = []
    for model, build in (("gcn", programs.gcn), ("sage", programs.sage)):
        base = f"{model}_orders"
        h.save(base, build(h.graph("cora"))[0])
        fused = h.fused(base, base + "_full", strategy="full")
        if not fused:
            continue
        free, constrained = count(h, fused, "--free"), count(h, fused, "--concordant")
        indices = int(free["indices"])
        lines.append([model, indices, str(math.factorial(indices)), free["orders"], constrained["orders"],
                      *published.TABLE_4[model],
                      "the difference from the published counts is not explained"])
    h.table("table4", columns, lines)


def count(h, name, mode):
    out = h.run("order", h.path(name), "--count", mode)
    return rows(out)[-1]


ALL = {"fig12": figure_12, "fig14": figure_14, "fig15": figure_15, "fig16": figure_16,
       "fig17": figure_17, "fig18": figure_18, "table3": table_3, "table4": table_4,
       "search": search, "chains": chains.workloads, "chains_pruning": chains.pruning,
       "chains_sweep": chain_sweeps.sweeps, "chains_top": chain_sweeps.top}
# The tier `fast` makes these only where they are named: they take half as long as all the others together.
NOT_FAST = ("chains_sweep", "chains_top")
