// The tensors of the graphs that are read: from the data's folder, or written by an earlier graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange/comal.pb.h"
#include "ir/program.h"

namespace fuseflow {

class TensorTable {
 public:
  /// `folder`: the data; empty: there are none.
  TensorTable(Program& program, std::string folder)
      : program_(program), folder_(std::move(folder)) {}

  /// The dimensions of each tensor's levels in the order in which a graph looks them up.
  using LevelOrders = std::map<std::string, std::vector<int>>;
  /// What the next graph says of tensors beside its operations.
  void begin_graph(const comal::ComalGraph& graph, LevelOrders orders);

  /// A tensor that is read. Throws Error(rejected) where there are no data for it.
  TensorId read(const std::string& name);
  /// A level, by its number.
  TensorId read_level(const std::string& name, uint64_t level);
  struct Level {
    TensorId tensor = -1;
    int level = -1;
  };
  /// The level of a dimension, where the graph says how it is stored ("compressed", "dense", or
  /// nothing).
  Level read_dimension(const std::string& name, uint64_t dimension, const std::string& format);
  /// The dimension of each level of a tensor that the graph writes, where the graph says it: one of
  /// ours does.
  std::optional<std::vector<int>> written_order(const std::string& name, size_t rank) const;
  /// A tensor that the graph writes; a name that is taken gets a suffix.
  TensorId add_result(const std::string& name, Format format, const std::vector<int64_t>& shape);

  const Tensor& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }

 private:
  const comal::TensorFacts* facts(const std::string& name) const;
  TensorId declare(const std::string& name);
  std::vector<int> level_order(const std::string& name, size_t rank) const;
  std::vector<int> said_order(const std::string& name) const;
  void apply_facts(Tensor& tensor, const std::string& name) const;
  void set_level(TensorId id, size_t level, LevelKind kind);

  Program& program_;
  std::string folder_;
  std::map<std::string, TensorId> known_;
  std::map<std::string, TensorId> written_;     ///< by the graph that is being read
  std::map<TensorId, std::vector<bool>> said_;  ///< levels whose kind a graph said
  const comal::ComalGraph* graph_ = nullptr;
  LevelOrders orders_;
};

/// "compressed" or "dense". Throws Error(rejected) for another text.
LevelKind level_kind_of(const std::string& format);

}  // namespace fuseflow
