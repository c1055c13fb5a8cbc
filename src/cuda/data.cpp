#include "cuda/data.h"

#include <fmt/format.h>

#include "cuda/print.h"
#include "sim/program_run.h"
#include "tensor/storage.h"

namespace fuseflow::cuda {

std::vector<TextFile> data_files(const Program& program, const std::vector<Generated>& kernels,
                                 const Machine& machine, int threads) {
  RunOptions options;
  options.threads = threads;
  const ProgramRun run = run_program(program, load_tensors(program, {}, threads), machine, options);
  std::vector<TextFile> files;
  for (const Generated& g : kernels) {
    if (!g.refused.empty()) continue;
    const std::vector<TensorId> tensors = tensors_of(g.kernel);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<float> values = to_dense(*run.data.find(tensors[i]));
      files.push_back({fmt::format("data/{}.{}.f32", g.name, i),
                       std::string(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(float))});
    }
  }
  return files;
}

}  // namespace fuseflow::cuda
