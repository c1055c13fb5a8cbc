#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/copies.h"
#include "passes/kept_graphs.h"
#include "passes/pass_list.h"
#include "passes/possible_schedule.h"
#include "support/defect.h"

namespace fuseflow {

std::string PassArguments::get(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

const std::vector<std::string>& PassArguments::all(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? kNone : found->second;
}

namespace {

/// Options of passes that ask for a change of what they name.
constexpr std::array<std::string_view, 8> kRequests = {"region", "order", "place", "block",
                                                       "index",  "apply", "join",  "store"};

std::vector<Pass> all_passes() {
  std::vector<Pass> all = {rewrite_pass(), fuse_pass(), order_pass(), place_pass(),
                           store_pass(),   join_pass(), block_pass(), parallelize_pass()};
  for (Pass& pass : all) {
    pass.options.push_back({"drop-graphs", "",
                            "Remove the graphs of changed regions, even those that were written "
                            "by hand or planned"});
  }
  return all;
}

}  // namespace

const std::vector<Pass>& passes() {
  static const std::vector<Pass> kPasses = all_passes();
  return kPasses;
}

Program run_pass(const Pass& pass, const Program& program, const PassArguments& arguments,
                 PassLog& log) {
  const bool requested = std::any_of(kRequests.begin(), kRequests.end(),
                                     [&](std::string_view name) { return arguments.has(name); });
  // A pass that compares with what it was given has to be given what is left. Regions that make
  // copies are no kernels.
  const Program kernels = without_copy_regions(program);
  const Program given = arguments.has("drop-graphs") ? without_graphs_given(kernels, log) : kernels;
  Program made = pass.run(given, arguments, log);
  if (requested && arguments.has("auto")) {
    log.note(
        "what was asked for by name is set after --auto has chosen, whose estimates are "
        "without it");
  }
  leave_out_impossible(given, made, log);
  return with_kept_graphs(given, std::move(made), {pass.name, requested}, log);
}

const Pass& find_pass(std::string_view name) {
  for (const Pass& pass : passes()) {
    if (pass.name == name) return pass;
  }
  throw Defect(fmt::format("there is no pass '{}'", name));
}

}  // namespace fuseflow
