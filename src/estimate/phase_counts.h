// Counts from the data, phase by phase. Streams do not leave their phase, so what is counted in one
// follows from its nodes and the tensors that they read. Phases that are equal but for names are
// counted once: layers repeat, and what a search tries changes two or three phases of many.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "estimate/counts.h"
#include "lower/hash_numbers.h"

namespace fuseflow::estimate {

class PhaseCounts {
 public:
  /// As count_within() (count_within.h), with as many rows for each phase as if it were alone,
  /// whether it is known or not. Not for graphs in blocks or of tiles (may_count()). Patterns count
  /// by address: those that are read must live as long as this object, or `keep` alive what it
  /// knows.
  ExactCounts count(size_t& rows_left, const Program& program, const Graph& graph,
                    const TensorData& data, const std::vector<bool>& uncertain);
  static bool may_count(const Graph& graph);

 private:
  using Key = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Key& key) const { return hash_of(key); }
  };
  /// Nodes [first, last) of a graph, one phase; what they name, by numbers of its own.
  struct Part {
    NodeId first = 0;
    NodeId last = 0;
    std::vector<StreamId> streams;
    std::vector<int> indices;
    std::vector<TensorId> tensors;
    Key key;
  };
  /// Of one phase, by its own numbers.
  struct Counted {
    ExactCounts counts;
    size_t rows = 0;
    std::vector<std::shared_ptr<const Storage>> read;  ///< by tensor
  };
  class PartFinder;
  class PartJoiner;

  const Counted& counted(size_t& rows_left, const Program& program, const Graph& graph,
                         const Part& part, const TensorData& data,
                         const std::vector<bool>& uncertain, const std::vector<Written>& earlier);

  std::unordered_map<Key, Counted, Hash> known_;
  size_t nodes_ = 0;  ///< of known_
};

}  // namespace fuseflow::estimate
