// run_all of run.h: each kernel ten times beside its statements, on the data of the folder data;
// then cold and warm in captured graphs, beside cuBLASLt. One CSV row a kernel; and one for all
// regions as a program, in one graph, where each reads what those before gave: by its kernel where
// that is there and faster, else by its statements, whose products cuBLASLt computes.
#pragma once

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include "library.h"
#include "memory.h"

namespace ff {

/// What a program has on the GPU: tensors by number in it, and what each region has of them.
struct ProgramOperands {
  std::map<int, void*> tensors;
  std::vector<Operands> kernels;
  std::vector<StatementTensors> statements;
  size_t bytes = 0;
};

/// How a region of a program is run.
enum class Way { kernel, library };

/// Microseconds.
struct Times {
  double warm = -1, cold = -1, library_warm = -1, library_cold = -1;
};

class Bench {
 public:
  Bench() : library_(stream_) {}

  /// What the rows printed begin with.
  void label(std::string before) { before_ = std::move(before); }

  void run(const GpuKernel& k) {
    const std::vector<std::vector<float>> values = make_values(k);
    allow(k);
    std::vector<Operands> sets{make_operands(k, values)};
    const double error = check(k, sets[0], values);
    const bool right = error < largest_error(10 * roundoff(k.tensors, k.tensor_count));
    Times times;
    if (right) {
      const size_t count = Stream::cold_sets(sets[0].bytes, 8, 400);
      while (sets.size() < count) sets.push_back(make_operands(k, values));
      times.warm = stream_.time([&](size_t) { launch(k, sets[0]); }, 32);
      times.cold = stream_.time([&](size_t i) { launch(k, sets[i]); }, sets.size());
      library_.rival(k, times.library_warm, times.library_cold);
    }
    print(k.name, error, right, times);
    for (const Operands& set : sets) {
      for (size_t t = 0; t < k.tensor_count; ++t) release(set.params.tensors[t]);
      release_sums(set);
    }
  }

  /// All regions, one after the other. Every result is compared with what their statements give,
  /// evaluated plainly. Then each region takes the faster way.
  void run_program(const std::vector<GpuKernel>& kernels) {
    std::map<int, std::vector<float>> values;  // of what no region before gives
    std::map<int, const Tensor*> given;
    double bound = 0;  // rounding of several regions one after the other
    std::vector<Way> ways;
    for (const GpuKernel& k : kernels) {
      ways.push_back(k.function == nullptr ? Way::library : Way::kernel);
      if (k.function != nullptr) allow(k);
      bound = std::max(bound, largest_error(20 * roundoff(k.tensors, k.tensor_count)));
      std::vector<std::vector<float>> made = make_values(k);
      for (size_t t = 0; t < k.tensor_count; ++t) {
        const Tensor& tensor = k.tensors[t];
        if (tensor.result) given[tensor.number] = &tensor;
        if (!tensor.result && given.count(tensor.number) == 0)
          values[tensor.number] = std::move(made[t]);
      }
    }
    const std::map<int, std::vector<float>> expected = reference_of(kernels, values, given);
    std::vector<ProgramOperands> sets{make_program(kernels, values)};
    const std::vector<Way> all_library(kernels.size(), Way::library);
    const auto all = [&](ProgramOperands& set, const std::vector<Way>& by) {
      for (size_t i = 0; i < kernels.size(); ++i) run_region(kernels[i], set, i, by[i]);
    };
    const auto error_of = [&](const std::vector<Way>& by) {
      return worst_of(sets[0], given, expected, [&] { all(sets[0], by); });
    };
    double worst = larger(error_of(ways), error_of(all_library));
    Times times;
    if (worst < bound) {
      const size_t count = Stream::cold_sets(sets[0].bytes, 2, 100);
      while (sets.size() < count) {
        sets.push_back(make_program(kernels, values));
        all(sets.back(), all_library);  // room for intermediates, before anything is captured
      }
      for (size_t i = 0; i < kernels.size(); ++i) choose(kernels[i], sets, i, ways[i]);
      worst = larger(worst, error_of(ways));
      const auto time_all = [&](const std::vector<Way>& by, double& warm, double& cold) {
        warm = stream_.time([&](size_t) { all(sets[0], by); }, 8);
        cold = stream_.time([&](size_t i) { all(sets[i], by); }, sets.size());
      };
      time_all(ways, times.warm, times.cold);
      time_all(all_library, times.library_warm, times.library_cold);
    }
    print("program", worst, worst < bound, times);
    for (const ProgramOperands& set : sets) release_program(kernels, set);
  }

  /// 1 where something was wrong.
  int status() const { return wrong_ ? 1 : 0; }

 private:
  static constexpr int kChecks = 10;

  void print(const char* name, double error, bool right, const Times& times) {
    wrong_ = wrong_ || !right;
    std::printf("%s%s,%.3g,%s,%.3f,%.3f,%.3f,%.3f\n", before_.c_str(), name, error,
                right ? "right" : "WRONG", times.cold, times.warm, times.library_cold,
                times.library_warm);
    std::fflush(stdout);
  }

  /// No rounding explains more, not that of elements of 8 bits.
  static double largest_error(double of_rounding) { return std::min(of_rounding, 0.25); }

  static void allow(const GpuKernel& k) {
    FF_CHECK(cudaFuncSetAttribute(k.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  k.launch.scratchpad));
    if (k.launch.cores > 8)
      FF_CHECK(cudaFuncSetAttribute(k.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }

  /// What every region gives, by the plain text of its statements.
  std::map<int, std::vector<float>> reference_of(const std::vector<GpuKernel>& kernels,
                                                 const std::map<int, std::vector<float>>& values,
                                                 const std::map<int, const Tensor*>& given) {
    ProgramOperands set = make_program(kernels, values);
    for (size_t i = 0; i < kernels.size(); ++i)
      run_statements(kernels[i], set.statements[i], nullptr);
    stream_.wait();
    std::map<int, std::vector<float>> results;
    for (const auto& [number, tensor] : given)
      results[number] = read(*tensor, set.tensors.at(number));
    release_program(kernels, set);
    return results;
  }

  void run_statements(const GpuKernel& k, StatementTensors& tensors, Products* library) {
    k.statements(tensors, library, stream_);
    FF_CHECK(cudaGetLastError());
  }
  void run_region(const GpuKernel& k, ProgramOperands& set, size_t region, Way way) {
    if (way == Way::kernel) return launch(k, set.kernels[region]);
    run_statements(k, set.statements[region], &library_);
  }
  /// The faster way, cold; said on standard error.
  void choose(const GpuKernel& k, std::vector<ProgramOperands>& sets, size_t region, Way& way) {
    if (k.function == nullptr) {
      std::fprintf(stderr, "%s: by its statements, it has no kernel\n", k.name);
      return;
    }
    double taken[2];
    for (const Way tried : {Way::kernel, Way::library}) {
      taken[static_cast<int>(tried)] =
          stream_.time([&](size_t i) { run_region(k, sets[i], region, tried); }, sets.size());
    }
    way = taken[0] <= taken[1] ? Way::kernel : Way::library;
    std::fprintf(stderr, "%s: %s (kernel %.3f us, library %.3f us)\n", k.name,
                 way == Way::kernel ? "by its kernel" : "by its statements", taken[0], taken[1]);
  }
  /// The largest relative error of ten runs of all regions.
  template <class Run>
  double worst_of(const ProgramOperands& set, const std::map<int, const Tensor*>& given,
                  const std::map<int, std::vector<float>>& expected, Run run) {
    Difference worst;
    for (int turn = 0; turn < kChecks; ++turn) {
      for (const auto& [number, tensor] : given) clear(*tensor, set.tensors.at(number));
      run();
      stream_.wait();
      for (const auto& [number, tensor] : given) {
        const std::vector<float>& right = expected.at(number);
        worst.join(difference(read(*tensor, set.tensors.at(number)), right, right));
      }
    }
    return worst.relative;
  }

  ProgramOperands make_program(const std::vector<GpuKernel>& kernels,
                               const std::map<int, std::vector<float>>& values) {
    ProgramOperands set;
    for (const GpuKernel& k : kernels) {
      Operands& one = set.kernels.emplace_back();
      StatementTensors& statements = set.statements.emplace_back();
      statements.rows = k.rows;
      for (size_t t = 0; t < k.tensor_count; ++t) {
        const Tensor& tensor = k.tensors[t];
        void*& at = set.tensors[tensor.number];
        if (at == nullptr) {
          const auto value = values.find(tensor.number);
          at = make_tensor(tensor, value == values.end() ? std::vector<float>() : value->second,
                           set.bytes);
        }
        statements.at[t] = at;
        statements.types[t] = tensor.type;
        if (k.function == nullptr) continue;
        one.params.tensors[t] = at;
      }
      complete(encode_, k, one);
      set.bytes += one.bytes;
    }
    return set;
  }
  static void release_program(const std::vector<GpuKernel>& kernels, const ProgramOperands& set) {
    for (const auto& [number, at] : set.tensors) release(at);
    for (const Operands& one : set.kernels) release_sums(one);
    for (size_t i = 0; i < kernels.size(); ++i)
      release_from(set.statements[i], kernels[i].tensor_count);
  }
  static void release_from(const StatementTensors& tensors, size_t first) {
    for (size_t t = first; t < StatementTensors::kMost; ++t) release(tensors.at[t]);
  }

  Operands make_operands(const GpuKernel& k, const std::vector<std::vector<float>>& values) {
    Operands set;
    for (size_t t = 0; t < k.tensor_count; ++t)
      set.params.tensors[t] = make_tensor(k.tensors[t], values[t], set.bytes);
    complete(encode_, k, set);
    return set;
  }

  void launch(const GpuKernel& k, const Operands& set) {
    cudaLaunchConfig_t config = {};
    config.gridDim = static_cast<unsigned>(k.launch.clusters * k.launch.cores);
    config.blockDim = static_cast<unsigned>(k.threads);
    config.dynamicSmemBytes = static_cast<size_t>(k.launch.scratchpad);
    config.stream = stream_;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(k.launch.cores);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
    void* arguments[] = {const_cast<Params*>(&set.params)};
    FF_CHECK(cudaLaunchKernelExC(&config, k.function, arguments));
  }

  /// The largest relative error of ten launches; the reference has the same values.
  double check(const GpuKernel& k, const Operands& set,
               const std::vector<std::vector<float>>& values) {
    StatementTensors reference;
    reference.rows = k.rows;
    size_t bytes = 0;
    for (size_t t = 0; t < k.tensor_count; ++t) {
      reference.at[t] = make_tensor(k.tensors[t], values[t], bytes);
      reference.types[t] = k.tensors[t].type;
    }
    run_statements(k, reference, nullptr);
    stream_.wait();
    std::map<size_t, std::vector<float>> expected;  // by tensor
    for (size_t t = 0; t < k.tensor_count; ++t) {
      if (k.tensors[t].result) expected[t] = read(k.tensors[t], reference.at[t]);
    }
    release_from(reference, 0);
    Difference worst;
    for (int turn = 0; turn < kChecks; ++turn) {
      for (const auto& [t, ignored] : expected) clear(k.tensors[t], set.params.tensors[t]);
      launch(k, set);
      stream_.wait();
      for (const auto& [t, right] : expected)
        worst.join(difference(read(k.tensors[t], set.params.tensors[t]), right, right));
    }
    return worst.relative;
  }

  Stream stream_;
  Library library_;
  EncodeTiled encode_ = find_encode();
  std::string before_;
  bool wrong_ = false;
};

constexpr const char* kColumns =
    "kernel,relative_error,check,cold_us,warm_us,library_cold_us,library_warm_us\n";

/// All regions in order; `without`: those that cannot be run. Arguments: names of kernels, and
/// `program` for all regions in one graph; none: everything.
inline int run_all(int argc, char** argv, const std::vector<GpuKernel>& kernels,
                   const std::vector<std::string>& without) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool known =
        name == "program" || std::any_of(kernels.begin(), kernels.end(),
                                         [&](const GpuKernel& k) { return k.name == name; });
    if (known) continue;
    std::fprintf(stderr, "%s: no such kernel; plan.csv names them, and program is all of them\n",
                 argv[i]);
    return 2;
  }
  Bench bench;
  const auto asked = [&](const std::string& name) {
    return argc < 2 || std::find(argv + 1, argv + argc, name) != argv + argc;
  };
  std::printf("%s", kColumns);
  for (const GpuKernel& k : kernels) {
    if (k.function != nullptr && asked(k.name)) bench.run(k);
  }
  if (!asked("program") || kernels.size() < 2) return bench.status();
  for (const std::string& region : without)
    std::fprintf(stderr,
                 "%s has no kernel, and tensors that its statements do not run on: the program is "
                 "not run as a whole\n",
                 region.c_str());
  if (without.empty()) bench.run_program(kernels);
  return bench.status();
}

/// The kernels of every entry of a table, for as many rows as it takes; with `--rows N` those that
/// N rows take.
inline int run_table(int argc, char** argv, const std::vector<TableEntry>& table) {
  long rows = -1;
  for (int i = 1; i < argc; i += 2) {
    const bool known = std::string(argv[i]) == "--rows";
    if (!known) std::fprintf(stderr, "%s: expected --rows N\n", argv[i]);
    if (!known) return 2;
    rows = whole_number("--rows", i + 1 < argc ? argv[i + 1] : "");
  }
  std::vector<long> most;
  for (const TableEntry& entry : table) most.push_back(entry.most);
  const size_t first = rows < 0 ? 0 : entry_for(most, rows);
  Bench bench;
  std::printf("rows_up_to,rows,%s", kColumns);
  for (size_t e = first; e < (rows < 0 ? table.size() : first + 1); ++e) {
    const long taken = rows < 0 ? most[e] : rows;
    bench.label(std::to_string(most[e]) + "," + std::to_string(taken) + ",");
    std::vector<GpuKernel> kernels;
    for (const auto& make : table[e].kernels) kernels.push_back(make(taken));
    for (const GpuKernel& k : kernels) bench.run(k);
    if (kernels.size() > 1) bench.run_program(kernels);
  }
  return bench.status();
}

}  // namespace ff
