#!/usr/bin/env python3
"""What a search for something else than cycles promises, on small models and three machines.

`objectives.py --tools DIR --testdata DIR [MODEL[@MACHINE]...]`. For each objective (energy, edp, dram_bytes):
- simulating every point to its end (which asserts the bounds on cycles, energy and bytes on each) finds nothing better;
- the best program, simulated as a whole, takes what the search says, and no strategy takes less;
- for edp: one thread and two, and two shards merged, give the same bytes, the Pareto list's too;
- the Pareto list of all points begins with the fewest cycles, ends with the least energy, and has the least product.
"""
import argparse
import csv
import os
import sys
import tempfile

import run
from run import Failed, expect, read, rows

SPACE = ["--max-orders", "2", "--max-placements", "2", "--max-copies", "4", "--max-climbs", "4"]
MODELS = ["gcn_karate", "autoencoder_matmul"]
MACHINES = {"ideal": ["--machine", "ideal"], "rda": ["--machine", "rda"],
            "banked": ["--machine", "rda", "--machine-set", "dram.model=banked", "--machine-set",
                       "reconfiguration_cycles=50"]}
ROUNDING = 0.5  # of a region's energy, in the search


class Case(run.Case):
    """A search on a machine with settings."""

    def __init__(self, options, model, words, folder):
        super().__init__(options, model, words[1], folder)
        self.words, self.space = words, SPACE

    def search(self, name, *more, best=True):
        args = [self.program, *self.words, *self.space, "-o", self.path(name + ".csv"), *more]
        return args + (["--best", self.path(name + ".ff")] if best else [])

    def totals(self, program, *more):
        out = self.run("sim", self.path(program), *self.words, *more)
        return list(csv.DictReader(out.splitlines()))

    def cost(self, objective, table):
        total = table[-1]
        if objective == "dram_bytes":
            return int(total["dram_read_bytes"]) + int(total["dram_write_bytes"])
        return float(total["edp" if objective == "edp" else "energy_pj"])

    def slack(self, objective, table):
        """Rounding of the search: whole picojoules a region; the CSV's six digits."""
        total = table[-1]
        share = ROUNDING * len(table) / max(1.0, float(total["energy_pj"]))
        return {"energy": ROUNDING * len(table), "edp": float(total["edp"]) * (share + 1e-5), "dram_bytes": 0}[objective]

    def check(self, objective):
        want = ["--objective", objective]
        self.explore("one", *want, "--pareto", self.path("one.p"))
        table = self.totals("one.ff", "--check")
        found, slack = self.cost(objective, table), self.slack(objective, table)
        best = [r for r in rows(read(self.path("one.csv"))) if r["point"] == "best"][0]
        expect(int(best["cycles"]) == int(table[-1]["cycles"]), "the best program takes other cycles")
        expect(abs(int(best["energy_pj"]) - float(table[-1]["energy_pj"])) <= ROUNDING * len(table),
               f"the best program takes {table[-1]['energy_pj']} pJ, not {best['energy_pj']}")
        for strategy in ("none", "layer", "full"):
            self.run("fuse", self.program, "--strategy", strategy, *self.words, "-o", self.path("seed.ff"))
            seed = self.cost(objective, self.totals("seed.ff"))
            expect(found <= seed + slack, f"{objective}: {strategy} takes {seed}, the best {found}")
        self.explore("every", *want, "--exhaustive", "--pareto", self.path("every.p"))
        least = self.cost(objective, self.totals("every.ff"))
        expect(abs(least - found) <= 2 * slack, f"{objective}: {least} was there, {found} found")
        self.check_front(objective, found, slack)
        if objective == "edp":  # what threads and shards do does not depend on the objective
            self.check_same(want)
        return found

    def check_same(self, want):
        one = [read(self.path("one." + kind)) for kind in ("csv", "ff", "p")]
        self.explore("two", *want, "--threads", "2", "--pareto", self.path("two.p"))
        expect([read(self.path("two." + kind)) for kind in ("csv", "ff", "p")] == one, "threads make a difference")
        merge = []
        for i in range(2):
            self.explore(f"shard{i}", *want, "--shard", f"{i}/2", best=False)
            merge += ["--merge", self.path(f"shard{i}.csv")]
        self.explore("merged", *want, *merge, "--pareto", self.path("merged.p"))
        expect([read(self.path("merged." + kind)) for kind in ("csv", "ff", "p")] == one, "merged shards differ")

    def check_front(self, objective, found, slack):
        """Checks the Pareto front of the exhaustive search, whose points are all simulated."""
        front = rows(read(self.path("every.p")))
        numbers = [(int(r["cycles"]), int(r["energy_pj"])) for r in front]
        expect(numbers == sorted(numbers) and all(a[1] > b[1] for a, b in zip(numbers, numbers[1:])),
               "the Pareto list is no front")
        # The list has sums of regions; a copy that several of them read is made once.
        more = float("inf") if " copy(" in read(self.path("one.ff")) else 2 * slack
        if objective == "energy":
            expect(-2 * slack <= numbers[-1][1] - found <= more, "its end is not the least energy")
        if objective == "edp":
            expect(-2 * slack <= min(float(r["edp"]) for r in front) - found <= more, "the least product is not on it")
        self.programs = len(front)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--testdata", required=True)
    run.add_cases(parser, MODELS)
    options = parser.parse_args()
    options.tools, options.testdata = os.path.abspath(options.tools), os.path.abspath(options.testdata)
    run.MODELS = {model: SPACE for model in MODELS}
    failures = 0
    for model, machine in run.cases(options, MACHINES):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case = Case(options, model, MACHINES[machine], folder)
                found = {objective: case.check(objective) for objective in ("energy", "edp", "dram_bytes")}
                print(f"{model} {machine}: {found}, {case.programs} programs on the last front", flush=True)
            except Failed as failure:
                failures += 1
                print(f"FAILED {model} {machine}: {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
