// fuseflow-order: chooses, lists or counts dataflow orders.
#include <fmt/format.h>

#include "estimate/pass_costs.h"
#include "import/import.h"
#include "ir/names.h"
#include "pass_tool.h"
#include "passes/complete_schedule.h"
#include "passes/kept_graphs.h"
#include "passes/orders.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace fuseflow {
namespace {

struct Options {
  ProgramOptions filter;
  PassArguments arguments;
  bool list = false;
  bool count = false;
  bool free = false;
  bool concordant = false;
  int64_t limit = 0;
  std::vector<std::string> regions;

  Constraints constraints() const {
    if (free) return Constraints::free;
    return concordant ? Constraints::concordant : Constraints::scheduled;
  }
};

/// Output of any length: to standard output as it comes, to a file at the end.
class Lines {
 public:
  explicit Lines(const std::string& output) : output_(output), at_once_(output == "-") {}

  void add(const std::string& line) {
    text_ += line;
    if (at_once_ && text_.size() > 60000) flush();
    if (text_.size() > kMostText) {
      throw Error(ExitCode::rejected,
                  "there are too many orders for a file, expected --limit N, or "
                  "standard output");
    }
  }
  void flush() {
    write_output(output_, text_);
    text_.clear();
  }

 private:
  static constexpr size_t kMostText = size_t{1} << 30;
  std::string output_;
  bool at_once_;
  std::string text_;
};

/// One line an order, as `--order` takes them; written as they are found.
void print_orders(const Program& program, const Options& o) {
  Lines lines(o.filter.output);
  for (const size_t r : find_regions(program, o.regions)) {
    int64_t left = o.limit > 0 ? o.limit : INT64_MAX;
    PassLog log;
    if (const std::string why = why_graph_stays(program, r); !why.empty()) {
      log.note(fmt::format("@{} takes no order: {} (--drop-graphs removes it)",
                           quote_if_needed(program.regions[r].name), why));
      print_log(find_pass("order"), log);
      continue;
    }
    list_orders(program, r, o.constraints(), log, [&](const std::string& line) {
      lines.add(printable(line) + "\n");
      return --left > 0 && standard_output_is_read();
    });
    print_log(find_pass("order"), log);
  }
  lines.flush();
}

void count_orders(const Program& program, const Options& o) {
  std::string text = "region,indices,orders,exact\n";
  for (const size_t r : find_regions(program, o.regions)) {
    Program completed = program;
    PassLog log;
    complete_schedule(completed, r, log);
    print_log(find_pass("order"), log);
    const RegionOrders orders = region_orders(completed, r, o.constraints());
    const SortCount count = count_sorts(orders.partial);
    const std::string& name = program.regions[r].name;
    text += fmt::format("{},{},{},{}\n", quote_if_needed(name), orders.partial.size(), count.number,
                        count.exact ? "yes" : "no");
    if (!count.exact) {
      report(Severity::note, fmt::format("order: @{}: stopped counting: {}; there are at least {}",
                                         quote_if_needed(name), count.stopped, count.number));
    }
  }
  write_output(o.filter.output, text);
}

int run(int argc, char** argv) {
  const Pass& pass = find_pass("order");
  CommandLine app(std::string(pass.description), "fuseflow-order");
  Options o;
  add_program_options(app, o.filter);
  add_pass_options(app, pass, o.arguments);
  Option& list = app.add_flag("--list", o.list, "Print legal orders instead of the program");
  list.without_value();  // `--list=3` is not `--limit 3`, and would print all of them
  const Option& count =
      app.add_flag("--count", o.count, "Print how many orders are legal, exact up to 128 bits");
  app.add_option("--limit", o.limit, "List at most N orders of each region")
      .option_text("N")
      .whole_above(0)
      .needs(list);
  app.add_option("--region", o.regions, "List or count only these regions; repeatable")
      .option_text("NAME")
      .all_uses();
  const Option& free = app.add_flag(
      "--free", o.free, "List or count all legal orders, also where a schedule has one");
  app.add_flag("--concordant", o.concordant,
               "List or count only orders that walk every tensor as it is stored")
      .excludes(free);
  list.excludes(count);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] {
    for (const char* option : {"--region", "--free", "--concordant"}) {
      if (!app.given(option) || o.list || o.count) continue;
      throw Error(ExitCode::usage,
                  fmt::format("{} is for --list and --count, expected one of them", option));
    }
    pass.check(o.arguments);
    o.arguments.costs = estimated_costs();
    return run_filter(pass, o.filter, o.arguments, [&](const Program& result) {
      if (o.list) {
        print_orders(result, o);
      } else if (o.count) {
        count_orders(result, o);
      } else {
        write_program(o.filter.output, result);
      }
    });
  });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::run);
}
