#!/usr/bin/env python3
"""A table of plans whose rows are known at run time, on the CPU: small programs of every form of kernel, for three numbers of rows.

Of `forms` every kernel is the same for all entries, so there is one of each; of `ways` one entry has another plan, of three
kernels. Any number of rows gives what the simulator gives for the first rows of the largest program.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

from plans import Plan, chain, elements, index, normalised, online, product, program, reduction, rows, write_npy
from run import build

BOUNDS = (16, 48, 112)
ROWS = (1, 15, 17, 47, 90)
SEEDS = (1, 2)


def pairs(name, m, inner, columns, depth):
    """A product whose rows are those of the table and, faster, another loop."""
    p = product(name, (m * inner, columns, depth), (16, 16, 16), cluster_m=2, adders=2)
    for text in ("a", "y"):
        width = depth if text == "a" else columns
        p.tensors = [t.replace(f"_{text}: f16[{m * inner}, {width}] dense,", f"_{text}: f16[{m}, {inner}, {width}] dense,dense,") for t in p.tensors]
    p.files = [(path, [m, inner, depth] if path == f"{name}_a.npy" else shape, kind, there) for path, shape, kind, there in p.files]
    p.statements = [s.replace("[i, ", "[i, q, ") for s in p.statements]
    p.graph = p.graph.replace("[i, ", "[i, q, ").replace(f"[i:{m * inner}]", f"[i:{m}, q:{inner}]")
    return p


def flat(name, m, columns):
    """y = x * 3, whose rows and columns are one dimension, cut anywhere."""
    p = Plan(name)
    x, y = p.tensor("input", "x", [m, columns]), p.tensor("result", "y", [m, columns])
    p.statements.append(f"{y}[i, j] = {x}[i, j] * 3")
    p.graph = index("m", 1, 1, 1, 1, "one_m:1") + index("n", -(-m * columns // 32), 32, m * columns, 1, f"i:{m}, j:{columns}")
    p.graph += index("k", 1, 1, 1, 1, "one_k:1") + index("g", 1, 1, 1, 1, "one_g:1")
    p.graph += f"    tiles [] bytes=2\n    phase {{\n      $x: val<m,n>[m,n] = tile_load {x}[i, j] capacity=2\n"
    p.graph += f"      $y: val<m,n>[m,n] = map mul ($x, 3)\n      tile_store {y}[i, j] ($y)\n    }}\n"
    return p


def forms(m):
    return [
        chain("plain", (m, 64, 48, 32), (16, 32, 16, 16), (1, 1, 1, 1), "l, k"),
        chain("round", (m, 100, 56, 70), (16, 16, 16, 16), (1, 4, 1, 4), "l, k", residual=True),
        chain("shared", (m, 64, 128, 64), (16, 32, 16, 16), (2, 2, 2, 2), "l, k"),
        chain("split", (m, 64, 48, 32), (16, 32, 16, 16), (1, 1, 2, 2), "l, k", gated="split"),
        product("columns", (m, 64, 64), (16, 32, 32), cluster_m=2, by_columns=True, bias=True),
        product("narrow", (m, 30, 35), (16, 16, 48)),
        product("adds", (m, 30, 96), (16, 16, 16), depth=2, adders=3),
        product("batch", (24, 32, 40), (16, 16, 48), batches=m),
        pairs("pairs", m, 3, 30, 64),
        product("weights", (20, 30, 96), (16, 16, 16), depth=2, adders=3),
        flat("flat", m, 12),
        reduction("largest", m, 36, 12, "max"),
        elements("scaled", m, 44, 4),
        normalised("rows", m, 30, 4),
        rows("layers_wide", "layers", (m, 64, 128, 40), (16, 16), cluster=(2, 2)),
        rows("layers_batch", "layers", (20, 32, 48, 32), (16, 16), batches=m),
        rows("norm", "norm", (m, 32, 80, 48), (16, 32)),
        online("heads", m, 4, 40, 16, 24, 16),
        online("queries", 0, m, 48, 32, 16, 16, cluster=2),
    ]


def apart(name, size, tile):
    """The chain of that name as a product, its elements, and a product."""
    whole = chain(name, size, tile, (1, 1, 1, 1), "l, k")
    m, n, k, l = size
    first, middle, last = (Plan(name + part) for part in ("_h", "_c", ""))
    first.tensors, first.files = whole.tensors, whole.files
    for part, statement in zip((first, middle, last), whole.statements):
        part.statements = [statement]

    def graph(depth, columns, names, read):
        text = product(name, (m, columns[1], depth[1]), (tile[0], 16, 16)).graph
        for old, new in ((f"%{name}_a[i, k]", f"%{name}_{read[0]}[i, {depth[0]}]"), (f"%{name}_x[k, j]", f"%{name}_{read[1]}[{depth[0]}, {columns[0]}]"),
                         (f"%{name}_y[i, j]", f"%{name}_{names}[i, {columns[0]}]"), (f"[k:{depth[1]}]", f"[{depth[0]}:{depth[1]}]"),
                         (f"[j:{columns[1]}]", f"[{columns[0]}:{columns[1]}]")):
            text = text.replace(old, new)
        return text

    first.graph = graph(("k", k), ("j", n), "h0", ("x", "b0"))
    last.graph = graph(("j", n), ("o", l), "y", ("c", "d"))
    middle.graph = index("m", -(-m // 8), 8, m, 1, f"i:{m}") + index("n", 1, n, n, 1, f"j:{n}")
    middle.graph += index("k", 1, 1, 1, 1, "one_k:1") + index("g", 1, 1, 1, 1, "one_g:1")
    middle.graph += f"    tiles [] bytes=2\n    phase {{\n      $h: val<m,n>[m,n] = tile_load %{name}_h0[i, j] capacity=2\n"
    middle.graph += f"      $c: val<m,n>[m,n] = map relu ($h)\n      tile_store %{name}_c[i, j] ($c)\n    }}\n"
    return [first, middle, last]


def ways(m):
    made = [chain("timed", (m, 64, 48, 64), (16, 32, 16, 16), (1, 2, 2, 4), "m, l, k", result="f32"),
            chain("wide", (m, 64, 64, 64), (64, 32, 32, 32) if m > 100 else (16, 32, 32, 32), (1, 2, 1, 2), "k, l"),
            chain("held", (m, 64, 32, 48), (16, 16, 16, 16), (1, 1, 1, 1), "l, m, n, k", held=4 * -(-m // 16))]
    size, tile = (m, 64, 48, 32), (16, 32, 16, 16)
    return made + (apart("ways", size, tile) if m > 100 else [chain("ways", size, tile, (1, 1, 1, 1), "l, k")])


def write_table(folder):
    for m in BOUNDS:
        (folder / f"rows_{m}.ff").write_text(program(forms(m) + ways(m)), encoding="utf-8")
    largest = forms(BOUNDS[-1]) + ways(BOUNDS[-1])
    for number, (path, shape, kind, there) in enumerate(f for p in largest for f in p.files):
        write_npy(folder / path, shape, number + 1, kind, there)


def check_plan(folder, wrong):
    """Which kernels the entries share. Gives the bytes over links that are planned, by entry and kernel."""
    used = {}
    with open(folder / "out" / "plan.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        used.setdefault(line["region"], []).append((int(line["rows_up_to"]), line["kernel"]))
    for form in forms(BOUNDS[0]):
        if [bound for bound, _ in used[form.name]] != list(BOUNDS) or len({kernel for _, kernel in used[form.name]}) != 1:
            wrong.append(f"{form.name} is not one kernel for all: {used[form.name]}")
    if len({kernel for _, kernel in used["ways"]}) != 2 or [kernel for _, kernel in used["ways"]].count("k_ways") != 2:
        wrong.append(f"ways: {used['ways']}")
    there = {path.name for path in (folder / "out").glob("k_*.cu")}
    if there != {line["kernel"] + ".cu" for line in lines}:
        wrong.append(f"kernels that are there: {sorted(there)}")
    return {(line["rows_up_to"], line["kernel"]): int(line["link_bytes"]) for line in lines}


def run_host(folder, seed, count=None):
    command = ["./run_host", "--seed", str(seed), "--tolerance", "0"] + (["--rows", str(count)] if count is not None else [])
    return subprocess.run(command, cwd=folder / "out", capture_output=True, text=True, timeout=300)


def check_values(folder, links, wrong):
    for seed in SEEDS:
        done = run_host(folder, seed)
        if done.returncode != 0:
            wrong.append(f"seed {seed}: status {done.returncode}\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines() if seed == SEEDS[0] else []:
            bound, kernel, sent = re.match(r"(\d+) rows: (\w+): .*sent (\d+)$", line).groups()
            if int(sent) != links[bound, kernel]:
                wrong.append(f"{line}; planned {links[bound, kernel]}")
    for count in ROWS:
        done = run_host(folder, count, count)
        entry = next(bound for bound in BOUNDS if bound >= count)
        kernels = {kernel for bound, kernel in links if int(bound) == entry}
        if done.returncode != 0 or {line.split(": ")[1] for line in done.stdout.splitlines()} != kernels:
            wrong.append(f"{count} rows: status {done.returncode}\n{done.stdout}{done.stderr}")
    for count in (0, BOUNDS[-1] + 1):
        done = run_host(folder, 1, count)
        if done.returncode != 3 or "expected 1 to 112" not in done.stderr:
            wrong.append(f"{count} rows: status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", default="g++", help="of C++20, with _Float16")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the files")
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or pathlib.Path(made)
        folder.mkdir(exist_ok=True)
        write_table(folder)
        inputs = [f"rows_{bound}.ff" for bound in reversed(BOUNDS)]
        done = subprocess.run([options.tools / "fuseflow-cuda", *inputs, "-d", "out", "--data", "-q"], cwd=folder)
        if done.returncode != 0:
            sys.exit(f"fuseflow-cuda: status {done.returncode}")
        links = check_plan(folder, wrong)
        build(folder / "out", options.compiler)
        check_values(folder, links, wrong)
    print(f"{len(links)} kernels of {len(BOUNDS)} entries, {len(ROWS)} numbers of rows, {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
