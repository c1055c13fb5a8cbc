"""Runs the tools for one tier, keeps programs and results under the output directory, writes CSV and
plots. A point is simulated when its estimated tokens fit the tier, else estimated, and says which."""
import csv
import json
import os
import subprocess
import sys
import time

TIERS = {  # tokens of a point that is still simulated; seconds for a search
    "fast": {"tokens": 2.0e8, "search": 25},
    "medium": {"tokens": 8.0e9, "search": 120},
    "complete": {"tokens": 1.0e11, "search": 400},
}


class Harness:
    def __init__(self, tier, tools, data, out):
        self.tier, self.tools, self.data, self.out = tier, tools, data, out
        self.limits = TIERS[tier]
        self.work = os.path.join(out, "work")
        os.makedirs(self.work, exist_ok=True)
        self.start = time.time()
        self.programs = {}

    def log(self, text):
        print(f"[{time.time() - self.start:6.1f} s] {text}", file=sys.stderr, flush=True)

    def tool(self, name):
        path = os.path.join(self.tools, "fuseflow-" + name)
        return path if os.path.exists(path) else None

    def run(self, name, *args, check=True, timeout=3600):
        command = [self.tool(name) or "fuseflow-" + name, *map(str, args)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except (OSError, subprocess.TimeoutExpired) as error:
            if check:
                raise SystemExit(f"{' '.join(command)}: {error}")
            return None
        if result.returncode != 0:
            if check:
                raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
            self.log(f"{name}: {result.stderr.strip().splitlines()[0] if result.stderr else 'failed'}")
            return None
        return result.stdout

    def path(self, name):
        return os.path.join(self.work, name + ".ff")

    def save(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def graph(self, name):
        """A data set: real files where they are, a generated graph of the same size elsewhere."""
        from published import DATASETS
        n, f, c, edges = DATASETS[name]
        adj = os.path.join(self.data, "graphs", name + ".adj.mtx") if self.data else ""
        x = os.path.join(self.data, "graphs", name + ".x.mtx") if self.data else ""
        real = os.path.exists(adj)
        dense = f <= 128
        graph = {"nodes": n, "features": f, "classes": c, "real": real}
        graph["adj"] = f'file("{adj}")' if real else f"power_law(edges={edges},seed=7)"
        if dense:
            graph["x"], graph["x_levels"] = "dense(seed=8)", "dense,dense"
        elif os.path.exists(x):
            graph["x"] = f'file("{x}")'
        else:
            graph["x"] = "uniform(density=0.0127,seed=8)"
        return graph

    def fused(self, source, name, groups=None, strategy=None, recompute="always", machine="ideal"):
        """The program with regions by hand (lists of kernels) or by strategy; None if refused."""
        args = [self.path(source), "-o", self.path(name), "--machine", machine]
        if strategy:
            args += ["--strategy", strategy]
        for i, group in enumerate(groups or []):
            args += ["--region", f"part{i}: {', '.join('@' + k for k in group)}"]
        args += ["--recompute", recompute]
        return None if self.run("fuse", *args, check=False) is None else name

    def estimate(self, name, machine="ideal", *more):
        out = self.run("estimate", self.path(name), "--machine", machine, *more, check=False)
        return None if out is None else rows(out)[-1]

    def estimate_numbers(self, name, machine="ideal"):
        total = self.estimate(name, machine)
        return None if total is None else numbers(total)

    def measure(self, name, machine="ideal", check=True):
        """The total's counts as numbers, and `source`: simulated (and checked) or estimated."""
        total = self.estimate(name, machine)
        if total is None:
            return None
        result = numbers(total)
        result["source"] = "estimated"
        if result["tokens"] <= self.limits["tokens"]:
            args = [self.path(name), "--machine", machine]
            small = result["tokens"] < 5e7
            out = self.run("sim", *args, *(["--check"] if check and small else []), check=False)
            if out is None:
                return result
            simulated = numbers(rows(out)[-1])
            if result["bound_cycles"] > simulated["cycles"]:
                raise SystemExit(f"{name}: the bound {result['bound_cycles']} is above the "
                                 f"simulated {simulated['cycles']} cycles")
            simulated["source"] = "simulated, checked" if check and small else "simulated"
            simulated["estimate"] = result
            return simulated
        return result

    def explore(self, source, name, machine="ideal", *more):
        out = self.run("explore", self.path(source), "--machine", machine, "--best",
                       self.path(name), "-o", self.path(name) + ".csv", "--budget-seconds",
                       self.limits["search"], *more, check=False,
                       timeout=20 * self.limits["search"])
        return name if out is not None and os.path.exists(self.path(name)) else None

    def table(self, name, columns, lines):
        with open(os.path.join(self.out, name + ".csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for line in lines:
                writer.writerow(["" if v is None else shown(v) for v in line])
        self.log(f"{name}.csv: {len(lines)} rows")

    def plot(self, name, title, ylabel, labels, series, logscale=False, lines=False):
        """Bars (or lines) of `series` {name: values} over `labels`, by gnuplot."""
        data = os.path.join(self.work, name + ".dat")
        with open(data, "w") as file:
            for i, label in enumerate(labels):
                values = ["?" if s[i] is None else repr(float(s[i])) for s in series.values()]
                file.write(json.dumps(str(label)) + " " + " ".join(values) + "\n")
        style = ("set style data linespoints" if lines else
                 "set style data histograms; set style histogram clustered gap 1; "
                 "set style fill solid 0.8 border -1")
        parts = [f"'{data}' using {i + 2}:xtic(1) title {json.dumps(s)}"
                 for i, s in enumerate(series)]
        script = (f"set terminal svg size 900,420 noenhanced\nset output '{self.out}/{name}.svg'\n"
                  f"set datafile missing '?'\nset title {json.dumps(title)}\n"
                  f"set ylabel {json.dumps(ylabel)}\n{style}\nset key outside\nset grid ytics\n"
                  "set xtics rotate by -35\n" + ("set logscale y\n" if logscale else
                                                "set yrange [0:*]\n") +
                  "plot " + ", ".join(parts) + "\n")
        try:
            subprocess.run(["gnuplot"], input=script, text=True, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.log(f"{name}.svg: no plot ({getattr(error, 'stderr', '') or error})")


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def numbers(row):
    result = {}
    for key, value in row.items():
        try:
            result[key] = float(value)
        except (TypeError, ValueError):
            result[key] = value
    return result


def shown(value):
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) and abs(value) >= 100 else f"{value:.4g}"
    return value


def bytes_of(m):
    return m["dram_read_bytes"] + m["dram_write_bytes"]
