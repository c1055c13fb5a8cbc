// The classes of hardware units. The node kinds of a class share one latency, interval and count.
#pragma once

#include <cstdint>
#include <string_view>

namespace fuseflow {

enum class UnitClass : uint8_t {
  root,
  scan,
  locate,  ///< locate, gallop
  repeat,
  join,  ///< intersect, intersect_words, unite, leftjoin, align
  array,
  alu,  ///< map, coordinate, pad
  reduce,
  accumulate,
  filter,  ///< drop, filter
  buffer,
  write,
  split,  ///< parallelize, serialize
  count_
};
inline constexpr int kUnitClasses = static_cast<int>(UnitClass::count_);
std::string_view unit_class_name(UnitClass unit);

}  // namespace fuseflow
