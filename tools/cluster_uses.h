// Which options of fuseflow-cluster go with what it is asked for: one that would do nothing is
// wrong usage.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>

#include "shell/command_line.h"
#include "support/error.h"

namespace fuseflow::cluster {

/// What the tool is asked for, as bits.
enum Use : unsigned {
  kProduct = 1,    ///< --product
  kEvaluate = 2,   ///< --evaluate of all workloads
  kEvaluated = 4,  ///< ... of a chain
  kText = 8,       ///< --program
  kTable = 16,     ///< --table
  kChain = 32,     ///< a chain by its name or its extents
  kFilter = 64,    ///< a program
  kApart = 128,    ///< ... with --strategy=none
};

struct OptionUse {
  const char* option;
  unsigned uses;
};

constexpr unsigned kOfChain = kEvaluated | kText | kChain;

/// Options that do not go with everything. Efforts and threads are limits, and may be given
/// anywhere.
inline constexpr OptionUse kOptionUses[] = {
    {"input", kFilter | kApart},
    {"--rows", kOfChain},
    {"--bias", kOfChain | kTable | kProduct},
    {"--residual", kOfChain | kTable},
    {"--strategy", kFilter | kApart},
    {"--dense", kFilter | kApart},
    {"--accept-slower", kFilter},
    {"--explain", kFilter | kChain},
    {"--measure", kFilter | kChain},
    {"--plan", kFilter | kApart | kChain},
    {"--plans", kFilter | kChain},
    {"--table-up-to", kTable},
    {"--table-programs", kTable},
    {"--evaluate", kEvaluate | kEvaluated},
    {"--program", kText},
    {"--table", kTable},
};

inline Use use_of(CommandLine& app, bool names_a_chain, const std::string& strategy) {
  const auto given = [&](const char* option) { return app.given(option); };
  if (given("--product")) return kProduct;
  if (given("--program")) return kText;
  if (given("--evaluate")) return names_a_chain ? kEvaluated : kEvaluate;
  if (given("--table")) return kTable;
  if (names_a_chain) return kChain;
  return strategy == "none" ? kApart : kFilter;
}

inline const char* text_of(Use use) {
  switch (use) {
    case kProduct:
      return "--product";
    case kEvaluate:
      return "--evaluate of all workloads";
    case kEvaluated:
      return "--evaluate of a chain";
    case kText:
      return "--program";
    case kTable:
      return "--table";
    case kChain:
      return "a chain (--workload, --gemm-chain, --gated-ffn, --conv-chain)";
    case kFilter:
      return "a program as input";
    case kApart:
      return "a program and --strategy=none";
  }
  return "";
}

/// Every option given does something.
inline void require_used(CommandLine& app, Use use) {
  for (const OptionUse& at : kOptionUses) {
    if ((at.uses & use) != 0 || !app.given(at.option)) continue;
    std::set<std::string> wanted;
    for (unsigned bit = kProduct; bit <= kApart; bit *= 2) {
      if ((at.uses & bit) == 0) continue;
      const std::string text = text_of(static_cast<Use>(bit));
      wanted.insert(text.starts_with(at.option) ? text_of(kChain) : text);  // not what was given
    }
    const std::string option = at.option == std::string("input") ? "an input file" : at.option;
    throw Error(ExitCode::usage, fmt::format("{} does nothing with {}, expected {}", option,
                                             text_of(use), fmt::join(wanted, ", or ")));
  }
  if (app.given("--measure") && !app.given("--explain")) {
    throw Error(ExitCode::usage, "--measure does nothing without --explain");
  }
}

}  // namespace fuseflow::cluster
