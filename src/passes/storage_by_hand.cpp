#include "passes/storage_by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/copies.h"
#include "ir/names.h"
#include "passes/option_names.h"
#include "passes/orders.h"
#include "passes/storage_forms.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

struct StorageRequest {
  std::string tensor;  ///< as it is written, until it is resolved
  std::string region;  ///< empty: all
  std::string format;
};

/// `a=dense,compressed@1,0` or `a@region=..`; a tensor's name may hold `@`, its region's too.
StorageRequest parse_storage_request(const std::string& text) {
  const size_t equals = find_last_separator(text, '=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(ExitCode::usage,
                fmt::format("--store '{}' is malformed, expected a tensor, perhaps a region, and a "
                            "format, e.g. --store 'a@y=dense,compressed@1,0'",
                            text));
  }
  StorageRequest request{text.substr(0, equals), "", text.substr(equals + 1)};
  try {
    static_cast<void>(parse_format(request.format));
  } catch (const Error& error) {
    throw Error(ExitCode::usage, fmt::format("--store '{}': {}", text, error.what()));
  }
  return request;
}

/// The tensor, and the region after the last `@` where the whole is no tensor's name.
TensorId resolve_storage(const Program& program, StorageRequest& request) {
  const std::string given = request.tensor;
  request.tensor = name_in_option(given, '%');
  TensorId tensor = find_tensor(program, request.tensor);
  const size_t at = find_last_separator(given, '@');
  if (tensor < 0 && at != std::string::npos) {
    request.region = name_in_option(given.substr(at + 1), '@');
    request.tensor = name_in_option(given.substr(0, at), '%');
    tensor = find_tensor(program, request.tensor);
  }
  if (tensor >= 0) return original_of(program, tensor);
  std::vector<std::string> known;
  for (const Tensor& t : program.tensors) known.push_back(t.name);
  const std::string near = meant_name(request.tensor, known);
  throw Error(ExitCode::rejected,
              fmt::format("--store: there is no tensor %{}{}", quote_if_needed(request.tensor),
                          near.empty() ? "" : ", did you mean %" + quote_if_needed(near) + "?"));
}

Format format_for(const Tensor& tensor, const StorageRequest& request) {
  const std::string name = quote_if_needed(tensor.name);
  if (tensor.source.kind == Source::Kind::none && tensor.role != Role::temporary) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: %{} is {} without a source, expected an input or constant "
                            "that is bound to data, or an intermediate",
                            name, tensor.role == Role::result ? "a result" : "a tensor"));
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

/// Graphs that lowering gives again.
void drop_lowered(Program& program) {
  for (Region& region : program.regions) {
    if (!region.statements.empty() && !(region.graph && region.graph->tiles)) region.graph.reset();
  }
}

/// The name of a region whose graph, planned or written by hand, reads or writes a tensor.
std::optional<std::string> kept_by(const Program& program, TensorId tensor) {
  for (const Region& region : program.regions) {
    if (!region.graph) continue;
    bool names = false;
    for (const Node& node : region.graph->nodes) {
      for_tensors(node, [&](TensorId t) { names = names || t == tensor; });
    }
    if (names) return region.name;
  }
  return std::nullopt;
}

/// An intermediate is stored once, for all readers.
void store_intermediate(Program& program, TensorId tensor, const StorageRequest& request,
                        const Format& format, PassLog& log) {
  const std::string name = quote_if_needed(request.tensor);
  if (!request.region.empty()) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: %{} is computed, so that all regions read what is stored, "
                            "expected --store '{}={}' without a region",
                            name, request.tensor, request.format));
  }
  const auto is_written = [](LevelKind kind) {
    return kind == LevelKind::dense || kind == LevelKind::compressed;
  };
  if (!std::all_of(format.levels.begin(), format.levels.end(), is_written)) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: %{} is computed, expected levels that a region can write, "
                            "dense or compressed, instead of {}",
                            name, request.format));
  }
  drop_lowered(program);
  if (const std::optional<std::string> region = kept_by(program, tensor)) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: the graph of region @{} reads or writes %{} as it is stored "
                            "now, expected a region without a graph",
                            quote_if_needed(*region), name));
  }
  program.tensors[static_cast<size_t>(tensor)].format = format;
  log.note(fmt::format("{} for all regions", stored_text(program, tensor)));
}

}  // namespace

void store_by_hand(Program& program, const std::string& text, PassLog& log) {
  StorageRequest request = parse_storage_request(text);
  const TensorId tensor = resolve_storage(program, request);
  const Format format = format_for(program.tensors[static_cast<size_t>(tensor)], request);
  if (program.tensors[static_cast<size_t>(tensor)].role == Role::temporary) {
    return store_intermediate(program, tensor, request, format, log);
  }
  std::set<size_t> regions;
  for (const size_t r :
       find_regions(program, request.region.empty() ? std::vector<std::string>{}
                                                    : std::vector<std::string>{request.region})) {
    regions.insert(r);
    if (!request.region.empty()) program.regions[r].graph.reset();
  }
  if (request.region.empty()) drop_lowered(program);
  std::vector<StoredUse> uses = uses_of(program, tensor);
  std::erase_if(uses, [&](const StoredUse& use) { return !regions.contains(use.region); });
  if (uses.empty()) {
    throw Error(ExitCode::rejected,
                fmt::format("--store: {} reads %{}, expected a region that does",
                            request.region.empty()
                                ? "no region"
                                : fmt::format("region @{} not", quote_if_needed(request.region)),
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

void check_store_request(const std::string& text) {
  static_cast<void>(parse_storage_request(text));
}

}  // namespace fuseflow
