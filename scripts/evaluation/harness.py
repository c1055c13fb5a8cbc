"""Runs the tools for one tier, keeps programs and results under the output directory, writes CSV and
plots. A point is simulated when its estimated tokens fit the tier, else estimated, and says which.
Every simulated result is checked: the first of a model against the reference evaluation, where that
is affordable, and the others against the result of the first."""
import concurrent.futures
import contextlib
import csv
import json
import os
import subprocess
import sys
import threading
import time

# Tokens of a point that is still simulated, and of one that the reference evaluates too; seconds for
# a search; simulated tile operations of the search of a chain. A core simulates about 1e9 tokens a second where streams are dense, 3e8 where sparse.
TIERS = {
    "fast": {"tokens": 2.0e8, "reference": 1.0e8, "search": 5, "effort": 1 << 18},
    "medium": {"tokens": 8.0e9, "reference": 1.0e9, "search": 40, "effort": 1 << 24},
    "complete": {"tokens": 8.0e10, "reference": 8.0e9, "search": 60, "effort": 1 << 24},
}


LARGE = 2.0e10  # tokens of programs that run alone: their tensors take gigabytes


class Harness:
    def __init__(self, tier, tools, data, out, jobs=0):
        self.jobs = jobs or os.cpu_count() or 1
        self.tier, self.tools, self.out = tier, tools, out
        # Programs are saved to a folder of their own, from which relative paths would hold.
        self.data = os.path.abspath(data) if data else data
        self.limits = TIERS[tier]
        self.work = os.path.join(out, "work")
        os.makedirs(self.work, exist_ok=True)
        self.start = time.time()
        self.alone = threading.Lock()

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

    def each(self, function, items):
        """The results of function(item), in order, several at a time."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))

    def path(self, name):
        return os.path.join(self.work, name + ".ff")

    def save(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def graph(self, name):
        """A data set: real files where they are, a generated graph of the same size elsewhere."""
        from published import DATASETS, GENERATED_ALPHA
        n, f, c, edges = DATASETS[name]
        adj = os.path.join(self.data, "graphs", name + ".adj.mtx") if self.data else ""
        x = os.path.join(self.data, "graphs", name + ".x.mtx") if self.data else ""
        real = os.path.exists(adj)
        dense = f <= 128
        graph = {"nodes": n, "features": f, "classes": c, "real": real}
        values = f"values=uniform(0,{2 * n / edges:.6f})"  # rows add up to about 1
        alpha = GENERATED_ALPHA.get(name, 2.5)
        graph["adj"] = (f'file("{adj}")' if real else
                        f"power_law(edges={edges},alpha={alpha},{values},seed=7)")
        if dense:
            graph["x"], graph["x_levels"] = "dense(values=uniform(0,1),seed=8)", "dense,dense"
        elif os.path.exists(x):
            graph["x"] = f'file("{x}")'
        else:
            graph["x"] = "uniform(density=0.0127,values=uniform(0,1),seed=8)"
        return graph

    def fused(self, source, name, groups=None, strategy=None, recompute="always", machine="ideal"):
        """The program with regions by hand (lists of kernels) or by strategy; None if refused."""
        args = [self.path(source), "-o", self.path(name), "--machine", machine]
        if strategy:
            args += ["--strategy", strategy]
        for i, group in enumerate(groups or []):
            args += ["--region", f"part{i}: {', '.join('@' + k for k in group)}"]
        if recompute:
            args += ["--recompute", recompute]
        return None if self.run("fuse", *args, check=False) is None else name

    def stored(self, source, name, machine="ideal"):
        """The program with every tensor in the format that is chosen for it; None if refused."""
        out = self.run("store", self.path(source), "--auto", "--machine", machine, "-o", self.path(name),
                       check=False)
        return None if out is None else name

    def machine(self, base, name, *settings):
        """A machine as a file: `base` with these settings."""
        path = os.path.join(self.work, name + ".toml")
        more = [word for setting in settings for word in ("--machine-set", setting)]
        with open(path, "w") as file:
            file.write(self.run("sim", "--machine", base, *more, "--print-machine"))
        return path

    def estimate(self, name, machine="ideal", *more):
        out = self.run("estimate", self.path(name), "--machine", machine, *more, check=False)
        return None if out is None else rows(out)[-1]

    def estimate_numbers(self, name, machine="ideal"):
        total = self.estimate(name, machine)
        return None if total is None else numbers(total)

    def ordered(self, name, machine="ideal"):
        """The program with each region's best order by estimate: the default or that of --auto."""
        auto = name + "_auto"
        if self.run("order", self.path(name), "--auto", "-o", self.path(auto), check=False) is None:
            return name
        costs = [self.estimate(n, machine, "--statistics") for n in (name, auto)]
        known = [c is not None for c in costs]
        if all(known):
            return auto if float(costs[1]["cycles"]) < float(costs[0]["cycles"]) else name
        return auto if known[1] else name

    def measure(self, name, machine="ideal", expect=None, least=0):
        """The total's counts as numbers, `regions`: the cycles of each, and `source`: simulated (and
        checked), or estimated. `expect`: a dictionary shared by the programs of one model; the first
        keeps its result there and the others are compared with it. `least`: tokens that are
        simulated in any tier."""
        total = self.run("estimate", self.path(name), "--machine", machine, check=False)
        result = total_of(total) if total else {"source": "simulated"}
        tokens = result.get("tokens", 0)
        if total and tokens > max(least, self.limits["tokens"]):
            result["source"] = "estimated"
            return result
        with self.alone if tokens > LARGE else contextlib.nullcontext():
            return self.simulated(name, machine, expect, total and result, tokens)

    def simulated(self, name, machine, expect, result, tokens):
        args = [self.path(name), "--machine", machine]
        kept = os.path.join(self.work, name + ".y.npy")
        keep = ["--dump", f"{expect['result']}={kept}"] if expect and "y" not in expect else []
        out, checked = None, ", checked"
        if expect and "y" in expect:
            out = self.simulate(args + ["--expect", f"{expect['result']}={expect['y']}"])
        elif tokens <= self.limits["reference"]:
            out = self.simulate(args + keep + ["--check"])
        if out is None and not (expect and "y" in expect):  # too large for the reference
            out, checked = self.simulate(args + keep), ", what the others are checked against"
        if out is None:
            return None
        simulated = total_of(out)
        if expect and "y" not in expect:
            expect["y"] = kept
        if result and result["bound_cycles"] > simulated["cycles"]:
            raise SystemExit(f"{name}: the bound {result['bound_cycles']} is above the "
                             f"simulated {simulated['cycles']} cycles")
        simulated["source"] = "simulated" + checked
        simulated["estimate"] = result
        return simulated

    def simulate(self, args):
        """The CSV; None if the program is refused. A wrong result ends the evaluation."""
        command = [self.tool("sim"), *args]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 4:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        if done.returncode != 0:
            self.log(done.stderr.strip().splitlines()[0])
        return done.stdout if done.returncode == 0 else None

    def explore(self, source, name, machine="ideal", *more):
        """Searches; the totals of its CSV by name, and the best program under `name`. {} if it found
        none in time."""
        table = self.path(name) + ".csv"
        self.run("explore", self.path(source), "--machine", machine, "--best", self.path(name), "-o",
                 table, "--budget-seconds", self.limits["search"], *more, check=False,
                 timeout=20 * self.limits["search"])
        if not os.path.exists(table):
            return {}
        with open(table) as file:
            found = list(csv.DictReader(file))
        totals = {r["point"]: float(r["cycles"]) for r in found if r["status"] == "total"}
        counts = {}
        for r in found:
            counts[r["status"]] = counts.get(r["status"], 0) + 1
        totals["tried"] = "; ".join(f"{n} {status}" for status, n in sorted(counts.items())
                                    if status != "total")
        return totals

    def table(self, name, columns, lines):
        with open(os.path.join(self.out, name + ".csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for line in lines:
                writer.writerow(["" if v is None else shown(v) for v in line])
        self.log(f"{name}.csv: {len(lines)} rows")

    def plot(self, name, title, labels, series, axes, published=None, logscale=False, lines=False):
        """`series` {name: values} over `labels`, by gnuplot: bars that start at 0, or points where a
        logarithmic scale has no 0, or lines. `published` {name: values}: crosses of the same places.
        `axes`: what the labels are and what is measured. Where a value is missing there is a word."""
        published = {} if published is None else published
        data = os.path.join(self.work, name + ".dat")
        with open(data, "w") as file:
            for i, label in enumerate(labels):
                values = [json.dumps(str(label))] + [
                    "?" if s[i] is None else repr(float(s[i]))
                    for s in [*series.values(), *published.values()]]
                file.write(" ".join([str(i), *values]) + "\n")
        width = 0.8 / max(1, len(series))
        places = {s: 0 if lines else (i - (len(series) - 1) / 2) * width for i, s in enumerate(series)}
        missing = [f"set label 'none' at {i + places[s]},graph 0.02 rotate by 90 font ',9'"
                   for s, values in series.items() for i, v in enumerate(values) if v is None]
        style = "linespoints" if lines else "points pt 7" if logscale else "boxes fill solid 0.8"
        parts = [f"'{data}' using ($1+{places[s]:.3f}):{i + 3} with {style} lc {i + 1} "
                 f"title {json.dumps(s)}" for i, s in enumerate(series)]
        for i, s in enumerate(published):
            ours = list(series).index(s) if s in series else i
            place = places.get(s, 0)
            parts.append(f"'{data}' using ($1+{place:.3f}):{i + 3 + len(series)} with points pt 2 ps 1.2 "
                         f"lw 2 lc {'black' if not lines else ours + 1} "
                         f"title {json.dumps('published: ' + s)}".replace("lc black", "lc 'black'"))
        ticks = ", ".join(f"{json.dumps(str(label))} {i}" for i, label in enumerate(labels))
        script = (f"set terminal svg size {max(640, 160 + 44 * len(labels))},480 noenhanced font 'sans,12'\nset output '{self.out}/{name}.svg'\n"
                  f"set datafile missing '?'\nset title {json.dumps(title)}\n"
                  f"set xlabel {json.dumps(axes[0])}\nset ylabel {json.dumps(axes[1])}\n"
                  f"set boxwidth {width:.3f}\nset key outside top center horizontal\nset grid ytics\nset lmargin 14\n"
                  f"set xrange [-0.6:{len(labels) - 0.4}]\nset xtics nomirror rotate by 35 right ({ticks})\n" +
                  ("set logscale y\n" if logscale else "set yrange [0:*]\n") +
                  "\n".join(missing) + "\nplot " + ", ".join(parts) + "\n")
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


def total_of(text):
    """The last row of a CSV of regions as numbers, with the cycles of the regions above it."""
    found = rows(text)
    return {**numbers(found[-1]), "regions": {r["region"]: float(r["cycles"]) for r in found[:-1]}}


def shown(value):
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) and abs(value) >= 100 else f"{value:.4g}"
    return value


def speed(base, other):
    """How many times fewer cycles `other` takes; None where one of them is missing."""
    return None if not base or not other else base["cycles"] / other["cycles"]


def bytes_of(m):
    return m["dram_read_bytes"] + m["dram_write_bytes"]
