#!/usr/bin/env python3
"""Prints tables of docs/evaluation.md, "Copies": an elementwise kernel alone, and GCN unfused and fused, each
with copies of the rows of every region.

    scripts/evaluation/copies.py --tools build/bin [--kernel | --model]
"""

import argparse
import csv
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "testdata/models/gcn_axw_dynamic.onnx"
DATA = ["--bind", "adj=uniform(density=0.004, seed=1)", "--bind", "x=uniform(density=0.02, seed=2)",
        "--dim", "nodes=2708"]
KERNEL = """fuseflow 1
input %x: f32[2708, 16] dense,dense facts(finite) = dense(seed=1)
input %b: f32[16] dense facts(finite) = dense(seed=2)
result %y: f32[2708, 16] dense,dense
region @y {
  %y[i, j] = %x[i, j] + %b[j]
}
"""
COPIES = [1, 2, 4, 8, 16, 32]


class Tools:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = Path(folder), Path(scratch)

    def run(self, name, *arguments):
        """What the tool prints; None if it refuses."""
        done = subprocess.run([self.folder / f"fuseflow-{name}", "-q", *map(str, arguments)], text=True,
                              capture_output=True, cwd=self.scratch)
        return done.stdout if done.returncode == 0 else None

    def cycles(self, program, copies, machine, *options):
        """Cycles of a checked run with so many copies of the rows in each region; None: it does not fit."""
        regions = re.findall(r'^region @("[^"]*"|\S+)', Path(program).read_text(), re.MULTILINE)
        rows = [part for r in regions for part in ("--index", r.strip('"') + ":i")]
        text = self.run("parallelize", program, *rows, "--factor", copies, *options)
        (self.scratch / "copies.ff").write_text(text)
        printed = self.run("sim", "--check", "--machine", machine, "copies.ff")
        return printed and int(list(csv.DictReader(printed.splitlines()))[-1]["cycles"])


def row(title, cells):
    print(f"| {title} | " + " | ".join("" if c is None else f"{c:,}" for c in cells) + " |")


def head(title):
    row(title, COPIES)
    print("|---" * (len(COPIES) + 1) + "|")


def kernel(tools):
    program = tools.scratch / "kernel.ff"
    program.write_text(KERNEL)
    head("`%y[i, j] = %x[i, j] + %b[j]`, cycles")
    for title, machine, options in (("`rda`, in turn", "rda", []), ("`rda`, contiguous", "rda", ["--contiguous"]),
                                    ("`comal`, in turn", "comal", [])):
        row(title, [tools.cycles(program, p, machine, *options) for p in COPIES])


def model(tools):
    head("GCN on `rda`, cycles")
    tools.run("import", MODEL, *DATA, "-o", "none.ff")
    for title, strategy in (("unfused", "none"), ("a region a layer", "layer"), ("one region", "full")):
        program = tools.scratch / f"{strategy}_fused.ff"
        tools.run("fuse", f"--strategy={strategy}", "none.ff", "-o", program)
        row(title, [tools.cycles(program, p, "rda") for p in COPIES])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=ROOT / "build/bin", type=lambda p: Path(p).resolve())
    parser.add_argument("--kernel", action="store_true", help="only the kernel")
    parser.add_argument("--model", action="store_true", help="only GCN")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(options.tools, scratch)
        if not options.model:
            kernel(tools)
        if not options.kernel:
            model(tools)


if __name__ == "__main__":
    main()
