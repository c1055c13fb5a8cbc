#include "sim/tiles/absent_tiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/tile_kernel.h"
#include "sim/tiles/tile_access.h"
#include "sim/tiles/tile_math.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// "[3, 17]": the coordinates of a position of dense data.
std::string text_of(const Storage& storage, int64_t position) {
  std::vector<int64_t> coordinates(storage.shape.size());
  for (size_t l = coordinates.size(); l-- > 0;) {
    const auto d = static_cast<size_t>(storage.format.mode_order[l]);
    coordinates[d] = position % storage.shape[d];
    position /= storage.shape[d];
  }
  return fmt::format("[{}]", fmt::join(coordinates, ", "));
}

class AbsentTiles {
 public:
  AbsentTiles(const Tensor& tensor, const Graph& graph, const Node& load, const Storage& storage)
      : tensor_(tensor),
        storage_(storage),
        access_(graph, load, graph.streams[load.outputs[0]].block, kKernelG, storage.format,
                storage.shape) {}

  void check(int64_t m, int64_t g, const TileRange& absent) const {
    for (int64_t k = absent.begin; k < absent.end; ++k) {
      access_.for_each(KernelSizes{m, 0, k, g}, [&](int64_t position) {
        const float held = element_at(storage_, position);
        if (held != 0) refuse({m, 0, k, g}, position, held);
      });
    }
  }

 private:
  [[noreturn]] void refuse(const KernelSizes& at, int64_t position, float held) const {
    const std::string place =
        position < 0 ? "its fill" : fmt::format("at {}", text_of(storage_, position));
    throw Error(ExitCode::rejected, tensor_.where,
                fmt::format("`open` leaves out tile (m {}, k {}, g {}) of %{}, which holds {} {}; "
                            "expected a tile of zeros: plan the program for these data "
                            "(fuseflow-cluster)",
                            at[kKernelM], at[kKernelK], at[kKernelG], tensor_.name, held, place));
  }

  const Tensor& tensor_;
  const Storage& storage_;
  const TileAccess access_;
};

}  // namespace

void check_absent_tiles(const Program& program, const Graph& graph, const TensorData& data) {
  const NodeId n = is_tile_kernel(graph) ? load_of_absent_tiles(graph) : -1;
  if (n < 0) return;
  const Node& load = graph.nodes[n];
  const AbsentTiles tiles(program.tensors[load.tensor], graph, load, *data.find(load.tensor));
  const KernelSizes extents = kernel_tiles(graph);
  const bool by_batch = varies_along(graph, load)[kKernelG] || walks_differ_by_batch(graph);
  for (int64_t g = 0; g < (by_batch ? extents[kKernelG] : 1); ++g) {
    for (int64_t m = 0; m < extents[kKernelM]; ++m) {
      int64_t k = 0;
      for (const TileRange& range : kernel_walk(graph, m, g)) {
        tiles.check(m, g, {k, range.begin});
        k = range.end;
      }
      tiles.check(m, g, {k, extents[kKernelK]});
    }
  }
}

}  // namespace fuseflow
