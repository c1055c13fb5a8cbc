"""Figure 12: speedups of partial and full fusion over unfused, on the paper's data and on real data.

Beside each speedup stands what tests the reason for it: `overlap`, the speedup if the kernels of a
region ran side by side at no cost and none did less work than alone (the cycles of all kernels over
those of the longest one of each region), and `flops`, the FLOPs over those of the unfused model.

What is chosen may store tensors otherwise than the program says, which gains without any fusion. So
`formats` is the unfused program with the formats that `fuseflow-store --auto` chooses, and
`over_formats` what the chosen program gains over that: by what is fused."""
import programs
import published
from harness import speed

MACHINE = "comal"
COLUMNS = ["model", "data", "setting", "config", "cycles", "speedup", "over_formats", "overlap", "flops",
           "source", "published_cycles", "cycles_over_published", "published_speedup", "note"]
DECODERS = {"fast": 2, "medium": 4, "complete": 12}


def figure_12(h):
    lines, labels = [], []
    series, theirs = ({"partial": [], "full": [], "chosen": []}, {"partial": [], "full": []})
    cases = graphs(h) + autoencoders(h) + transformers(h)
    for case, found in zip(cases, h.each(lambda case: case.measured(h), cases)):
        lines += case.rows(found)
        if "full" not in found:  # beside the model of several decoders
            series["chosen"][-1] = best(found, "chosen")
            continue
        labels.append(case.label())
        for config, values in series.items():
            values.append(best(found, config))
        for config, values in theirs.items():
            values.append(case.published_speedup(config))
    h.table("fig12", COLUMNS, lines)
    h.plot("fig12", "Speedup over unfused (each kernel in its best order)", labels, series,
           ("model and data", "speedup"), theirs)


def best(found, config):
    return speed(found["unfused"], found.get(config))


class Case:
    """A model on a data set. `groups`: configuration to lists of kernels, a region each, or to
    options of fuseflow-fuse. `scale`: decoders of the published model over decoders of this one."""

    def __init__(self, model, data, setting, program, groups, scale=1):
        self.model, self.data, self.setting, self.scale = model, data, setting, scale
        self.text, self.groups = program[0], groups
        self.name = f"fig12_{model}_{data}_{setting.replace(' ', '_')}"

    def label(self):
        return f"{self.model} {self.data}" + ("" if self.setting == "model" else f", {self.setting}")

    def measured(self, h):
        h.save(self.name, self.text)
        expect = {"result": "y"}
        found = {}
        for config in ["unfused", *(["formats"] if "chosen" in self.groups else []), *self.groups]:
            made = self.made(h, config)
            found[config] = made and h.measure(h.ordered(made, MACHINE), MACHINE, expect)
        return found

    def made(self, h, config):
        """The name of a configuration's program; None if it is refused."""
        if config == "unfused":
            return self.name
        name = f"{self.name}_{config.replace(' ', '_').replace(',', '')}"
        if config == "formats":
            return h.stored(self.name, name, MACHINE)
        return h.fused(self.name, name, **self.groups[config])

    def published_cycles(self, config):
        known = published.FIGURE_12.get((self.model, self.data))
        at = {"unfused": 0, "partial": 1, "partial, in turn": 1, "full": 2}.get(config)
        return known[at] if known and at is not None and self.setting != "real data" else None

    def published_speedup(self, config):
        known = published.FIGURE_12.get((self.model, self.data))
        at = {"partial": 1, "full": 2}.get(config)
        if at is None or self.setting == "real data":
            return None
        if known:
            return known[0] / known[at]
        known = published.FIGURE_12_SPEEDUPS.get((self.model, self.data))
        return known[at - 1] if known else None

    def overlap(self, config, unfused):
        """See the top; None where a configuration is not groups of whole kernels."""
        how = self.groups.get(config, {})
        if not unfused or "groups" not in how:
            return None
        cycles = dict(unfused["regions"])
        longest = [max(cycles.pop(kernel) for kernel in group) for group in how["groups"] if group]
        return unfused["cycles"] / (sum(longest) + sum(cycles.values()))

    def rows(self, found):
        unfused = found["unfused"]
        for config, m in found.items():
            if m is None:
                yield [self.model, self.data, self.setting, config] + [None] * 9 + ["refused"]
                continue
            ours, theirs = speed(unfused, m), self.published_speedup(config)
            cycles = self.published_cycles(config)
            over = cycles and m["cycles"] * self.scale / cycles
            bound = self.overlap(config, unfused)
            flops = m["flops"] / unfused["flops"] if unfused else None
            fused = speed(found.get("formats"), m) if config == "chosen" else None
            yield [self.model, self.data, self.setting, config, m["cycles"], ours, fused, bound, flops,
                   m["source"], cycles, over, theirs, self.note(config, ours, fused, bound, flops, over)]

    def note(self, config, ours, fused, bound, flops, over):
        """What the numbers of the row show, and no more."""
        said = []
        if fused and ours:
            said.append(f"{ours / fused:.2f} by formats alone (`formats`), {fused:.2f} by what is fused")
        if over and config == "partial" and "partial, in turn" in self.groups:
            said.append(f"{over:.2f} of the published cycles; see `partial, in turn`")
        elif over:
            said.append("the published cycles within 5%" if 0.95 <= over <= 1.05 else
                        f"{over:.2f} of the published cycles, not explained")
        if config != "unfused" and ours < 1 and flops > 1.5:
            said.append(f"slower: fusing computes {flops:.1f} times the FLOPs")
        if bound and config != "unfused":
            said.append(f"{bound:.2f} if kernels only ran side by side" +
                        (": more is gained, so some kernel takes fewer cycles itself" if ours > 1.02 * bound else ""))
        return "; ".join(said)


def graphs(h):
    names = {"fast": ["cora", "cora_ml"], "medium": ["cora", "cora_ml", "dblp"],
             "complete": ["cora", "cora_ml", "dblp", "collab", "mag"]}[h.tier]
    cases = []
    for data in names:
        settings = [("paper's data", programs.as_published(h.graph(data)))]
        if h.tier != "fast" or data == "cora":
            settings.append(("real data", h.graph(data)))
        for setting, graph in settings:
            for model, build in (("gcn", programs.gcn), ("sage", programs.sage)):
                program = build(graph)
                cases.append(Case(model, data, setting, program, {
                    "partial": {"groups": program[1]},
                    "full": {"strategy": "full"},
                    "chosen": {"strategy": "auto", "machine": MACHINE, "recompute": None}}))
    return cases


def autoencoders(h):
    """The paper's text has a batch of 5, its kernels have 32."""
    sizes = {"imagenet": (50176, 256)}
    if h.tier == "complete":
        sizes.update({"luna16": (262144, 512), "nih_cxr": (1048576, 512)})
    cases = []
    for data, (d, hidden) in sizes.items():
        for batch in (32, 5):
            program = programs.autoencoder(batch, d, hidden)
            cases.append(Case("sae", data, f"batch {batch}", program, {
                "partial": {"groups": program[1]}, "full": {"strategy": "full"},
                "chosen": {"strategy": "auto", "machine": MACHINE, "recompute": None}}))
    return cases


def transformers(h):
    """Partial: three regions a decoder. Full: the third one of a decoder with the first one of the
    next. In turn: as partial, but each projection by itself, which the published cycles tell: their
    partial and full differ by those of three products in turn, eleven times. Masked: the unfused
    model, but scores are computed where the mask is only; what fusing gains beyond that."""
    cases, whole = [], h.tier != "fast"
    for block in (16, 32, 64) if whole else (16, 32):
        count = DECODERS[h.tier]
        text, parts = programs.decoders(count, block=block)
        first, middle, last = parts[0::3], parts[1::3], parts[2::3]
        shifted = [first[0]]
        for i in range(count):
            shifted += [middle[i], last[i] + (first[i + 1] if i + 1 < count else [])]
        turn = [g for f, m, l in zip(first, middle, last) for g in (f[:3], f[3:5], f[5:7], m, l)]
        ways = {"partial": parts, "full": shifted}
        if whole or block == 16:
            ways.update({"masked": [m[:3] for m in middle], "partial, in turn": turn})
        cases.append(Case("gpt3", f"b{block}", "model", (text, parts), {
            config: {"groups": groups, "recompute": "bounded"} for config, groups in ways.items()},
            scale=12 / count))
        if not whole and block != 16:
            continue
        # What is chosen, for one decoder: the search over sets of placements takes a minute for two.
        text, parts = programs.decoder(block=block)
        cases.append(Case("gpt3", f"b{block}", "a decoder", (text, parts), {
            "chosen": {"strategy": "auto", "machine": MACHINE, "recompute": None}}, scale=12))
    return cases
