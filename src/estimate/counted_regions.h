// Regions that were counted from the data, each once. What a region takes follows from its graph,
// the declarations of the tensors that this names, and the patterns that earlier regions wrote: a
// search that changes one region, or one format, asks again for what it left alone.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/program.h"
#include "lower/hash_numbers.h"
#include "passes/cost_model.h"
#include "sim/run.h"

namespace fuseflow {

/// What is known of the patterns of computed tensors, by TensorId.
struct KnownPatterns {
  TensorData data;
  std::vector<bool> uncertain;  ///< the pattern is an estimate itself
};

struct CountedRegion {
  struct Written {
    TensorId tensor = -1;
    std::shared_ptr<const Storage> pattern;
    bool uncertain = false;
  };
  Cost cost;
  std::vector<Written> written;
};

class CountedRegions {
 public:
  /// What the count of a region with a graph depends on. Patterns count by address, so those that
  /// regions wrote have to come from `keep`.
  struct Key {
    std::vector<int64_t> numbers;
    std::vector<std::shared_ptr<const Storage>> read;
  };
  static Key key_of(const Program& program, const Region& region, const KnownPatterns& known);

  /// Null if it was not counted yet.
  const CountedRegion* find(const Key& key) const;
  /// Equal patterns become one.
  const CountedRegion& keep(Key key, CountedRegion counted);

 private:
  /// `read`: so that no other pattern gets the address of one that a key names.
  struct Entry {
    CountedRegion counted;
    std::vector<std::shared_ptr<const Storage>> read;
  };
  std::shared_ptr<const Storage> only(std::shared_ptr<const Storage> pattern);
  void make_room();

  struct Hash {
    size_t operator()(const std::vector<int64_t>& numbers) const { return hash_of(numbers); }
  };
  std::unordered_map<std::vector<int64_t>, Entry, Hash> regions_;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Storage>> patterns_;  ///< by hash
  int64_t bytes_ = 0;                                                           ///< of patterns_
};

}  // namespace fuseflow
