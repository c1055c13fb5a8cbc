#include "cuda/data.h"

#include <fmt/format.h>

#include <set>

#include "cuda/print.h"
#include "sim/program_run.h"
#include "tensor/storage.h"

namespace fuseflow::cuda {

namespace {

ProgramRun run_of(const Program& program, const Machine& machine, int threads) {
  RunOptions options;
  options.threads = threads;
  return run_program(program, load_tensors(program, {}, threads), machine, options);
}

TextFile file_of(std::string path, const Storage& tensor) {
  const std::vector<float> values = to_dense(tensor);
  return {std::move(path),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

}  // namespace

std::vector<TextFile> data_files(const Program& program, const std::vector<Generated>& kernels,
                                 const Machine& machine, int threads) {
  const ProgramRun run = run_of(program, machine, threads);
  std::vector<TextFile> files;
  for (const Generated& g : kernels) {
    if (!g.refused.empty()) continue;
    const std::vector<TensorId> tensors = tensors_of(g.kernel);
    for (size_t i = 0; i < tensors.size(); ++i)
      files.push_back(
          file_of(fmt::format("data/{}.{}.f32", g.name, i), *run.data.find(tensors[i])));
  }
  return files;
}

std::vector<TextFile> data_files(const std::vector<TableEntry>& table, const Machine& machine,
                                 int threads) {
  std::set<int> numbers;
  for (const TableEntry& entry : table) {
    for (const Generated& g : entry.kernels) {
      for (const TensorId id : tensors_of(g.kernel)) numbers.insert(entry.rows.numbers.at(id));
    }
  }
  const TableEntry& largest = table.back();
  const ProgramRun run = run_of(largest.program, machine, threads);
  std::vector<TextFile> files;
  for (const auto& [id, number] : largest.rows.numbers) {
    const auto* const tensor = run.data.find(id);
    if (tensor != nullptr && numbers.count(number) != 0)
      files.push_back(file_of(fmt::format("data/{}.f32", number), *tensor));
  }
  return files;
}

}  // namespace fuseflow::cuda
