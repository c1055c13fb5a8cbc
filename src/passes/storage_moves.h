// What a search over formats changes at once, and what that makes of a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lower/lower.h"
#include "passes/storage_forms.h"

namespace fuseflow {

/// Accesses to an input or constant, or to copies of it, that get one format; or all accesses to an
/// intermediate, which is stored once.
struct StorageMove {
  TensorId tensor = -1;
  std::vector<StoredUse> uses;
  bool operator==(const StorageMove&) const = default;
};

/// The moves of an input or constant: all uses together, those of each region, each use alone;
/// equal ones once.
std::vector<StorageMove> storage_moves(const Program& program, TensorId tensor);

/// The program with a move's uses in a format; nothing where that is what it has. Orders that this
/// makes illegal are removed. `known`: phases that were lowered before.
std::optional<Program> with_move(const Program& program, const StorageMove& move,
                                 const Format& format, KnownPhases& known);

/// The regions that a move may make faster or slower: all that read the tensor, since the first of
/// them pays for a copy, and the one that computes it. Ascending.
std::vector<size_t> regions_judged(const Program& program, const StorageMove& move);

/// "@a, @b read %x as dense,compressed", "@h writes %x as dense,compressed for @a, @b".
std::string moved_text(const Program& program, const StorageMove& move);

/// "%x in @a, @b".
std::string move_text(const Program& program, const StorageMove& move);

}  // namespace fuseflow
