"""What the published evaluation of dense chains lacks: how the gain of fusing changes with the number of
rows, the L2, the cost of a launch and the links, and where it stops; and what simulating only the first
plans by cost loses. One file of `chains.py`'s subject: that one has the published comparison."""
import math
import resource

from harness import rows

MACHINE = "h100"
FAST = ["G3", "S8", "C4"]
MORE = ["G3", "G4", "G10", "S1", "S3", "S8", "C1", "C4", "C5"]
LINK_SIZES = {"2": 3350, "4": 3200, "8": 3050, "16": 2900}  # as in machines/h100.toml, GB/s
TOP = ["1", "3", "11", ""]  # plans by cost that are simulated; empty: all that bounds leave
PUBLISHED_TOP = "11"        # FlashFuser's K, which takes 362 to 381 s with compiling


def keys(pairs):
    return [word for key, value in pairs for word in ("--machine-set", f"{key}={value}")]


def links(scale):
    return keys((f"links.bandwidth_gigabytes_per_second.{size}", f"{rate * scale:g}")
                for size, rate in LINK_SIZES.items())


# factor: (unit, values, index of the machine's own value, options of one value)
FACTORS = {
    "rows": ("rows", [16, 64, 128, 512, 2048], 2, lambda v: ["--rows", str(v)]),
    "l2": ("MiB", [1, 8, 50, 200], 2, lambda v: keys([("l2.capacity_bytes", v << 20)])),
    "launch": ("cycles", [0, 229, 915, 3660], 2, lambda v: keys([("reconfiguration_cycles", v)])),
    "links": ("times", [0.125, 0.25, 1, 2], 2, links),
}


def values_of(factor, thorough):
    """All, or the first, the machine's own and the last."""
    unit, values, own, options = FACTORS[factor]
    return values if thorough else [values[0], values[own], values[-1]]


def evaluated(h, workload, effort, *options):
    return rows(h.run("cluster", "--machine", MACHINE, "--workload", workload, "--evaluate", "--effort", effort,
                      *options))[0]


def gain(row):
    """The faster kernels apart over the faster plan of one core or of linked cores; None: there is no plan."""
    fused = [int(row[key]) for key in ("linked_cycles", "one_core_cycles") if row[key] and int(row[key]) > 0]
    apart = [int(row[key]) for key in ("folded_cycles", "unfused_cycles") if row[key] and int(row[key]) > 0]
    return min(apart) / min(fused) if fused and apart else None


def crossing(points):
    """Where the gain is 1, interpolated between neighbouring (value, gain), by logarithms where the values have
    them; None: on one side throughout."""
    for (low, a), (high, b) in zip(points, points[1:]):
        if (a - 1) * (b - 1) > 0:
            continue
        share = 0 if a == b else (1 - a) / (b - a)
        if low > 0:
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)
    return None


def sweeps(h):
    """A row a point, then a row a line: the value at which fusing stops paying."""
    thorough = h.tier != "fast"
    names, effort = (MORE, 1 << 20) if thorough else (FAST, 1 << 16)
    wanted = [(name, factor, value) for name in names for factor in FACTORS for value in values_of(factor, thorough)]
    found = h.each(lambda w: evaluated(h, w[0], effort, *FACTORS[w[1]][3](w[2])), wanted)
    lines, curves = [], {}
    for (name, factor, value), row in zip(wanted, found):
        rate = gain(row)
        lines.append([name, factor, FACTORS[factor][0], value, rate, row["chosen"], row["links_gain"],
                      row["folded_cycles"], row["linked_cycles"], row["one_core_cycles"], "simulated", row["checked"]])
        if rate:
            curves.setdefault((name, factor), []).append((value, rate))
    h.table("chains_sweep", ["workload", "factor", "unit", "value", "gain", "chosen", "links_gain", "folded_cycles",
                             "linked_cycles", "one_core_cycles", "source", "checked"], lines)
    h.table("chains_break_even", ["workload", "factor", "unit", "least_gain", "most_gain", "break_even", "note"],
            [line_of(name, factor, points) for (name, factor), points in curves.items()])
    for factor, (unit, _, _, _) in FACTORS.items():
        shown = [f"{value:g}" for value in values_of(factor, thorough)]
        series = {name: [rate for _, rate in curves.get((name, factor), [])] for name in names}
        series = {name: rates for name, rates in series.items() if len(rates) == len(shown)}
        h.plot(f"chains_sweep_{factor}", f"Gain of fusing over the faster kernels apart, by {factor}", shown, series,
               (f"{factor}, {unit}", "gain"))


def line_of(name, factor, points):
    rates = [rate for _, rate in points]
    at = crossing(points)
    note = "" if at else "fusing pays throughout" if min(rates) > 1 else "fusing never pays"
    return [name, factor, FACTORS[factor][0], min(rates), max(rates), at, note]


def top(h):
    """The fastest linked plan of the first K by cost against that of all, and the processor
    time of a chain's evaluation (kernels apart included)."""
    names, effort = (MORE, 1 << 20) if h.tier != "fast" else (FAST, 1 << 16)
    best, lines = {}, []
    for limit in reversed(TOP):
        ratios, most, seconds = [], 1.0, 0.0
        for name in names:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            row = evaluated(h, name, effort, *(["--top", limit] if limit else []))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            cycles = int(row["linked_cycles"])
            best.setdefault(name, cycles)
            ratios.append(math.log(cycles / best[name]))
            most = max(most, cycles / best[name])
        lines.append([limit or "all", math.exp(sum(ratios) / len(ratios)), most, seconds / len(names),
                      "yes" if limit == PUBLISHED_TOP else ""])
    h.table("chains_top", ["simulated_plans", "cycles_over_best", "worst_over_best", "processor_seconds",
                           "published_choice"], lines[::-1])
