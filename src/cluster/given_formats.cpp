#include "cluster/given_formats.h"

#include <optional>

#include "ir/copies.h"
#include "sim/common/conversion.h"
#include "sim/common/stored_arrays.h"
#include "tensor/source.h"

namespace fuseflow::cluster {
namespace {

StoredArrays arrays_of(const Tensor& tensor) {
  if (tensor.format.all_dense()) return stored_arrays(tensor, nullptr);
  const Storage storage =
      to_storage(read_raw(tensor.source, known_shape(tensor)), tensor.format, tensor.fill);
  return stored_arrays(tensor, &storage);
}

/// Every access of the region to `from` is one to `to`.
void replace_tensor(Region& region, TensorId from, TensorId to) {
  for (Statement& statement : region.statements) {
    for (Expr& access : statement.nodes) {
      if (access.kind == Expr::Kind::access && access.tensor == from) access.tensor = to;
    }
  }
  if (!region.graph) return;
  for (Node& node : region.graph->nodes) {
    if (node.tensor == from) node.tensor = to;
  }
}

}  // namespace

GivenFormats given_formats(const Program& program) {
  GivenFormats given;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.role == Role::input) given[static_cast<TensorId>(t)] = tensor.format;
  }
  return given;
}

int64_t conversion_cycles(const Tensor& input, const Format& format, const Machine& machine) {
  if (input.format == format) return 0;
  Tensor copy = input;
  copy.format = format;
  const StoredArrays read = arrays_of(input);
  const StoredArrays written = arrays_of(copy);
  return conversion_counts({input, read}, {copy, written}, machine).cycles;
}

int64_t reordering_cycles(const Tensor& input, const Format& arrives, const Format& read,
                          const Machine& machine) {
  Tensor given = input;
  given.format = arrives;
  const auto paid = [&](const Format& format) {
    if (arrives == format) return int64_t{0};
    return conversion_cycles(given, format, machine) + machine.reconfiguration_cycles;
  };
  const bool dense = input.format.all_dense();
  return paid(read) - paid(dense ? input.format : dense_format(input.format.rank()));
}

std::vector<TensorId> restore_given_formats(Program& program, const GivenFormats& given) {
  std::vector<TensorId> copies;
  for (const auto& [input, arrives] : given) {
    const auto t = static_cast<size_t>(input);
    const Format read = program.tensors[t].format;
    if (read == arrives) continue;
    program.tensors[t].format = arrives;
    const TensorId copy = copy_as(program, input, read, ".dense");
    for (Region& region : program.regions) replace_tensor(region, input, copy);
    copies.push_back(copy);
  }
  return copies;
}

}  // namespace fuseflow::cluster
