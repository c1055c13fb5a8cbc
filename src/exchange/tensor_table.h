// The tensors of the graphs that are read: from the data's folder, or written by an earlier graph.
#pragma once

#include <map>
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

  /// What the next graph says of tensors beside its operations.
  void begin_graph(const comal::ComalGraph& graph);

  /// A tensor that is read. Throws Error(rejected) where there are no data for it.
  TensorId read(const std::string& name);
  /// The same, where the graph says how a level is stored ("compressed", "dense", or nothing).
  TensorId read_level(const std::string& name, uint64_t level, const std::string& format);
  /// A tensor that the graph writes, and its levels; a name that is taken gets a suffix.
  TensorId add_result(const std::string& name, std::vector<LevelKind> levels,
                      const std::vector<int64_t>& shape);

  const Tensor& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }

 private:
  const comal::TensorFacts* facts(const std::string& name) const;
  TensorId declare(const std::string& name);
  void apply_facts(Tensor& tensor, const std::string& name) const;
  void set_level(TensorId id, size_t level, LevelKind kind);

  Program& program_;
  std::string folder_;
  std::map<std::string, TensorId> known_;
  std::map<std::string, TensorId> written_;     ///< by the graph that is being read
  std::map<TensorId, std::vector<bool>> said_;  ///< levels whose kind a graph said
  const comal::ComalGraph* graph_ = nullptr;
};

/// "compressed" or "dense". Throws Error(rejected) for another text.
LevelKind level_kind_of(const std::string& format);

}  // namespace fuseflow
