#include "cuda/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "cuda/headers.h"
#include "cuda/launch_text.h"
#include "cuda/print.h"
#include "cuda/reference.h"
#include "cuda/text.h"

namespace fuseflow::cuda {
namespace {

std::vector<const Generated*> made(const std::vector<Generated>& kernels) {
  std::vector<const Generated*> all;
  for (const Generated& g : kernels) {
    if (g.refused.empty()) all.push_back(&g);
  }
  return all;
}

/// A region that has no kernel, where its statements can be run on the GPU plainly.
struct PlainRegion {
  size_t region = 0;
  std::string name;
  std::vector<TensorId> read, results;
};

/// Whether statements on the GPU have a tensor as it lies in memory.
bool is_plain(const Program& program, TensorId id, bool result) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  std::vector<int> order(tensor.format.mode_order.size());
  std::iota(order.begin(), order.end(), 0);
  return (result ? is_multiplied(tensor.type) : is_read(tensor.type)) &&
         tensor.format.all_dense() && tensor.format.mode_order == order;
}

/// In the order of their numbers.
std::vector<TensorId> tensors_of(const PlainRegion& plain) {
  std::vector<TensorId> all = plain.read;
  all.insert(all.end(), plain.results.begin(), plain.results.end());
  return all;
}

std::optional<PlainRegion> plain_region(const Program& program, size_t number) {
  const Region& region = program.regions[number];
  PlainRegion plain;
  plain.region = number;
  plain.name = fmt::format("r{}_", number);
  for (const char c : region.name)
    plain.name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const auto has = [](const std::vector<TensorId>& all, TensorId id) {
    return std::find(all.begin(), all.end(), id) != all.end();
  };
  for (const Statement& s : region.statements) {
    for (const Expr& node : s.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      if (!has(plain.results, node.tensor) && !has(plain.read, node.tensor))
        plain.read.push_back(node.tensor);
    }
    plain.results.push_back(s.result);
  }
  for (const bool result : {false, true}) {
    for (const TensorId id : result ? plain.results : plain.read) {
      if (!is_plain(program, id, result)) return std::nullopt;
    }
  }
  if (!why_no_statements(region, tensors_of(plain)).empty()) return std::nullopt;
  return plain;
}

std::string plain_file(const Program& program, const PlainRegion& plain) {
  std::string tensors;
  const std::vector<TensorId> all = tensors_of(plain);
  for (size_t i = 0; i < all.size(); ++i)
    tensors += tensor_text(program, all[i], i >= plain.read.size(), nullptr);
  return fmt::format(
      "// Region {0}, which has no kernel: its statements, for the program as a whole.\n"
      "#include \"run.h\"\n\nstatic constexpr ff::Tensor {0}_tensors[] = {{\n{1}}};\n{2}\n"
      "ff::GpuKernel {0}_gpu() {{\n  return {{\"{0}\", {{}}, {0}_tensors, {3}, nullptr, 0, "
      "nullptr, "
      "0, {0}_statements, {{}}, 0, ff::Type::f32, false}};\n}}\n",
      plain.name, tensors,
      statements_text(program, program.regions[plain.region], plain.name, all, nullptr),
      all.size());
}

/// Numbers of the regions without a kernel: of tiles or not.
std::vector<size_t> regions_without(const Program& program,
                                    const std::vector<const Generated*>& kernels) {
  std::vector<size_t> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const bool there = std::any_of(kernels.begin(), kernels.end(),
                                   [&](const Generated* g) { return g->region == r; });
    if (!there) all.push_back(r);
  }
  return all;
}

std::string quoted_name(const Region& region) {
  std::string name = "@";
  for (const char c : region.name)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return "\"" + name + "\"";
}

std::string host_file(const Program& program, const std::vector<const Generated*>& kernels) {
  std::string text =
      "// Runs the kernels on the CPU, on the data of the folder data, and compares.\n";
  for (const Generated* g : kernels) text += fmt::format("#include \"{}.gen.h\"\n", g->name);
  text += "#include \"run.h\"\n\nint main(int argc, char** argv) {\n  ff::Runs runs(argc, argv);\n";
  for (const size_t region : regions_without(program, kernels))
    text += fmt::format("  runs.without({});\n", quoted_name(program.regions[region]));
  for (const Generated* g : kernels) {
    text += fmt::format("  FF_RUN(runs, {});\n", g->name);
  }
  return text + "  return runs.status();\n}\n";
}

/// run.cu: `names` are the regions in the order of the program, `without` those that cannot be run.
std::string gpu_file(const std::vector<std::string>& names,
                     const std::vector<std::string>& without) {
  std::string text =
      "// Checks the kernels on the GPU, then times them and what a library does in their "
      "place.\n#include \"run_all.h\"\n\n";
  std::vector<std::string> calls;
  for (const std::string& name : names) {
    text += fmt::format("ff::GpuKernel {}_gpu();\n", name);
    calls.push_back(name + "_gpu()");
  }
  return text + fmt::format(
                    "\nint main(int argc, char** argv) {{\n  return ff::run_all(argc, argv, "
                    "{{{}}}, {{{}}});\n}}\n",
                    fmt::join(calls, ", "), fmt::join(without, ", "));
}

std::string make_file(const std::vector<std::string>& names) {
  std::string objects;
  for (const std::string& name : names) objects += " " + name + ".o";
  return fmt::format(
      "# make host: the kernels on the CPU. make gpu: for compute capability 9.0 (nvcc 12.5 or "
      "newer).\n"
      "NVCC ?= nvcc\nNVCCFLAGS ?= -std=c++20 -O3 --expt-relaxed-constexpr -Xptxas -v -gencode "
      "arch=compute_90a,code=sm_90a\n"
      "CXXFLAGS ?= -std=c++20 -O2\nHEADERS = $(wildcard *.gen.h shared/*.h gpu/*.h host/*.h) "
      "instructions.h\n\n"
      "host: run_host\ngpu: run\n\n"
      "run_host: run_host.cpp $(HEADERS)\n\t$(CXX) $(CXXFLAGS) -Ihost -Ishared -I. run_host.cpp -o "
      "$@\n\n"
      "%.o: %.cu $(HEADERS)\n\t$(NVCC) $(NVCCFLAGS) -Igpu -Ishared -I. -c $< -o $@\n\n"
      "run: run.o{0}\n\t$(NVCC) -o $@ $^ -lcublasLt -lcublas\n\n.PHONY: host gpu\n",
      objects);
}

}  // namespace

std::string kernel_file(const Program& program, const Generated& g) {
  const bool table = g.kernel.table != nullptr;
  const auto field = [&](const char* in_table, const char* alone) {
    return table ? fmt::format("of.{}", in_table) : fmt::format("{}_schedule::{}", g.name, alone);
  };
  const std::string tensors = field("tensors", "kTensors"), views = field("views", "kViews");
  return fmt::format(
      "// Kernel {0} for the GPU, and what run.cu needs to launch and to check it.\n"
      "#include \"{0}.gen.h\"\n#include \"instructions.h\"\n#include \"run.h\"\n\n"
      "{1}\n"
      "ff::GpuKernel {0}_gpu({4}) {{\n{5}  return {{\"{0}\", {6}, "
      "{7}, std::size({7}),\n"
      "          {8}, std::size({8}), reinterpret_cast<const "
      "void*>({0}),\n"
      "          {0}_schedule::Core::kBlock, {0}_statements, {2}, {3}, {10}{9}}};\n}}\n",
      g.name,
      statements_text(program, program.regions[g.region], g.name, tensors_of(g.kernel),
                      g.kernel.table),
      rivals_text(g), type_text(g.kernel.element), table ? "long rows" : "",
      table ? fmt::format("  const auto& of = ff::of_rows<{}_schedule::OfRows>(rows);\n", g.name)
            : "",
      field("launch", "kLaunch"), tensors, views, table ? ", rows" : "",
      g.kernel.steps.has_value());
}

std::vector<TextFile> common_files(const std::vector<std::string>& names,
                                   const std::set<ProductForm>& forms) {
  std::vector<TextFile> files{{"instructions.h", instructions_text({forms.begin(), forms.end()})},
                              {"Makefile", make_file(names)}};
  for (const HeaderText& header : kHeaders) files.push_back({header.path, header.text});
  return files;
}

std::set<TensorId> tensors_to_run(const Program& program, const std::vector<Generated>& kernels) {
  std::set<TensorId> tensors;
  const std::vector<const Generated*> all = made(kernels);
  for (const Generated* g : all) {
    for (const TensorId id : tensors_of(g->kernel)) tensors.insert(id);
  }
  for (const size_t region : regions_without(program, all)) {
    if (const auto plain = plain_region(program, region)) {
      for (const TensorId id : tensors_of(*plain)) tensors.insert(id);
    }
  }
  return tensors;
}

std::vector<TextFile> files_of(const Program& program, const std::vector<Generated>& kernels) {
  std::vector<TextFile> files;
  const std::vector<const Generated*> all = made(kernels);
  std::set<ProductForm> forms;
  for (const Generated* g : all) {
    files.push_back({g->name + ".gen.h", g->schedule});
    files.push_back({g->name + ".cu", kernel_file(program, *g)});
    for (const ProductForm& form : product_forms(g->kernel)) forms.insert(form);
  }
  std::map<size_t, std::string> names;  // by region
  for (const Generated* g : all) names[g->region] = g->name;
  std::vector<std::string> without;
  for (const size_t region : regions_without(program, all)) {
    const auto plain = plain_region(program, region);
    if (plain) files.push_back({plain->name + ".cu", plain_file(program, *plain)});
    if (plain) names[region] = plain->name;
    if (!plain) without.push_back(quoted_name(program.regions[region]));
  }
  std::vector<std::string> in_order;
  for (const auto& [region, name] : names) in_order.push_back(name);
  files.push_back({"run.cu", gpu_file(in_order, without)});
  files.push_back({"run_host.cpp", host_file(program, all)});
  for (TextFile& file : common_files(in_order, forms)) files.push_back(std::move(file));
  return files;
}

}  // namespace fuseflow::cuda
