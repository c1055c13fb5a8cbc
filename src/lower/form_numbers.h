// What forms of phases (phase_form.h, phase_region.h) are written with.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// What something is made from, as numbers: equal numbers, equal results.
using PhaseForm = std::vector<int64_t>;

template <typename T>
void sort_distinct(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Gives each thing of an ascending list its position, by its own number.
template <typename T>
void number_each(const std::vector<T>& list, std::vector<int>& numbers) {
  for (size_t i = 0; i < list.size(); ++i) {
    numbers[static_cast<size_t>(list[i])] = static_cast<int>(i);
  }
}

inline int64_t bits(float value) {
  return std::bit_cast<int32_t>(value);
}

template <typename T>
void write_list(const std::vector<T>& list, PhaseForm& to) {
  to.push_back(static_cast<int64_t>(list.size()));
  for (const auto& each : list) to.push_back(static_cast<int64_t>(each));
}

inline void write_facts(const Facts& facts, PhaseForm& to) {
  const auto& [finite, no_nan, nonnegative, nonzero, below_inf, least, largest] = facts;
  int64_t flags = 0;
  for (const bool flag : {finite, no_nan, nonnegative, nonzero, below_inf}) {
    flags = 2 * flags + (flag ? 1 : 0);
  }
  to.push_back(flags);
  to.push_back(bits(least));
  to.push_back(bits(largest));
}

/// What lowering reads of a declaration, but for facts.
inline void write_declaration(const Tensor& tensor, bool on_chip, bool internal, PhaseForm& to) {
  write_list(tensor.format.levels, to);
  write_list(tensor.format.mode_order, to);
  write_list(tensor.format.block, to);
  for (const Extent& extent : tensor.shape) to.push_back(extent.value);
  to.push_back(bits(tensor.fill));
  to.push_back(static_cast<int64_t>(tensor.type));
  to.push_back((on_chip ? 2 : 0) + (internal ? 1 : 0));
}

}  // namespace fuseflow
