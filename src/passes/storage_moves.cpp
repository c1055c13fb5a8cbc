#include "passes/storage_moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/names.h"
#include "lower/lower.h"
#include "support/error.h"

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
  return std::all_of(uses.begin(), uses.end(), [&](const StoredUse& use) {
    return read_by(a, use) == read_by(b, use);
  });
}

bool is_legal(const Program& program, size_t region) {
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

std::string regions_text(const Program& program, const StorageMove& move) {
  std::vector<std::string> names;
  for (const size_t r : regions_of(move.uses)) {
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
                                 const Format& format) {
  Program candidate = program;
  store_as(candidate, move.tensor, format, move.uses);
  if (same_reads(candidate, program, move.uses)) return std::nullopt;
  for (const size_t r : regions_of(move.uses)) {
    std::vector<std::string>& order = candidate.regions[r].schedule.order;
    if (!order.empty() && is_legal(program, r) && !is_legal(candidate, r)) order.clear();
  }
  return candidate;
}

std::vector<size_t> regions_judged(const Program& program, const StorageMove& move) {
  const std::set<size_t> regions = regions_of(uses_of(program, move.tensor));
  return {regions.begin(), regions.end()};
}

std::string moved_text(const Program& program, const StorageMove& move) {
  return fmt::format("{} read{} {}", regions_text(program, move),
                     regions_of(move.uses).size() == 1 ? "s" : "",
                     stored_text(program, read_by(program, move.uses.front())));
}

std::string move_text(const Program& program, const StorageMove& move) {
  const std::string& name = program.tensors[static_cast<size_t>(move.tensor)].name;
  return fmt::format("%{} in {}", quote_if_needed(name), regions_text(program, move));
}

}  // namespace fuseflow
