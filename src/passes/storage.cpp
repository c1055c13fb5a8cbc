#include "passes/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/elements.h"
#include "ir/names.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "passes/choose.h"
#include "passes/orders.h"
#include "passes/storage_forms.h"

namespace fuseflow {

namespace {

/// Entries of a tensor whose values are looked at.
constexpr double kMostRead = 1 << 24;

/// Entries that a source says it has, of a tensor with absent ones.
std::optional<double> listed_entries(const Tensor& tensor) {
  if (tensor.format.all_dense() || !tensor.source.nnz) return std::nullopt;
  return static_cast<double>(*tensor.source.nnz);
}

/// Values that a program reads, as they are stored.
double entries_read(const Program& program) {
  double entries = 0;
  for (const TensorId id : stored_tensors_read(program)) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    entries += listed_entries(tensor).value_or(elements_of(tensor));
  }
  return entries;
}

/// The share of elements that differ from the fill; nothing where the data is not read.
std::optional<double> density_of(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  const double elements = elements_of(tensor);
  if (elements <= 0) return std::nullopt;
  const std::optional<double> listed = listed_entries(tensor);
  const bool known = tensor.format.all_dense() || listed;
  if (known && listed.value_or(elements) > kMostRead) return std::nullopt;
  const std::shared_ptr<const Storage> storage = source_reader(program)(id);
  if (storage == nullptr) return std::nullopt;
  int64_t present = 0;
  for (const float value : storage->values) present += same_value(value, tensor.fill) ? 0 : 1;
  return static_cast<double>(present) / elements;
}

/// The formats of a tensor that the search tries: those that its facts let have absent entries.
std::vector<Format> forms_of(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  if (tensor.format.rank() < 2) return {};
  const std::optional<double> density = density_of(program, id);
  if (!density) return {};
  std::vector<Format> forms = storage_forms(tensor, *density);
  const bool absent = satisfies(tensor.fill, joined(tensor.facts, tensor.assumed)) &&
                      holds(tensor.type, tensor.fill);
  if (!absent) std::erase_if(forms, [](const Format& form) { return !form.all_dense(); });
  return forms;
}

/// What is known of values once what is stored dense may be stored otherwise: where nothing is
/// absent, lowering asks for no facts.
void learn_facts(Program& program, const std::vector<TensorId>& sparse) {
  Program probe = program;
  for (const TensorId id : sparse) {
    Format& format = probe.tensors[static_cast<size_t>(id)].format;
    if (format.all_dense()) format = sparse_format(format.rank());
  }
  static_cast<void>(find_data_facts(probe));
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    const Facts facts = joined(tensor.facts, probe.tensors[t].facts);
    if (tensor.format.all_dense() || satisfies(tensor.fill, facts)) tensor.facts = facts;
  }
}

/// Climbs from the formats as given: one tensor at a time is read otherwise, by one access, one
/// region, or all.
class StorageSearch {
 public:
  StorageSearch(Program& program, CostModel& costs, bool verbose, PassLog& log)
      : program_(program), costs_(costs), verbose_(verbose), log_(log) {
    // An estimate counts what it reads: of large data the first formats are tried, once.
    const double entries = std::max(1.0, entries_read(program));
    most_tried_ =
        static_cast<int>(std::clamp<double>(kMostCounted / entries, kLeastTried, kMostTried));
    if (most_tried_ < kMostTried) sweeps_ = 1;
  }

  /// Whether anything is chosen.
  bool run(const std::map<TensorId, std::vector<Format>>& forms) {
    for (int sweep = 0; sweep < sweeps_; ++sweep) {
      bool changed = false;
      for (const auto& [tensor, all] : forms) changed = choose_form(tensor, all) || changed;
      if (!changed) break;
      changed_ = true;
    }
    return changed_;
  }

 private:
  /// Of cycles. Estimates of short fibers in other formats have been seen to be 35% too low, and
  /// what gains little on one machine loses on another.
  static constexpr double kLeastGain = 0.2;
  static constexpr int kSweeps = 2;
  static constexpr int kMostTried = 96;  // of a tensor in a sweep
  static constexpr int kLeastTried =
      3;  // the most promising formats (storage_forms.h), for all uses
  static constexpr double kMostCounted = 1 << 25;  // entries, of a tensor in a sweep

  bool choose_form(TensorId tensor, const std::vector<Format>& forms) {
    tried_ = 0;
    bool changed = false;
    for (const std::vector<StoredUse>& uses : moves_of(uses_of(program_, tensor))) {
      changed = choose_for(tensor, uses, forms) || changed;
    }
    return changed;
  }

  /// All uses, those of each region, each alone; the same ones once.
  static std::vector<std::vector<StoredUse>> moves_of(const std::vector<StoredUse>& uses) {
    std::vector<std::vector<StoredUse>> moves;
    const auto add = [&](std::vector<StoredUse> move) {
      const bool known = std::find(moves.begin(), moves.end(), move) != moves.end();
      if (!known && !move.empty()) moves.push_back(std::move(move));
    };
    add(uses);
    for (const StoredUse& first : uses) {
      std::vector<StoredUse> same;
      std::copy_if(uses.begin(), uses.end(), std::back_inserter(same),
                   [&](const StoredUse& use) { return use.region == first.region; });
      add(std::move(same));
    }
    for (const StoredUse& use : uses) add({use});
    return moves;
  }

  bool choose_for(TensorId tensor, const std::vector<StoredUse>& uses,
                  const std::vector<Format>& forms) {
    const std::set<size_t> readers = regions_of(uses_of(program_, tensor));
    const std::optional<Cost> given = cost_of(program_, readers);
    if (!given) return false;
    std::optional<Cost> least = given;
    std::optional<Program> best;
    std::vector<std::string> others;
    std::vector<Format> all = forms;
    all.push_back(program_.tensors[static_cast<size_t>(tensor)].format);
    for (const Format& form : all) {
      std::optional<Program> candidate = with_form(tensor, form, uses);
      if (!candidate || ++tried_ > most_tried_) continue;
      const std::optional<Cost> cost = cost_of(*candidate, readers);
      others.push_back(fmt::format("{}: {}", to_string(form), cycles_text(cost)));
      if (!better(cost, least) || !pays(*cost, *given)) continue;
      least = cost;
      best = std::move(candidate);
    }
    if (verbose_ && !others.empty()) {
      log_.note(fmt::format("%{} in {}: {} cycles by estimate; {}", name_of(tensor),
                            regions_text(uses), cycles_text(given), fmt::join(others, "; ")));
    }
    if (!best) return false;
    program_ = std::move(*best);
    const StoredUse& use = uses.front();
    const TensorId read =
        program_.regions[use.region].statements[use.statement].nodes[use.node].tensor;
    log_.note(fmt::format("{} read{} {}: {}", regions_text(uses),
                          regions_of(uses).size() == 1 ? "s" : "", stored_text(program_, read),
                          gain_text(*least, *given)));
    return true;
  }

  /// The program with these uses in the format; nothing where that is what it has. An order that
  /// this makes illegal is let go.
  std::optional<Program> with_form(TensorId tensor, const Format& form,
                                   const std::vector<StoredUse>& uses) const {
    Program candidate = program_;
    store_as(candidate, tensor, form, uses);
    if (same_reads(candidate, uses)) return std::nullopt;
    for (const size_t r : regions_of(uses)) {
      std::vector<std::string>& order = candidate.regions[r].schedule.order;
      if (!order.empty() && is_legal(program_, r) && !is_legal(candidate, r)) order.clear();
    }
    return candidate;
  }

  static bool is_legal(const Program& program, size_t region) {
    LowerOptions options;
    options.buffers = false;
    try {
      static_cast<void>(lower_region(program, region, options));
      return true;
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal) throw;
      return false;
    }
  }

  bool same_reads(const Program& candidate, const std::vector<StoredUse>& uses) const {
    const auto read = [](const Program& p, const StoredUse& use) {
      return p.regions[use.region].statements[use.statement].nodes[use.node].tensor;
    };
    return std::all_of(uses.begin(), uses.end(), [&](const StoredUse& use) {
      return read(candidate, use) == read(program_, use);
    });
  }

  static bool pays(const Cost& cost, const Cost& given) {
    if (!std::isfinite(given.cycles)) return true;
    return cost.cycles <= (1 - kLeastGain) * given.cycles;
  }

  /// Of the regions that read the tensor: the first of them pays for a copy.
  std::optional<Cost> cost_of(const Program& program, const std::set<size_t>& regions) {
    Cost sum;
    for (const size_t r : regions) {
      const std::optional<Cost> cost = costs_.of_region(program, r);
      if (!cost) return std::nullopt;
      sum.cycles += cost->cycles;
      sum.dram_bytes += cost->dram_bytes;
      sum.flops += cost->flops;
    }
    return sum;
  }

  static std::set<size_t> regions_of(const std::vector<StoredUse>& uses) {
    std::set<size_t> regions;
    for (const StoredUse& use : uses) regions.insert(use.region);
    return regions;
  }

  std::string regions_text(const std::vector<StoredUse>& uses) const {
    std::vector<std::string> names;
    for (const size_t r : regions_of(uses)) {
      names.push_back("@" + quote_if_needed(program_.regions[r].name));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::string name_of(TensorId tensor) const {
    return quote_if_needed(program_.tensors[static_cast<size_t>(tensor)].name);
  }

  static std::string cycles_text(const std::optional<Cost>& cost) {
    if (!cost) return "unknown";
    return std::isfinite(cost->cycles) ? fmt::format("{:.0f}", cost->cycles) : "does not fit";
  }

  Program& program_;
  CostModel& costs_;
  const bool verbose_;
  PassLog& log_;
  int most_tried_ = kMostTried;
  int sweeps_ = kSweeps;
  bool changed_ = false;
  int tried_ = 0;
};

/// `chosen` with those copies alone, beside the tensors of `given`, that it reads.
Program without_unread(const Program& given, const Program& chosen) {
  Program result = given;
  for (size_t r = 0; r < given.regions.size(); ++r) {
    result.regions[r].schedule.order = chosen.regions[r].schedule.order;
  }
  for (const TensorId tensor : stored_tensors_read(given)) {
    for (const StoredUse& use : uses_of(given, tensor)) {
      const Statement& statement = chosen.regions[use.region].statements[use.statement];
      const auto read = static_cast<size_t>(statement.nodes[use.node].tensor);
      store_as(result, tensor, chosen.tensors[read].format, {use});
    }
  }
  return result;
}

struct Request {
  std::string tensor;
  std::string region;  ///< empty: all
  std::string format;
};

/// `a=dense,compressed@1,0` or `a@region=..`; a tensor's name may hold `@`, its region's too.
Request parse_request(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(ExitCode::usage,
                fmt::format("--store '{}' is malformed, expected a tensor, perhaps a region, and a "
                            "format, e.g. --store 'a@y=dense,compressed@1,0'",
                            text));
  }
  Request request{text.substr(0, equals), "", text.substr(equals + 1)};
  if (request.tensor.front() == '%') request.tensor.erase(0, 1);
  static_cast<void>(parse_format(request.format));
  return request;
}

/// The tensor, and the region behind the last `@` where the whole is no tensor's name.
TensorId resolve(const Program& program, Request& request) {
  TensorId tensor = find_tensor(program, request.tensor);
  const size_t at = request.tensor.rfind('@');
  if (tensor < 0 && at != std::string::npos) {
    request.region = request.tensor.substr(at + 1);
    request.tensor.erase(at);
    tensor = find_tensor(program, request.tensor);
  }
  if (tensor >= 0) return original_of(program, tensor);
  std::vector<std::string> known;
  for (const Tensor& t : program.tensors) known.push_back(t.name);
  const std::string near = nearest_name(request.tensor, known);
  throw Error(ExitCode::rejected,
              fmt::format("--store: there is no tensor %{}{}", quote_if_needed(request.tensor),
                          near.empty() ? "" : ", did you mean %" + quote_if_needed(near) + "?"));
}

Format format_for(const Tensor& tensor, const Request& request) {
  const std::string name = quote_if_needed(tensor.name);
  if (tensor.source.kind == Source::Kind::none) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: %{} has no source, expected an input or constant that is "
                            "bound to data: what is computed is stored as it is declared",
                            name));
  }
  Format format = parse_format(request.format);
  check_format(format, tensor.format.rank());
  if (format.block != tensor.format.block) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: %{} is stored as {}, expected the same blocks instead of {}",
                            name, to_string(tensor.format), request.format));
  }
  const bool absent = std::any_of(format.levels.begin(), format.levels.end(),
                                  [](LevelKind kind) { return kind != LevelKind::dense; });
  if (absent && !satisfies(tensor.fill, joined(tensor.facts, tensor.assumed))) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: the facts of %{} exclude its fill, so it has no absent "
                            "entries, expected dense levels",
                            name));
  }
  return format;
}

void apply(Program& program, Request request, PassLog& log) {
  const TensorId tensor = resolve(program, request);
  const Format format = format_for(program.tensors[static_cast<size_t>(tensor)], request);
  std::set<size_t> regions;
  for (const size_t r :
       find_regions(program, request.region.empty() ? std::vector<std::string>{}
                                                    : std::vector<std::string>{request.region})) {
    regions.insert(r);
    if (!request.region.empty()) program.regions[r].graph.reset();
  }
  if (request.region.empty()) {
    for (Region& region : program.regions) {
      if (!region.statements.empty() && !(region.graph && region.graph->tiles))
        region.graph.reset();
    }
  }
  std::vector<StoredUse> uses = uses_of(program, tensor);
  std::erase_if(uses, [&](const StoredUse& use) { return !regions.contains(use.region); });
  if (uses.empty()) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: {} reads %{}, expected a region that does",
                            request.region.empty() ? "no region"
                                                   : fmt::format("region @{} not", request.region),
                            quote_if_needed(request.tensor)));
  }
  store_as(program, tensor, format, uses);
  const StoredUse& use = uses.front();
  const TensorId read =
      program.regions[use.region].statements[use.statement].nodes[use.node].tensor;
  log.note(
      fmt::format("{} reads {}",
                  request.region.empty() ? "every region" : "@" + quote_if_needed(request.region),
                  stored_text(program, read)));
}

void list(const Program& program, PassLog& log) {
  for (const TensorId tensor : stored_tensors_read(program)) {
    std::map<TensorId, std::set<std::string>> readers;  // by what is read
    for (const StoredUse& use : uses_of(program, tensor)) {
      const Region& region = program.regions[use.region];
      readers[region.statements[use.statement].nodes[use.node].tensor].insert(
          "@" + quote_if_needed(region.name));
    }
    const std::optional<double> density = density_of(program, tensor);
    std::vector<std::string> forms;
    for (const Format& form : forms_of(program, tensor)) forms.push_back(to_string(form));
    for (const auto& [read, regions] : readers) {
      log.note(fmt::format("{} read{} {}", fmt::join(regions, ", "), regions.size() == 1 ? "s" : "",
                           stored_text(program, read)));
    }
    log.note(fmt::format("%{}: {}{}; other formats: {}",
                         quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name),
                         role_name(program.tensors[static_cast<size_t>(tensor)].role),
                         density ? fmt::format(", density {:.4g}", *density) : "",
                         forms.empty() ? "none" : fmt::format("{}", fmt::join(forms, " "))));
  }
}

Program run_store(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = given;
  if (arguments.has("list")) list(program, log);
  if (arguments.has("auto") && arguments.costs) {
    const Machine machine =
        load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set"));
    const std::unique_ptr<CostModel> costs = arguments.costs(machine);
    std::optional<Program> chosen = choose_storage(program, *costs, arguments.has("verbose"), log);
    if (chosen) program = std::move(*chosen);
  }
  for (const std::string& text : arguments.all("store")) apply(program, parse_request(text), log);
  return program;
}

void check_store(const PassArguments& arguments) {
  static_cast<void>(load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set")));
  for (const std::string& text : arguments.all("store")) static_cast<void>(parse_request(text));
}

}  // namespace

std::optional<Program> choose_storage(const Program& program, CostModel& costs, bool verbose,
                                      PassLog& log) {
  std::map<TensorId, std::vector<Format>> forms;
  std::vector<TensorId> sparse;
  for (const TensorId tensor : stored_tensors_read(program)) {
    std::vector<Format> found = forms_of(program, tensor);
    if (found.empty()) continue;
    sparse.push_back(tensor);
    forms.emplace(tensor, std::move(found));
  }
  if (forms.empty()) return std::nullopt;
  Program chosen = program;
  learn_facts(chosen, sparse);
  PassLog notes;
  if (!costs.learn(chosen)) return std::nullopt;
  const Program given = chosen;
  const bool changed = StorageSearch(chosen, costs, verbose, notes).run(forms);
  if (changed) chosen = without_unread(given, chosen);
  const bool wins = changed && better(costs.of_program(chosen), costs.of_program(program));
  for (const std::string& line : notes.lines()) {
    if (wins || verbose) log.note(line);
  }
  if (wins) return chosen;
  if (changed && verbose) log.note("formats stay as given: the program as a whole gains nothing");
  return std::nullopt;
}

Pass store_pass() {
  return {"store",
          "Choose or list the formats in which regions read inputs and constants",
          {{"store", "T[@REGION]=FORMAT",
            "Let this region (default: all) read the tensor as e.g. dense,compressed@1,0; "
            "repeatable",
            true},
           {"auto", "", "Choose by estimate, conversions of inputs included"},
           {"list", "", "Print what is read in which format, and other formats"},
           {"machine", "NAME|FILE", "--auto: preset or TOML file (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true},
           {"verbose", "", "--auto: print what else was tried"}},
          run_store,
          check_store};
}

}  // namespace fuseflow
