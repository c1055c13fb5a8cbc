#!/usr/bin/env python3
"""Prints the table of docs/evaluation.md, "Streams and tiles": a GCN, BigBird attention and a dense
feed-forward network on `rda` and `h100`, as streams, as tiles, and as fuseflow-explore mixes them.

    scripts/evaluation/one_machine.py --tools build/bin [--budget SECONDS]

Every program is simulated and compared with the reference. `streams`: the best that the search finds
with copies, without tiles (`h100` has no units for streams). `tiles`: all tensors stored dense,
fuseflow-cluster --strategy=tiles --dense. `mixed`: the search of both, from the program as it is.
`rewritten`: the same of the program as fuseflow-rewrite --allow-reassociation rewrites it, too.
The adjacency is a constant: prepared once, in any format (ir-spec/storage.md).
"""
import argparse
import csv
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402

SPACE = ["--max-orders", "4", "--max-placements", "5", "--max-copies", "32", "--max-climbs", "8"]
FFN = """fuseflow 1
program "ffn"
input %x: f32[256, 256] dense,dense = dense(seed=1)
const %w: f32[256, 1024] dense,dense = dense(seed=2)
const %v: f32[1024, 256] dense,dense = dense(seed=3)
temp %h: f32[256, 1024] dense,dense
temp %a: f32[256, 1024] dense,dense
result %y: f32[256, 256] dense,dense
region @up { %h[i, k] = sum(j) %x[i, j] * %w[j, k] }
region @act { %a[i, k] = relu(%h[i, k]) }
region @down { %y[i, l] = sum(k) %a[i, k] * %v[k, l] }
"""


def models():
    graph = {"nodes": 2708, "features": 512, "classes": 8, "x_levels": "dense,dense", "adj_role": "const",
             "adj": "power_law(edges=10556,values=uniform(0,0.5),seed=7)",
             "x": "dense(values=uniform(0,1),seed=8)"}
    return {"GCN, 2,708 nodes, 512 features": programs.gcn(graph)[0],
            "BigBird attention, 512 x 64, 4 heads": programs.attention(512, 64, 16, heads=4)[0],
            "feed-forward, 256 x 256 x 1,024": FFN}


class Tools:
    def __init__(self, folder, budget):
        self.folder, self.budget = os.path.abspath(folder), budget
        self.scratch = tempfile.mkdtemp()

    def run(self, name, *arguments):
        """What it prints; None if it refuses."""
        done = subprocess.run([os.path.join(self.folder, "fuseflow-" + name), "-q", *arguments],
                              capture_output=True, text=True, cwd=self.scratch)
        return done.stdout if done.returncode == 0 else None

    def total(self, program, machine):
        """(cycles, bytes of memory) of the checked run; None where streams have no units."""
        printed = self.run("sim", "--check", "--machine", machine, program)
        if printed is None:
            raise SystemExit(f"{program} on {machine} is refused or wrong")
        row = list(csv.DictReader(printed.splitlines()))[-1]
        if row["checked"] not in ("ok", "undecided"):
            raise SystemExit(f"{program} on {machine} is not checked")
        moved = int(row["dram_read_bytes"]) + int(row["dram_write_bytes"])
        return None if row["lacks"] else (int(row["cycles"]), moved)

    def searched(self, machine, *more):
        if self.run("explore", "--machine", machine, *SPACE, "--budget-seconds", str(self.budget),
                    "--best", "best.ff", "-o", "search.csv", *more, "given.ff") is None:
            return None
        return self.total("best.ff", machine)

    def tiles(self, machine):
        if self.run("cluster", "--machine", machine, "--strategy=tiles", "--dense", "-o", "tiles.ff",
                    "given.ff") is None:
            return None
        return self.total("tiles.ff", machine)


def shown(found):
    return "" if found is None else f"{found[0]:,} | {found[1] / 1e6:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, help="directory of the built tools")
    parser.add_argument("--budget", type=float, default=30, help="seconds of a search")
    options = parser.parse_args()
    tools = Tools(options.tools, options.budget)
    print("| model | machine | streams | MB | tiles | MB | mixed | MB | rewritten | MB |\n" + "|---" * 10 + "|")
    for name, text in models().items():
        with open(os.path.join(tools.scratch, "given.ff"), "w") as file:
            file.write(text)
        for machine in ("rda", "h100"):
            streams = tools.searched(machine, "--no-tiles") if machine == "rda" else None
            found = [streams, tools.tiles(machine), tools.searched(machine),
                     tools.searched(machine, "--rewrite", "--allow-reassociation")]
            print(f"| {name} | `{machine}` | " + " | ".join(shown(f) or " | " for f in found) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
