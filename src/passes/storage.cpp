#include "passes/storage.h"

#include "machine/load.h"
#include "passes/choose.h"
#include "passes/storage_by_hand.h"
#include "passes/storage_choice.h"
#include "passes/storage_list.h"

namespace fuseflow {

namespace {

Program run_store(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = given;
  if (arguments.has("auto") && arguments.costs) {
    const Machine machine =
        load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set"));
    const std::unique_ptr<CostModel> costs = arguments.costs(machine);
    std::optional<Program> chosen =
        choose_storage(program, StorageOf::all, *costs, arguments.has("verbose"), log);
    if (chosen) program = not_slower(std::move(*chosen), given, *costs, log);
  }
  for (const std::string& text : arguments.all("store")) store_by_hand(program, text, log);
  if (arguments.has("list")) log.list(storage_csv(program));
  return program;
}

void check_store(const PassArguments& arguments) {
  static_cast<void>(load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set")));
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
