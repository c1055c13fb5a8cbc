"""Dense chains over linked scratchpads (ir-spec/cluster.md): the 26 workloads, the ablation, the pruning
table of GPT-6.7B, against FlashFuser's published numbers."""
import math
import os

from harness import rows

MACHINE = "h100"
SETS = {"GEMM chains": "G", "gated FFN": "S", "convolution chains": "C"}
PUBLISHED_RULES = {"none": 2.75e13, "1": 1.14e8, "2": 2.47e7, "3": 1.44e7, "4": 9.62e6, "5": 1.15e6}
PUBLISHED_GLOBAL = 2.4  # unfused / fused bytes of global memory, on average
PUBLISHED_SPEEDUP = {"analyzer": 1.52, "communication": 2.11, "search": 3.29}


def mean(values):
    """Geometric."""
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def ratio(of, to):
    return float(of) / float(to) if of and to and float(to) > 0 else None


def remark(row, least):
    """Why the bytes saved are what they are."""
    if row["chosen"] in ("folded", "separate"):
        return "no plan is faster than the kernels apart: left as it is"
    if least < 1.2:
        return f"at most {least:.2f} is possible: compulsory bytes, unfused over fused"
    return ""


def workloads(h):
    """One row a workload: bytes of global memory, cycles, feasibility, checks; then the means."""
    measured = rows(h.run("cluster", "--machine", MACHINE, "--evaluate",
                          "--effort", h.limits["effort"]))
    columns = ["workload", "m", "n", "k", "l", "unfused_mb", "fixed_tiles_mb", "fused_mb",
               "bytes_ratio", "fixed_bytes_ratio", "least_ratio", "unfused_cycles", "fixed_cycles",
               "folded_cycles", "scratchpad_only_cycles", "one_core_cycles", "links_cycles", "fused_cycles",
               "speedup", "fixed_speedup", "links_gain", "chosen_speedup",
               "scratchpad_only_fits", "chosen", "simulation", "scale", "checked", "note"]
    lines, kept = [], {}
    for row in measured:
        least = ratio(row["unfused_least_bytes"], row["fused_least_bytes"])
        values = {"bytes_ratio": ratio(row["unfused_global_bytes"], row["fused_global_bytes"]),
                  "fixed_bytes_ratio": ratio(row["fixed_global_bytes"], row["fused_global_bytes"]),
                  "least_ratio": least,
                  "speedup": ratio(row["unfused_cycles"], row["fused_cycles"]),
                  "fixed_speedup": ratio(row["fixed_cycles"], row["fused_cycles"]),
                  "links_gain": ratio(row["one_core_cycles"], row["linked_cycles"]),
                  "chosen_speedup": float(row["chosen_speedup"])}
        for key, value in values.items():
            kept.setdefault(key, []).append(value)
        mb = {k: float(row[k]) / 1e6 for k in ("unfused_global_bytes", "fixed_global_bytes",
                                               "fused_global_bytes")}
        lines.append([row["workload"], row["m"], row["n"], row["k"], row["l"],
                      mb["unfused_global_bytes"], mb["fixed_global_bytes"], mb["fused_global_bytes"],
                      values["bytes_ratio"], values["fixed_bytes_ratio"], least,
                      row["unfused_cycles"], row["fixed_cycles"], row["folded_cycles"],
                      row["scratchpad_only_cycles"], row["one_core_cycles"], row["linked_cycles"],
                      row["fused_cycles"], values["speedup"], values["fixed_speedup"],
                      values["links_gain"], values["chosen_speedup"], row["scratchpad_only"], row["chosen"],
                      row["simulation"], row["scale"], row["checked"], remark(row, least)])
    means = {key: mean(values) for key, values in kept.items()}
    lines.append(["mean", *[""] * 7, means["bytes_ratio"], means["fixed_bytes_ratio"],
                  means["least_ratio"], *[""] * 7, means["speedup"], means["fixed_speedup"],
                  means["links_gain"], means["chosen_speedup"], *[""] * 5, f"published: {PUBLISHED_GLOBAL} in bytes, "
                  f"{PUBLISHED_SPEEDUP['search']} in time over library kernels"])
    h.table("chains", columns, lines)
    sets(h, measured)
    names = [row["workload"] for row in measured]
    h.plot("chains", f"Bytes of global memory, unfused / fused (published mean: {PUBLISHED_GLOBAL})", names,
           {"tuned kernels": kept["bytes_ratio"], "kernels of fixed tiles": kept["fixed_bytes_ratio"],
            "least": kept["least_ratio"]}, ("workload", "ratio"))
    ablation(h, measured)


def sets(h, measured):
    """Means over the published sets, and over all."""
    columns = {"bytes_ratio": ("unfused_global_bytes", "fused_global_bytes"),
               "speedup": ("unfused_cycles", "fused_cycles"), "fixed_speedup": ("fixed_cycles", "fused_cycles"),
               "links_gain": ("one_core_cycles", "linked_cycles")}
    lines = []
    for name, letter in (*SETS.items(), ("all", "")):
        chosen = [row for row in measured if row["workload"].startswith(letter)]
        means = [mean([r for row in chosen if (r := ratio(row[of], row[to]))]) for of, to in columns.values()]
        fits = sum(row["scratchpad_only"] == "yes" for row in chosen)
        published = [PUBLISHED_GLOBAL, PUBLISHED_SPEEDUP["search"]] if name == "all" else ["", ""]
        lines.append([name, len(chosen), *means, mean([float(row["chosen_speedup"]) for row in chosen]), fits,
                      *published])
    h.table("chains_sets", ["set", "chains", *columns, "chosen_speedup", "scratchpad_only_fits",
                            "published_bytes_ratio", "published_speedup"], lines)


def ablation(h, measured):
    """Speedup over unfused kernels (of fixed tiles, as published): analyzer alone (random plans of
    single cores), with communication (random linked plans), with the search."""
    columns = ["step", "speedup", "speedup_over_tuned", "published"]
    steps = (("analyzer", "analyzer_cycles"), ("communication", "random_cycles"),
             ("search", "fused_cycles"))
    lines = []
    for step, key in steps:
        fixed = [r for row in measured if (r := ratio(row["fixed_cycles"], row[key]))]
        tuned = [r for row in measured if (r := ratio(row["unfused_cycles"], row[key]))]
        lines.append([step, mean(fixed), mean(tuned), PUBLISHED_SPEEDUP[step]])
    h.table("chains_ablation", columns, lines)


def pruning(h):
    """Candidates left by each rule for the FFN of GPT-6.7B."""
    path = os.path.join(h.work, "explain.csv")
    h.run("cluster", "--machine", MACHINE, "--gemm-chain", "256,16384,4096,4096,gelu", "--explain", path)
    with open(path) as file:
        counted = rows(file.read())
    lines = [[row["rule"], int(row["candidates"]), PUBLISHED_RULES[row["rule"]],
              int(row["candidates"]) / PUBLISHED_RULES[row["rule"]]] for row in counted]
    h.table("chains_pruning", ["rule", "candidates", "published", "ratio"], lines)
