// The pass that lists, sets and chooses in which formats regions read inputs and constants, and
// write and read what they pass on (ir-spec/storage.md).
#include "passes/by_estimate.h"
#include "passes/pass_list.h"
#include "passes/storage_by_hand.h"
#include "passes/storage_choice.h"
#include "passes/storage_list.h"

namespace fuseflow {

namespace {

Program run_store(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = given;
  if (arguments.has("auto")) {
    program = by_estimate(given, arguments, log, [&](CostModel& costs) {
      const bool verbose = arguments.has("verbose");
      return choose_storage(given, StorageOf::all, costs, verbose, log).value_or(given);
    });
  }
  for (const std::string& text : arguments.all("store")) store_by_hand(program, text, log);
  if (arguments.has("list")) log.list(storage_csv(program));
  return program;
}

void check_store(const PassArguments& arguments) {
  static_cast<void>(machine_of(arguments));
  for (const std::string& text : arguments.all("store")) check_store_request(text);
}

}  // namespace

Pass store_pass() {
  return {"store",
          "Choose or list the formats in which regions read inputs, constants and intermediates",
          {{"store", "T[@REGION]=FORMAT",
            "Let this region (default: all) read the tensor as e.g. dense,compressed@1,0; "
            "repeatable",
            true},
           {"auto", "", "Choose by estimate, conversions of inputs included"},
           {"list", "",
            "Print the format in which each tensor is read, and other possible formats, as CSV "
            "instead of the program"},
           {"machine", "NAME|FILE", "--auto: preset or TOML file (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true},
           {"verbose", "", "--auto: print what else was tried"}},
          run_store,
          check_store};
}

}  // namespace fuseflow
