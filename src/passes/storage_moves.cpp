#include "passes/storage_moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/names.h"
#include "lower/lower.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

std::set<size_t> regions_of(const std::vector<StoredUse>& uses) {
  std::set<size_t> regions;
  for (const StoredUse& use : uses) regions.insert(use.region);
  return regions;
}

TensorId read_by(const Program& program, const StoredUse& use) {
  return program.regions[use.region].statements[use.statement].nodes[use.node].tensor;
}

bool same_reads(const Program& a, const Program& b, const std::vector<StoredUse>& uses) {
  return std::all_of(uses.begin(), uses.end(),
                     [&](const StoredUse& use) { return read_by(a, use) == read_by(b, use); });
}

bool is_legal(const Program& program, size_t region, KnownPhases& known) {
  LowerOptions options;
  options.buffers = false;
  options.known = &known;
  return unless_refused([&] {
    static_cast<void>(lower_region(program, region, options));
    return true;
  });
}

bool is_intermediate(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].role == Role::temporary;
}

/// The region that computes a tensor; nothing of inputs and constants.
std::optional<size_t> computed_by(const Program& program, TensorId tensor) {
  if (!is_intermediate(program, tensor)) return std::nullopt;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const std::vector<Statement>& statements = program.regions[r].statements;
    const bool writes = std::any_of(statements.begin(), statements.end(),
                                    [&](const Statement& s) { return s.result == tensor; });
    if (writes) return r;
  }
  return std::nullopt;
}

/// The regions whose statements read or write otherwise once a move is made.
std::set<size_t> regions_changed(const Program& program, const StorageMove& move) {
  std::set<size_t> regions = regions_of(move.uses);
  if (const std::optional<size_t> writer = computed_by(program, move.tensor)) {
    regions.insert(*writer);
  }
  return regions;
}

std::string regions_text(const Program& program, const std::set<size_t>& regions) {
  std::vector<std::string> names;
  names.reserve(regions.size());
  for (const size_t r : regions) {
    names.push_back("@" + quote_if_needed(program.regions[r].name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<StorageMove> storage_moves(const Program& program, TensorId tensor) {
  const std::vector<StoredUse> uses = uses_of(program, tensor);
  std::vector<StorageMove> moves;
  const auto add = [&](std::vector<StoredUse> some) {
    StorageMove move{tensor, std::move(some)};
    const bool known = std::find(moves.begin(), moves.end(), move) != moves.end();
    if (!known && !move.uses.empty()) moves.push_back(std::move(move));
  };
  add(uses);
  if (is_intermediate(program, tensor)) return moves;
  for (const StoredUse& first : uses) {
    std::vector<StoredUse> same;
    std::copy_if(uses.begin(), uses.end(), std::back_inserter(same),
                 [&](const StoredUse& use) { return use.region == first.region; });
    add(std::move(same));
  }
  for (const StoredUse& use : uses) add({use});
  return moves;
}

std::optional<Program> with_move(const Program& program, const StorageMove& move,
                                 const Format& format, KnownPhases& known) {
  Program candidate = program;
  if (is_intermediate(program, move.tensor)) {
    Format& stored = candidate.tensors[static_cast<size_t>(move.tensor)].format;
    if (stored == format) return std::nullopt;
    stored = format;
  } else {
    store_as(candidate, move.tensor, format, move.uses);
    if (same_reads(candidate, program, move.uses)) return std::nullopt;
  }
  for (const size_t r : regions_changed(program, move)) {
    std::vector<std::string>& order = candidate.regions[r].schedule.order;
    if (!order.empty() && is_legal(program, r, known) && !is_legal(candidate, r, known))
      order.clear();
  }
  return candidate;
}

std::vector<size_t> regions_judged(const Program& program, const StorageMove& move) {
  const std::set<size_t> regions =
      regions_changed(program, {move.tensor, uses_of(program, move.tensor)});
  return {regions.begin(), regions.end()};
}

std::string moved_text(const Program& program, const StorageMove& move) {
  const std::set<size_t> readers = regions_of(move.uses);
  const std::string stored = stored_text(program, read_by(program, move.uses.front()));
  if (const std::optional<size_t> writer = computed_by(program, move.tensor)) {
    return fmt::format("{} writes {} for {}", regions_text(program, {*writer}), stored,
                       regions_text(program, readers));
  }
  return fmt::format("{} read{} {}", regions_text(program, readers), readers.size() == 1 ? "s" : "",
                     stored);
}

std::string move_text(const Program& program, const StorageMove& move) {
  const std::string& name = program.tensors[static_cast<size_t>(move.tensor)].name;
  return fmt::format("%{} in {}", quote_if_needed(name),
                     regions_text(program, regions_changed(program, move)));
}

}  // namespace fuseflow
