// Keys of what planning a part of a program depends on: graphs, machines and the like as text in
// which names are left out and tensors are numbered in the order in which they are met. Two of the
// same key are planned and simulated alike, wherever they stand. Every field of what is written is
// named in key.cpp or graph/graph_key.h, so that a new one does not compile until its place is
// settled.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cluster/common/element_bytes.h"
#include "cluster/common/fastest.h"
#include "graph/graph.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

class Key {
 public:
  void number(int64_t value);
  void real(double value);
  void text(std::string_view value);
  /// By its number among the tensors of this key; -1: none.
  void tensor(TensorId tensor);

  void add(const Machine& machine);  ///< what its cores and their memory are
  void add(const Graph& graph);
  void add(const Effort& effort);
  void add(const TileSubscript& subscript);
  void add(const StoredTensors& tensors);

  /// A list, with its length.
  template <typename List>
  void add_all(const List& list) {
    number(static_cast<int64_t>(list.size()));
    for (const auto& each : list) add(each);
  }
  template <typename List>
  void numbers(const List& list) {
    number(static_cast<int64_t>(list.size()));
    for (const auto each : list) number(static_cast<int64_t>(each));
  }
  template <typename List>
  void reals(const List& list) {
    number(static_cast<int64_t>(list.size()));
    for (const double each : list) real(each);
  }

  const std::string& value() const { return bytes_; }

 private:
  void add(const DramModel& dram);
  void add(const CoreModel& core);
  void add(const LinkModel& links);

  std::string bytes_;
  std::map<TensorId, int64_t> tensors_;
};

}  // namespace fuseflow::cluster
