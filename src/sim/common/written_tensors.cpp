#include "sim/common/written_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "sim/common/stored_arrays.h"
#include "support/defect.h"
#include "tensor/limits.h"
#include "tensor/zeros.h"

namespace fuseflow {
namespace {

/// What a graph written by hand can do with some data.
[[noreturn]] void misfit(const Tensor& tensor, const std::string& what) {
  throw Error(ExitCode::rejected, fmt::format("the graph does not fit its data: writing %{}: {}",
                                              quote_if_needed(tensor.name), what));
}

Level compressed_level(const Tensor& tensor, int64_t extent, int64_t parents,
                       std::vector<uint32_t> pos, std::vector<uint32_t> crd) {
  if (static_cast<int64_t>(pos.size()) > parents + 1) {
    misfit(tensor, fmt::format("{} fibers where the level above has {} positions", pos.size() - 1,
                               parents));
  }
  if (pos.empty()) {
    throw Defect(
        fmt::format("%{}: a compressed level without a writer", quote_if_needed(tensor.name)));
  }
  pos.resize(static_cast<size_t>(parents + 1), pos.back());
  if (const uint32_t* beyond = find_beyond(crd, extent)) {
    misfit(tensor, fmt::format("coordinate {} of extent {}", *beyond, extent));
  }
  return Level{.kind = LevelKind::compressed,
               .extent = extent,
               .pos = std::move(pos),
               .crd = std::move(crd)};
}

/// Block elements beyond the shape hold the fill, whatever was written there.
void clear_padding(Storage& storage) {
  std::vector<float> kept(storage.values.size(), storage.fill);
  const float* first = storage.values.data();
  for_each_stored(
      storage, [&](std::span<const int64_t>, const float& value) { kept[&value - first] = value; });
  storage.values = Buffer<float>(std::move(kept));
}

[[noreturn]] void too_many_values(const Tensor& tensor) {
  throw Error(ExitCode::rejected,
              fmt::format("result %{} has more than 2^32-2 values", quote_if_needed(tensor.name)));
}

}  // namespace

void check_places(const Tensor& tensor) {
  int64_t places = 1;
  const auto multiply = [&](int64_t by) {
    if (__builtin_mul_overflow(places, by, &places) || places > kMaxStored) too_many_values(tensor);
  };
  for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
    if (tensor.format.levels[l] != LevelKind::dense) return;
    multiply(tensor.level_extent(l));
  }
  multiply(tensor.format.block_volume());
}

std::shared_ptr<const Storage> assemble_result(const Program& program, WrittenTensor written) {
  const Tensor& tensor = program.tensors[written.tensor];
  auto storage = std::make_shared<Storage>();
  storage->shape = known_shape(tensor);
  storage->format = tensor.format;
  storage->fill = tensor.fill;
  int64_t positions = 1;
  for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
    const auto dimension = static_cast<size_t>(tensor.format.mode_order[l]);
    const int64_t extent = tensor.format.coordinates(dimension, storage->shape[dimension]);
    if (tensor.format.levels[l] == LevelKind::dense) {
      storage->levels.push_back(Level{.kind = LevelKind::dense, .extent = extent});
      if (__builtin_mul_overflow(positions, extent, &positions) || positions > kMaxStored) {
        too_many_values(tensor);
      }
    } else if (tensor.format.levels[l] == LevelKind::compressed) {
      storage->levels.push_back(compressed_level(
          tensor, extent, positions, std::move(written.pos[l]), std::move(written.crd[l])));
      positions = static_cast<int64_t>(storage->levels.back().crd.size());
    } else {
      throw Error(ExitCode::rejected,
                  fmt::format("result %{} has a {} level: only dense and compressed levels can be "
                              "written",
                              quote_if_needed(tensor.name), level_name(tensor.format.levels[l])));
    }
  }
  if (__builtin_mul_overflow(positions, tensor.format.block_volume(), &positions) ||
      positions > kMaxStored) {
    too_many_values(tensor);
  }
  if (static_cast<int64_t>(written.values.size()) > positions) {
    misfit(tensor, fmt::format("{} values for {} positions", written.values.size(), positions));
  }
  written.values.resize(static_cast<size_t>(positions), tensor.fill);
  round_all(written.values, tensor.type);  // what is stored is rounded, streams are not
  keep_one_zero(written.values, tensor.format, tensor.fill);
  storage->values = Buffer<float>(std::move(written.values));
  if (!tensor.format.block.empty()) clear_padding(*storage);
  verify(*storage);
  return storage;
}

SharedArrays::SharedArrays(const Program& program, const Graph& graph)
    : program_(program), writers_(parts_written(graph, program.tensors.size())) {}

void SharedArrays::share(const Node& writer, Written& stored) {
  if (writer.kind != NodeKind::write_values) return;
  if (writers_[writer.tensor] < 2) return;
  std::shared_ptr<std::vector<float>>& array = arrays_[writer.tensor];
  if (array == nullptr) {
    const Tensor& tensor = program_.tensors[writer.tensor];
    auto count = static_cast<uint64_t>(tensor.format.block_volume());
    for (int l = 0; l < tensor.format.rank(); ++l) {
      count = saturating_product(count, static_cast<uint64_t>(tensor.level_extent(l)));
    }
    require_countable(count, fmt::format("result %{}", quote_if_needed(tensor.name)));
    array = std::make_shared<std::vector<float>>(count, tensor.fill);
  }
  stored.whole = array;
}

void WrittenTensors::add(const Program& program, NodeId id, const Node& writer, Written stored) {
  WrittenTensor& target = written_[writer.tensor];
  const Tensor& tensor = program.tensors[writer.tensor];
  const size_t levels = tensor.format.levels.size();
  target.tensor = writer.tensor;
  target.pos.resize(levels);
  target.crd.resize(levels);
  writers_.push_back({id, writer.tensor, -1, -1});
  if (writer.kind != NodeKind::write_values) {
    writers_.back().level = writer.level;
    target.pos[writer.level] = std::move(stored.pos);
    target.crd[writer.level] = std::move(stored.crd);
  } else if (stored.whole == nullptr) {
    target.values = std::move(stored.values);
  } else {
    writers_.back().part_bytes =
        stored.given * tensor.format.block_volume() * element_bytes(tensor.type);
    if (target.values.empty()) target.values = std::move(*stored.whole);  // the first part's
  }
}

void WrittenTensors::store(const Program& program,
                           std::vector<std::shared_ptr<const Storage>>& data, RunResult& result) {
  for (auto& [tensor, parts] : written_) {
    data[tensor] = assemble_result(program, std::move(parts));
    result.results.emplace_back(tensor, data[tensor]);
  }
  count_bytes(program, data, result);
}

/// A part is what its writer gave; the first one's besides what no writer gave, which holds the
/// fill.
void WrittenTensors::count_bytes(const Program& program,
                                 const std::vector<std::shared_ptr<const Storage>>& data,
                                 RunResult& result) const {
  std::map<TensorId, NodeId> first;
  for (const Writer& writer : writers_) {
    int64_t& bytes = result.nodes[writer.id].write_bytes;
    bytes = written_bytes(program, writer.tensor, writer.level, *data[writer.tensor]);
    if (writer.part_bytes < 0) continue;
    const auto [place, is_first] = first.emplace(writer.tensor, writer.id);
    if (is_first) continue;
    bytes = writer.part_bytes;
    result.nodes[place->second].write_bytes -= bytes;
  }
}

int64_t written_bytes(const Program& program, TensorId tensor, int level, const Storage& storage) {
  const Tensor& declared = program.tensors[tensor];
  if (level < 0) return storage.stored() * element_bytes(declared.type);
  const Level& stored = storage.levels[level];
  return static_cast<int64_t>(4 * (stored.pos.size() + stored.crd.size()));
}

int64_t storage_bytes(const Program& program, TensorId tensor, const Storage& storage) {
  const Tensor& declared = program.tensors[tensor];
  return static_cast<int64_t>(stored_arrays(declared, &storage).total());
}

void finish_counts(const Program& program, const Graph& graph,
                   const std::vector<std::shared_ptr<const Storage>>& data, RunResult& result) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    NodeStats& stats = result.nodes[n];
    const bool chip = graph.on_chip(node.tensor);
    (chip ? result.scratchpad_read_bytes : result.dram_read_bytes) += stats.read_bytes;
    (chip ? result.scratchpad_write_bytes : result.dram_write_bytes) += stats.write_bytes;
    result.flops += stats.flops;
    if (stats.last_step >= 0) {  // the last step's interval may reach beyond the end
      stats.busy = std::min(stats.busy, result.cycles - stats.blocked - stats.memory);
    }
    stats.starved = result.cycles - stats.busy - stats.memory - stats.blocked;
  }
  const std::vector<bool> load = loaded_at_start(graph, program.tensors.size());
  for (size_t t = 0; t < load.size(); ++t) {
    if (!load[t] || data[t] == nullptr) continue;
    const int64_t bytes = storage_bytes(program, static_cast<TensorId>(t), *data[t]);
    result.dram_read_bytes += bytes;
    result.scratchpad_write_bytes += bytes;
  }
  for (const StreamStats& stream : result.streams) {
    result.tokens += stream.tokens;
    result.peak_fifo_tokens = std::max(result.peak_fifo_tokens, stream.peak);
  }
}

}  // namespace fuseflow
