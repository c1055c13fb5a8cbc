#include "cuda/data.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/program_run.h"
#include "tensor/storage.h"

namespace fuseflow::cuda {

namespace {

ProgramRun run_of(const Program& program, const Machine& machine, int threads) {
  RunOptions options;
  options.threads = threads;
  return run_program(program, load_tensors(program, {}, threads), machine, options);
}

/// What the program reads and gives of some tensors: by their numbers in the files' names.
std::vector<TextFile> files_of_tensors(const Program& program, const std::map<TensorId, int>& all,
                                       const Machine& machine, int threads) {
  const ProgramRun run = run_of(program, machine, threads);
  std::vector<TextFile> files;
  for (const auto& [id, number] : all) {
    const Storage* const tensor = run.data.find(id);
    if (tensor == nullptr) continue;
    const std::vector<float> values = to_dense(*tensor);
    files.push_back(
        {fmt::format("data/{}.f32", number),
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))});
  }
  return files;
}

}  // namespace

std::vector<TextFile> data_files(const Program& program, const std::vector<Generated>& kernels,
                                 const Machine& machine, int threads) {
  std::map<TensorId, int> all;
  for (const TensorId id : tensors_to_run(program, kernels)) all[id] = id;
  return files_of_tensors(program, all, machine, threads);
}

std::vector<TextFile> data_files(const std::vector<TableEntry>& table, const Machine& machine,
                                 int threads) {
  std::set<int> numbers;
  for (const TableEntry& entry : table) {
    for (const TensorId id : tensors_to_run(entry.program, entry.kernels))
      numbers.insert(entry.rows.numbers.at(id));
  }
  const TableEntry& largest = table.back();
  std::map<TensorId, int> all;
  for (const auto& [id, number] : largest.rows.numbers) {
    if (numbers.count(number) != 0) all[id] = number;
  }
  return files_of_tensors(largest.program, all, machine, threads);
}

}  // namespace fuseflow::cuda
