// Seeded tensor generators: the same bytes for the same text on every machine. A table names each
// generator with its keys; parsing, checking, help and canonical order come from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/source.h"

namespace fuseflow {

struct GeneratorSpec {
  std::string_view name;
  std::vector<std::string_view> keys;  ///< in canonical order; shape, seed and nnz are added
  bool sparse = false;
};

/// The generator called `name`. Throws Error(rejected) with the nearest name and the list.
const GeneratorSpec& find_generator(std::string_view name);

/// Keys in canonical order (shape first, then the generator's, seed last), each checked to be known
/// and given once. Throws Error(rejected).
std::vector<std::pair<std::string, std::string>> canonical_params(
    const GeneratorSpec& spec, std::vector<std::pair<std::string, std::string>> params);

/// Runs a generator source. Its own shape= and the expected `shape` (-1: unknown extent) may each
/// be absent, not both; where both are given they must agree.
RawTensor generate(const Source& source, const std::optional<std::vector<int64_t>>& shape);

/// Replaces the values of `raw` as the value option `text` says (see values.h), from `seed`.
void assign_values(RawTensor& raw, std::string_view text, uint64_t seed);

}  // namespace fuseflow
