#include "cluster/common/given_formats.h"

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

/// Cycles to store an input, of which the arrays are there, as `format`.
int64_t conversion_cycles(const ConversionSide& input, const Format& format,
                          const Machine& machine) {
  if (input.tensor.format == format) return 0;
  Tensor copy = input.tensor;
  copy.format = format;
  const StoredArrays written = arrays_of(copy);
  return conversion_counts(input, {copy, written}, machine).cycles;
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
  const StoredArrays read = arrays_of(input);
  return conversion_cycles(ConversionSide{input, read}, format, machine);
}

int64_t reordering_cycles(const Tensor& input, const Format& arrives, const Format& read,
                          const Machine& machine) {
  Tensor given = input;
  given.format = arrives;
  const StoredArrays arrays = arrays_of(given);
  const auto paid = [&](const Format& format) {
    const int64_t cycles = conversion_cycles(ConversionSide{given, arrays}, format, machine);
    return arrives == format ? 0 : cycles + machine.reconfiguration_cycles;
  };
  const bool dense = input.format.all_dense();
  return paid(read) - paid(dense ? input.format : dense_format(input.format.rank()));
}

int64_t reordering_cycles(const std::vector<Tensor>& before, const GivenFormats& given,
                          const std::vector<Tensor>& tensors, const Machine& machine) {
  int64_t cycles = 0;
  for (const auto& [input, arrives] : given) {
    const Tensor& declared = before[static_cast<size_t>(input)];
    const Format& read = tensors[static_cast<size_t>(input)].format;
    if (read != declared.format) cycles += reordering_cycles(declared, arrives, read, machine);
  }
  return cycles;
}

std::vector<TensorId> restore_given_formats(Program& program, const GivenFormats& given) {
  std::vector<TensorId> copies;
  for (const auto& [input, arrives] : given) {
    const auto t = static_cast<size_t>(input);
    const Format read = program.tensors[t].format;
    if (read == arrives) continue;
    program.tensors[t].format = arrives;
    const TensorId copy = copy_as(program, input, read, ".dense");
    for (Region& region : program.regions) read_copy(region, input, copy);
    copies.push_back(copy);
  }
  return copies;
}

}  // namespace fuseflow::cluster
