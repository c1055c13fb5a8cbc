#include "passes/pass.h"

#include <fmt/format.h>

#include "passes/block.h"
#include "passes/fuse.h"
#include "passes/orders.h"
#include "passes/parallelize.h"
#include "passes/place.h"

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

const std::vector<Pass>& passes() {
  static const std::vector<Pass> kPasses = {fuse_pass(), order_pass(), place_pass(), block_pass(),
                                            parallelize_pass()};
  return kPasses;
}

const Pass& find_pass(std::string_view name) {
  for (const Pass& pass : passes()) {
    if (pass.name == name) return pass;
  }
  throw Error(ExitCode::internal, fmt::format("there is no pass '{}'", name));
}

}  // namespace fuseflow
