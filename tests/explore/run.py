#!/usr/bin/env python3
"""What a search promises, on small instances of the four models of the evaluation.

`run.py --tools DIR --testdata DIR [MODEL[@MACHINE]...]`. For each model and machine:
- the best program is checked against the reference by fuseflow-sim and takes the count promised;
- it is not slower than --strategy=none, layer and full, each with and without --recompute=always;
- simulating every point to its end (which also asserts bound <= simulated on each) finds none better;
- one thread and two, and three shards merged, give the same bytes as one run;
- killed (SIGKILL) again and again, a search goes on from its journal, repeats no point of it, and
  ends with the same bytes.
"""
import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SMALL = ["--max-orders", "2", "--max-placements", "3", "--max-copies", "4", "--max-climbs", "6"]
TINY = ["--max-kernels", "3", "--max-orders", "1", "--max-placements", "2", "--max-copies", "2",
        "--max-climbs", "2"]
MODELS = {"gcn_karate": SMALL, "sage_linear": SMALL, "autoencoder_matmul": SMALL,
          "attention_bigbird": SMALL, "gpt_bigbird": TINY}
MACHINES = ["comal", "rda"]


class Failed(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Failed(text)


class Case:
    def __init__(self, options, model, machine, folder):
        self.tools, self.folder, self.machine = options.tools, folder, machine
        self.space = MODELS[model]
        onnx = os.path.join(options.testdata, "models", model + ".onnx")
        with open(os.path.join(options.testdata, "models", model, "case.txt")) as file:
            binds = [w for line in file if line.startswith("--bind") for w in line.split()]
        self.program = self.path("kernels.ff")
        self.run("import", onnx, *binds, "-o", self.program, where=os.path.dirname(onnx))
        self.where = os.path.dirname(onnx)  # paths in the program are relative to it

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, tool, *args):
        return [os.path.join(self.tools, "fuseflow-" + tool), *args]

    def run(self, tool, *args, where=None):
        done = subprocess.run(self.command(tool, *args), capture_output=True, text=True,
                              cwd=where or self.where)
        expect(done.returncode == 0, f"{tool} {' '.join(args)}: {done.stderr}")
        return done.stdout

    def search(self, name, *more, best=True):
        args = [self.program, "--machine", self.machine, *self.space, "-o", self.path(name + ".csv"),
                *more]
        return args + (["--best", self.path(name + ".ff")] if best else [])

    def explore(self, name, *more, best=True):
        self.run("explore", *self.search(name, *more, best=best))
        return read(self.path(name + ".csv"))

    def cycles(self, program, *more):
        out = self.run("sim", self.path(program), "--machine", self.machine, *more)
        return int(list(csv.DictReader(out.splitlines()))[-1]["cycles"])

    def check_best(self):
        total = {r["point"]: r for r in rows(self.explore("one"))}
        best = int(total["best"]["cycles"])
        expect(self.cycles("one.ff", "--check") == best, "the best program takes another count")
        for strategy in ("none", "layer", "full"):
            for recompute in ("bounded", "always"):
                self.run("fuse", self.program, "--strategy", strategy, "--recompute", recompute,
                         "--machine", self.machine, "-o", self.path("seed.ff"))
                expect(best <= self.cycles("seed.ff"), f"{strategy}, {recompute} is faster")
        every = rows(self.explore("every", "--exhaustive"))
        found = [r for r in every if r["point"] == "best"][0]
        expect(int(found["cycles"]) == best, f"{found['cycles']} was there, {best} found")
        counted = sum(1 for r in every if r["status"] == "simulated")
        return best, int(total["unfused"]["cycles"]), counted

    def check_same(self):
        one = read(self.path("one.csv")), read(self.path("one.ff"))
        self.explore("two", "--threads", "2")
        expect((read(self.path("two.csv")), read(self.path("two.ff"))) == one,
               "the number of threads makes a difference")
        merge = []
        for i in range(3):
            self.explore(f"shard{i}", "--shard", f"{i}/3", best=False)
            merge += ["--merge", self.path(f"shard{i}.csv")]
        self.explore("merged", *merge)
        expect((read(self.path("merged.csv")), read(self.path("merged.ff"))) == one,
               "merged shards differ from one run")

    def check_killed(self, seconds):
        journal = self.path("journal")
        draw = random.Random(7)
        before, kills = [], 0
        for left in range(12, -1, -1):
            process = subprocess.Popen(
                self.command("explore", *self.search("killed", "--resume", journal)),
                cwd=self.where, stderr=subprocess.PIPE, text=True)
            try:
                process.wait(timeout=draw.uniform(0.1, 1.2) * seconds if left > 0 else None)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
            whole = points(journal)
            expect(whole[:len(before)] == before, "the journal lost points")
            expect(len(set(whole)) == len(whole), "a point of the journal was simulated again")
            expect_once(journal)
            before = whole
            if process.returncode == 0:
                break
        expect(process.returncode == 0, "the search did not end: " + process.stderr.read())
        expect(read(self.path("killed.csv")) == read(self.path("one.csv")),
               "a search that was killed gives something else")
        expect(kills > 0, "the search ended before it was killed once")
        return kills


def read(path):
    with open(path) as file:
        return file.read()


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def points(journal):
    if not os.path.exists(journal):
        return []
    lines = read(journal).split("\n")[:-1]  # the last one may be half written
    return [line.split(",")[1] for line in lines[1:] if line.startswith("result,")]


def expect_once(journal):
    """What was estimated, tried for a run of kernels, or run as a whole is in the journal once."""
    width = {"estimate": 2, "sets": 4, "copies": 4, "whole": 2, "program": 2}
    csv.field_size_limit(1 << 30)  # programs are fields
    rows = [row for row in csv.reader(read(journal).splitlines()[1:-1]) if row and row[0] in width]
    keys = [tuple(row[:width[row[0]]]) for row in rows]
    expect(len(set(keys)) == len(keys), "something of the journal was worked out again")


def add_cases(parser, models):
    parser.add_argument("cases", nargs="*", default=list(models), metavar="MODEL[@MACHINE]",
                        help="default: all models, each on all machines")


def cases(options, machines):
    """(model, machine) of the arguments, in order."""
    for case in options.cases:
        model, _, machine = case.partition("@")
        yield from ((model, m) for m in ([machine] if machine else machines))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--testdata", required=True)
    add_cases(parser, MODELS)
    options = parser.parse_args()
    options.tools = os.path.abspath(options.tools)
    options.testdata = os.path.abspath(options.testdata)
    failures = 0
    for model, machine in cases(options, MACHINES):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case = Case(options, model, machine, folder)
                start = time.time()
                best, unfused, counted = case.check_best()
                case.check_same()
                kills = case.check_killed((time.time() - start) / 12)
                print(f"{model} {machine}: {counted} points simulated, best {best} of {unfused} "
                      f"cycles, killed {kills} times", flush=True)
            except Failed as failure:
                failures += 1
                print(f"FAILED {model} {machine}: {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
