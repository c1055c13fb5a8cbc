#include "pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "estimate/pass_costs.h"
#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "passes/complete_schedule.h"
#include "passes/dependences.h"
#include "passes/join_forms.h"
#include "passes/orders.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"

namespace fuseflow::testing {

namespace {

class StepDrawer {
 public:
  StepDrawer(const Program& program, std::string machine, Random& random)
      : program_(program), machine_(std::move(machine)), random_(random) {}

  Step run() {
    constexpr std::array kTools = {"rewrite", "fuse",  "fuse", "order",       "order", "place",
                                   "place",   "store", "join", "parallelize", "block", "lower"};
    Step step;
    step.tool = kTools[random_.below(kTools.size())];
    if (step.tool == "rewrite") return rewrite(std::move(step));
    if (step.tool == "fuse") return fuse(std::move(step));
    if (step.tool == "block") return block(std::move(step));
    if (step.tool == "lower") return settled(std::move(step), {});
    if (step.tool != "parallelize" && chance(0.35)) return chooses(std::move(step));
    if (step.tool == "order") return order(std::move(step));
    if (step.tool == "place") return place(std::move(step));
    if (step.tool == "store") return store(std::move(step));
    if (step.tool == "join") return join(std::move(step));
    return parallelize(std::move(step));
  }

 private:
  using Options = std::vector<std::pair<std::string, std::string>>;

  bool chance(double p) { return random_.uniform() < p; }
  size_t below(size_t bound) { return static_cast<size_t>(random_.below(bound)); }

  static Step settled(Step step, Options options) {
    step.options = std::move(options);
    step.is_settled = true;
    return step;
  }

  Step chooses(Step step) {
    step.options = {{"auto", "true"}, {"machine", machine_}};
    return step;
  }

  Step rewrite(Step step) {
    step.rewrites = true;
    step.options = {{"machine", machine_}};
    step.reorders_sums = chance(0.5);
    if (step.reorders_sums) step.options.emplace_back("allow-reassociation", "true");
    if (chance(0.5)) step.options.emplace_back("apart", "true");
    return step;
  }

  Step fuse(Step step) {
    constexpr std::array kStrategies = {"none", "layer", "full", "auto", "auto"};
    if (chance(0.2)) return fuse_by_hand(std::move(step));
    const std::string strategy = kStrategies[below(kStrategies.size())];
    step.options = {{"strategy", strategy}, {"machine", machine_}};
    step.is_settled = strategy == "none" || strategy == "full";
    if (strategy != "none" && strategy != "auto" && chance(0.2))
      step.options.emplace_back("recompute", "always");
    return step;
  }

  /// A region of neighbouring statements.
  Step fuse_by_hand(Step step) {
    std::vector<std::string> values;
    for (const Region& region : program_.regions) {
      for (const Statement& s : region.statements) values.push_back(name(s.result));
    }
    const size_t first = below(values.size());
    const size_t last = first + below(values.size() - first);
    const std::vector<std::string> some(values.begin() + static_cast<std::ptrdiff_t>(first),
                                        values.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    step.options = {{"region", fmt::format("mine: %{}", fmt::join(some, ", %"))}};
    return step;  // not settled: copies that it made are none of these values
  }

  Step block(Step step) {
    return settled(std::move(step), {{"block-all", std::to_string(2 + below(2))}});
  }

  const std::string& name(TensorId tensor) const {
    return program_.tensors[static_cast<size_t>(tensor)].name;
  }

  size_t any_region() {
    std::vector<size_t> all;
    for (size_t r = 0; r < program_.regions.size(); ++r) {
      const Region& region = program_.regions[r];
      if (!region.statements.empty() && !makes_copy(program_, region)) all.push_back(r);
    }
    return all[below(all.size())];
  }

  Program completed(size_t region) const {
    Program program = program_;
    PassLog unused;
    complete_schedule(program, region, unused);
    return program;
  }

  /// One of the orders that `--list` or `--list --free` prints first.
  Step order(Step step) {
    constexpr size_t kMost = 40;
    const size_t r = any_region();
    const Constraints constraints = chance(0.5) ? Constraints::free : Constraints::scheduled;
    std::vector<std::string> listed;
    PassLog unused;
    list_orders(program_, r, constraints, unused, [&](const std::string& line) {
      listed.push_back(line);
      return listed.size() < kMost;
    });
    if (listed.empty()) return settled({.tool = "lower", .options = {}}, {});
    return settled(std::move(step), {{"order", listed[below(listed.size())]}});
  }

  Step place(Step step) {
    const Dependences d = dependences(program_);
    const Dependences::Node& node = d.nodes[below(d.nodes.size())];
    std::vector<TensorId> tensors = uses(*node.statement);
    tensors.push_back(node.statement->result);
    const TensorId tensor = tensors[below(tensors.size())];
    const bool here = tensor == node.statement->result;
    const std::string in = here || chance(0.5) ? "" : "@" + name(node.statement->result);
    constexpr std::array kOf = {"scratchpad", "memory", "stream", "recompute"};
    const bool given = program_.tensors[static_cast<size_t>(tensor)].given();
    const std::string where = kOf[below(given ? 2 : kOf.size())];
    return settled(std::move(step),
                   {{"place", name(tensor) + in + "=" + where}, {"machine", machine_}});
  }

  Step store(Step step) {
    Program plain = without_copy_regions(program_);
    for (Region& region : plain.regions) region.graph.reset();
    std::vector<TensorId> tensors = stored_tensors_read(plain);
    const std::vector<TensorId> passed = passed_intermediates(plain);
    tensors.insert(tensors.end(), passed.begin(), passed.end());
    if (tensors.empty()) return chooses(std::move(step));
    const TensorId tensor = tensors[below(tensors.size())];
    const std::vector<Format> forms = forms_of(plain, tensor);
    if (forms.empty()) return chooses(std::move(step));
    std::string what = name(tensor);
    if (plain.tensors[static_cast<size_t>(tensor)].given() && chance(0.5)) {
      const std::vector<StoredUse> used = uses_of(plain, tensor);
      what += "@" + plain.regions[used[below(used.size())].region].name;
    }
    return settled(std::move(step),
                   {{"store", what + "=" + to_string(forms[below(forms.size())])}});
  }

  Step join(Step step) {
    const size_t r = any_region();
    const Program program = completed(r);
    const std::vector<JoinPlace> places = lower_region_traced(program, r).join_places;
    const std::vector<std::string> indices = joined_indices(places);
    if (indices.empty()) return chooses(std::move(step));
    const std::string& index = indices[below(indices.size())];
    const std::vector<Join> forms =
        other_forms(places, join_of(program.regions[r].schedule, index));
    if (forms.empty()) return chooses(std::move(step));
    const Join& form = forms[below(forms.size())];
    std::vector<std::string> located;
    for (const TensorId t : form.located) {
      located.push_back(program.tensors[static_cast<size_t>(t)].name);
    }
    return settled(std::move(step),
                   {{"join", fmt::format("{}:{}={}{}{}", program.regions[r].name, index,
                                         join_form_name(form.form), located.empty() ? "" : ":",
                                         fmt::join(located, ","))}});
  }

  Step parallelize(Step step) {
    const size_t r = any_region();
    const Program program = completed(r);
    const RegionIndices indices = region_indices(program, r);
    if (indices.indices.empty()) return settled({.tool = "lower", .options = {}}, {});
    const std::string& index = indices.indices[below(indices.indices.size())].name;
    Options options = {{"index", program.regions[r].name + ":" + index},
                       {"factor", std::to_string(1 + below(3))}};
    if (chance(0.3)) options.emplace_back("contiguous", "true");
    return settled(std::move(step), std::move(options));
  }

  const Program& program_;
  const std::string machine_;
  Random& random_;
};

}  // namespace

std::string command_of(const Step& step) {
  std::string text = "fuseflow-" + step.tool;
  for (const auto& [option, value] : step.options) {
    text +=
        value == "true" ? fmt::format(" --{}", option) : fmt::format(" --{} '{}'", option, value);
  }
  return text;
}

Step draw_step(const Program& program, const std::string& machine, Random& random) {
  return StepDrawer(program, machine, random).run();
}

std::string run_step(const Step& step, const std::string& text, bool& assumed) {
  Program program = parse_program(SourceText{"<stdin>", text});
  const DataRead read = find_data_facts(program);  // held, so that costs are not read again
  if (step.tool == "lower") {
    program = lower_program(std::move(program));
  } else {
    PassArguments arguments;
    arguments.costs = estimated_costs();
    for (const auto& [option, value] : step.options) arguments.add(option, value);
    const Pass& pass = find_pass(step.tool);
    pass.check(arguments);
    PassLog log;
    program = run_pass(pass, program, arguments, log);
    for (const std::string& line : log.lines()) assumed = assumed || line.starts_with("assumed:");
  }
  verify(program);
  return print_program(program);
}

bool is_documented(const Step& step, const std::string& message) {
  struct Refusal {
    std::string_view tool, text;
  };
  constexpr std::array kRefusals = {
      // regroup.h: a region is without holes, and regions are in an order
      Refusal{"fuse", "would have a hole"},
      Refusal{"fuse", "would need each other's results in a cycle"},
      // lowering.md, "Placements": a use streams only where an order lets it
      Refusal{"place", "cannot have the placement"},
      // parallel.md, "What is copied"
      Refusal{"parallelize", "nothing can be copied"},
      Refusal{"parallelize", "a loop without coordinates cannot be split by ranges"},
      Refusal{"parallelize", "no loop of the region's graph has this index"},
      // blocks.md
      Refusal{"block", "cannot be blocked"},
  };
  return std::any_of(kRefusals.begin(), kRefusals.end(), [&](const Refusal& refusal) {
    return step.tool == refusal.tool && message.find(refusal.text) != std::string::npos;
  });
}

}  // namespace fuseflow::testing
