#!/usr/bin/env python3
"""Compares counts (cycles, FLOPs, bytes, tokens, units) with those pinned in expected/.

    run.py [LAYER...] [--only PREFIX] [--rebase]

Layers: `graphs` (frozen lowered graphs, so that only the simulator can move a count), `models` (every exported
model from ONNX to its totals, and estimates), `cluster_models` (models with dense chains planned for cores), `workloads` (chains
of the planner itself), `random` (hashes of what the tools say of random programs). A count that differs fails;
--rebase writes the counts of now and says what moved (scripts/rebase). See tests/README.md.
"""

import argparse
import concurrent.futures
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tables

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
from variants import is_variant  # noqa: E402

ROOT = HERE.parents[1]
MODELS = ROOT / "testdata" / "models"

# The rules of timing that a machine may choose, all the other way.
RULES = [word for setting in (
    "accumulate_double_buffered=true", "accumulate_outer_stops_take_steps=true", "write_stops_take_steps=true",
    "operators.divide.latency_cycles=13", "operators.divide.interval_cycles=5", "operators.root.latency_cycles=17",
    "operators.root.interval_cycles=4", "operators.exponential.latency_cycles=19", "operators.exponential.interval_cycles=3")
    for word in ("--machine-set", setting)]

STREAM_MACHINES = {
    "ideal": ["--machine", "ideal"],
    "comal": ["--machine", "comal"],
    "rda": ["--machine", "rda"],
    "banked": ["--machine", "rda", "--machine-set", "dram.model=banked"],
    "shallow": ["--machine", "ideal", "--machine-set", "fifo_depth=2"],
    "tight": ["--machine", "rda", "--machine-set", "fifo_depth=4", "--machine-set", "dram.outstanding=16"],
    "odd": ["--machine", "../machines/odd.toml"],
    "odd_free": ["--machine", "../machines/odd.toml", "--machine-set", "dram.model=none",
                 "--machine-set", "scratchpad.link_bytes_per_cycle=0"],
    "rules": ["--machine", "ideal"] + RULES,
    "odd_rules": ["--machine", "../machines/odd.toml", "--machine-set", "dram.model=none"] + RULES,
    "odd_banked": ["--machine", "../machines/odd.toml", "--machine-set", "dram.model=banked"],
    # One channel whose every burst opens a row: activations bound it.
    "odd_rows": ["--machine", "../machines/odd.toml"] + [word for setting in (
        "model=banked", "channels=1", "bank_groups=4", "banks_per_group=4", "row_bytes=24", "interleave_bytes=24")
        for word in ("--machine-set", f"dram.{setting}")],
}
CORE_MACHINES = {"h100": ["--machine", "h100"], "odd": ["--machine", "../machines/odd_cores.toml"],
                 "odd_gpu": ["--machine", "../machines/odd_gpu.toml"]}
# Machines whose memory takes no time; the naive executor has no model of memory.
FREE_MEMORY = {"ideal", "comal", "shallow", "odd_free", "rules", "odd_rules"}
ESTIMATED = {"ideal", "banked", "odd", "rules"}
# Columns that are no counts: formats of reports may change without moving one.
NOT_COUNTS = re.compile(r"schema|program|machine|checked|max_.*error|lacks|finite_differences|"
                        r"operator|statement|layer|model_node|function|strategy|seconds|.*_pj|edp|area_mm2|bound_dram_bytes|l2_.*_bytes")


class Failure(Exception):
    """A run that gave no counts."""


def run(words, folder, text=b"", timeout=300):
    """Standard output of a tool, from `folder`."""
    try:
        done = subprocess.run([str(w) for w in words], cwd=folder, input=text, capture_output=True,
                              timeout=float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", timeout)))
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(map(str, words))}: no answer in time") from None
    if done.returncode != 0:
        error = done.stderr.decode(errors="replace").strip()
        raise Failure(f"{' '.join(map(str, words))}: status {done.returncode}\n{error[-2000:]}")
    return done.stdout


def counts(text, *key):
    """The rows of a tool's CSV as lists, `key` in front; only columns that are counts. The header comes first."""
    header, *rows = csv.reader(io.StringIO(text))
    kept = [i for i, name in enumerate(header) if not NOT_COUNTS.fullmatch(name)]
    return [[header[i] for i in kept]] + [[*key, *(row[i] for i in kept)] for row in rows]


def joined(parts, keys, name):
    """One table of several CSV texts, each with the values of the leading columns `name`."""
    columns, rows = name, []
    for part in parts:
        columns = [*name, *part[0]]
        rows += part[1:]
    return tables.Table(columns, keys, rows)


def simulate_graph(options, graph, machine, words):
    """(regions, nodes, streams) of a frozen graph, the same from either executor and any number of threads."""
    seen = None
    for execution in [], ["--threads", "2"], *([["--executor", "naive"]] if machine in FREE_MEMORY else []):
        with tempfile.TemporaryDirectory() as folder:
            nodes, streams = pathlib.Path(folder, "nodes.csv"), pathlib.Path(folder, "streams.csv")
            regions = run([options.bin_dir / "fuseflow-sim", graph.name, "--check", "--nodes", nodes, "--streams", streams,
                           *words, *execution], graph.parent).decode()
            now = (counts(regions, graph.stem, machine), counts(nodes.read_text(), machine),
                   counts(streams.read_text(), machine))
        if seen is not None and seen != now:
            raise Failure(f"{graph.name} on {machine}: {' '.join(execution)} gives other counts")
        seen = now
    return seen


def estimate_graph(options, graph, machine, words):
    """Estimates of a frozen graph, from its data and from statistics."""
    found = []
    for source, extra in ("data", []), ("statistics", ["--statistics"]):
        text = run([options.bin_dir / "fuseflow-estimate", graph.name, *words, *extra], graph.parent).decode()
        header, *rows = counts(text, graph.stem, machine, source)
        found += rows
    return [header, *found]


def assert_covered(graphs):
    """Every node kind, rows, blocks, both kinds of copies and tiles stand in some frozen graph, each kind in nodes.md."""
    text = "\n".join(graph.read_text() for graph in graphs)
    kinds = re.findall(r"ROW\((\w+)\)", (ROOT / "src" / "graph" / "node_kinds.h").read_text())
    described = (ROOT / "ir-spec" / "nodes.md").read_text()
    if lacking := [kind for kind in kinds if not re.search(rf"`{kind}\b", described)]:
        raise Failure(f"ir-spec/nodes.md lacks: {', '.join(lacking)}")
    missing = [kind for kind in kinds if not re.search(rf"(^|= ) *{kind}\b", text, re.M)]
    missing += [what for what in ("phase rows", "split=contiguous", "tiles [", " block=", "scratchpad %") if what not in text]
    if missing:
        raise Failure(f"no frozen graph has: {', '.join(missing)}")


def graphs_layer(options):
    """Frozen graphs on every machine that can run them."""
    graphs = sorted((HERE / "graphs").glob("*.ff"))
    assert_covered(graphs)
    graphs = [graph for graph in graphs if options.wants(graph.stem)]
    jobs = [(graph, machine, words) for graph in graphs
            for machine, words in (CORE_MACHINES if "tiles [" in graph.read_text() else STREAM_MACHINES).items()]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda job: simulate_graph(options, *job), jobs))
        estimated = [job for job in jobs if job[1] in ESTIMATED]
        estimates = list(pool.map(lambda job: estimate_graph(options, *job), estimated))
    found = {"regions.csv": joined([r[0] for r in results], 3, ["graph", "machine"])}
    found["estimates.csv"] = joined(estimates, 4, ["graph", "machine", "from"])
    for graph in graphs:
        mine = [r for (g, _, _), r in zip(jobs, results) if g == graph]
        found[f"{graph.stem}.nodes.csv"] = joined([r[1] for r in mine], 3, ["machine"])
        found[f"{graph.stem}.streams.csv"] = joined([r[2] for r in mine], 3, ["machine"])
    return found


def models_layer(options):
    """Every model, strategy and machine, in one process (models.cpp)."""
    with tempfile.TemporaryDirectory() as folder:
        only = ["--filter", options.only] if options.only else []
        names = {path.parent.name for path in MODELS.glob("*/case.txt")}
        only += [word for name in sorted(names) if is_variant(name, names) for word in ("--variant", name)]
        run([options.models_program, "--out", folder, "--jobs", options.jobs, *only], MODELS, timeout=1800)
        found = {path.name: path.read_text() for path in pathlib.Path(folder).glob("*.csv")}
    keys = {"estimates.csv": 4, "imports.csv": 1}
    return {name: tables.read_table(text, keys.get(name, 2)) for name, text in sorted(found.items())}


def clustered_model(options, name):
    """The total of a model whose chains are planned for cores."""
    bind = [word for line in (MODELS / name / "case.txt").read_text().splitlines() if line.startswith("--bind")
            for word in line.split(None, 1)]
    text = run([options.bin_dir / "fuseflow-import", f"{name}.onnx", *bind], MODELS)
    text = run([options.bin_dir / "fuseflow-cluster"], MODELS, text)
    found = counts(run([options.bin_dir / "fuseflow-sim", "--machine", "h100"], MODELS, text).decode(), name)
    return [found[0], *(row for row in found[1:] if row[1] == "total")]


def cluster_models_layer(options):
    """Models with chains, planned for the h100."""
    names = sorted(p.parent.name for p in MODELS.glob("*/case.txt")
                   if p.parent.name.startswith(("chain_", "llama_", "gemm_", "conv_")) and options.wants(p.parent.name))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        models = list(pool.map(lambda name: clustered_model(options, name), names))
    return {"totals.csv": joined(models, 2, ["model"])}


def workloads_layer(options):
    """Workloads of chains on the h100: the table of the evaluation, and what the search prunes."""
    effort = {"C7": "100000", "G7": "100000", "S4": "100000"}  # their whole searches take minutes
    chains = [chain for chain in ("C1", "C3", "C5", "C7", "G1", "G2", "G3", "G7", "S4") if options.wants(chain)]
    tool = options.bin_dir / "fuseflow-cluster"
    rows = [counts(run([tool, "--workload", chain, "--evaluate", *(["--effort", effort[chain]] if chain in effort else [])],
                       MODELS).decode()) for chain in chains]
    explained = counts(run([tool, "--gemm-chain", "128,256,256,256", "--explain", "-"], MODELS).decode())
    return {"workloads.csv": joined(rows, 1, []), "candidates.csv": joined([explained], 1, [])}


def random_layer(options):
    """What passes, estimates and reports say of random programs, as hashes (random.cpp)."""
    with tempfile.TemporaryDirectory() as folder:
        run([options.random_program, "--out", folder, "--odd", HERE / "machines" / "odd.toml"], MODELS, timeout=900)
        return {"random.csv": tables.read_table(pathlib.Path(folder, "random.csv").read_text(), 1)}


LAYERS = {
    "graphs": graphs_layer,
    "models": models_layer,
    "cluster_models": cluster_models_layer,
    "workloads": workloads_layer,
    "random": random_layer,
}


def complete(layer):
    """What is pinned is what there is, and the frozen graphs have all that they must: without running anything."""
    folder = HERE / "expected" / layer
    if layer == "graphs":
        assert_covered(sorted((HERE / "graphs").glob("*.ff")))
        there, table = {path.stem for path in (HERE / "graphs").glob("*.ff")}, "regions.csv"
    elif layer == "models":
        there, table = {path.parent.name for path in MODELS.glob("*/case.txt")}, "ideal.csv"
    else:
        raise Failure("only graphs and models are run in parts")
    pinned = {key[0] for key in tables.read_table((folder / table).read_text(), 2 if layer == "models" else 3).rows}
    wrong = sorted(there ^ pinned)
    return not wrong, f"pinned {layer}: {len(there)} there, {len(pinned)} pinned" + "".join(f"\n{name}: not in both" for name in wrong)


def group_of(layer, name):
    """With which rows a row is averaged: all graphs' nodes or streams, all models of one strategy."""
    if layer == "graphs":
        return lambda key: f"graphs/{name.removesuffix('.csv').split('.')[-1]}"
    return lambda key: f"{layer}/{name}" + (f" {key[1]}" if layer == "models" and len(key) > 1 else "")


def check_layer(layer, options):
    """Returns (ok, report)."""
    folder = HERE / "expected" / layer
    found = LAYERS[layer](options)
    changes = tables.Changes()
    for name, table in found.items():
        path = folder / name
        pinned = tables.read_table(path.read_text() if path.exists() else "", table.keys)
        if table.columns[0] in ("graph", "model", "workload"):
            pinned.rows = {key: row for key, row in pinned.rows.items() if options.wants(key[0])}
        changes.compare(f"{layer}/{name}", pinned, table, group_of(layer, name))
    if options.only and not changes.rows:
        raise Failure(f"no names begin with '{options.only}'")
    for path in sorted(folder.glob("*.csv")):
        if path.name not in found and not options.only:
            changes.lines.append(f"{layer}/{path.name}: no longer there")
            if options.rebase:
                path.unlink()
    if options.rebase:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in found.items():
            (folder / name).write_text(table.text())
    summary = f"pinned {layer}: {len(changes.lines)} of {changes.rows} rows differ"
    return not changes, "\n".join(filter(None, [changes.report(options.show), summary]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*", metavar="LAYER", help=f"{', '.join(LAYERS)} (default: all)")
    parser.add_argument("--only", metavar="PREFIX", default="", help="only the graph of this name, or the graphs or models whose names begin so")
    parser.add_argument("--complete", action="store_true", help="only look whether everything is pinned, run nothing")
    parser.add_argument("--rebase", action="store_true", help="write the counts of now")
    parser.add_argument("--bin-dir", type=pathlib.Path, default=ROOT / "build" / "bin", help="folder of the tools")
    parser.add_argument("--models-program", type=pathlib.Path, default=ROOT / "build" / "tests" / "pinned_models")
    parser.add_argument("--random-program", type=pathlib.Path, default=ROOT / "build" / "tests" / "pinned_random")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="rows to print that differ")
    options = parser.parse_args()
    options.bin_dir = options.bin_dir.resolve()
    options.models_program = options.models_program.resolve()
    options.random_program = options.random_program.resolve()
    graph = (HERE / "graphs" / f"{options.only}.ff").exists()
    options.wants = lambda name: name == options.only if graph else name.startswith(options.only)
    if options.rebase and options.only:
        parser.error("--rebase writes whole layers")
    unknown = [layer for layer in options.layers if layer not in LAYERS]
    if unknown:
        parser.error(f"there is no layer '{unknown[0]}', expected {', '.join(LAYERS)}")
    right = True
    for layer in options.layers or LAYERS:
        try:
            ok, report = complete(layer) if options.complete else check_layer(layer, options)
        except Failure as failure:
            ok, report = False, f"pinned {layer}: {failure}"
            if options.rebase:
                sys.exit(report)
        print(report, flush=True)
        right = right and ok
    if not right and not options.rebase:
        print("If the counts are meant to move: scripts/rebase, and say in the commit why they do.")
    sys.exit(0 if right or options.rebase else 1)


if __name__ == "__main__":
    main()
