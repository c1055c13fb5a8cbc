#include "cuda/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cuda/headers.h"
#include "cuda/instructions.h"
#include "cuda/print.h"
#include "cuda/reference.h"

namespace fuseflow::cuda {
namespace {

std::vector<const Generated*> made(const std::vector<Generated>& kernels) {
  std::vector<const Generated*> all;
  for (const Generated& g : kernels) {
    if (g.refused.empty()) all.push_back(&g);
  }
  return all;
}

std::string kernel_file(const Program& program, const Generated& g) {
  return fmt::format(
      "// Kernel {0} for the GPU, and what run.cu needs to launch and to check it.\n"
      "#include \"{0}.gen.h\"\n#include \"instructions.h\"\n#include \"run.h\"\n\n"
      "{1}\n"
      "ff::GpuKernel {0}_gpu() {{\n  return {{\"{0}\", {0}_schedule::kLaunch, "
      "{0}_schedule::kTensors, std::size({0}_schedule::kTensors),\n"
      "          {0}_schedule::kViews, std::size({0}_schedule::kViews), reinterpret_cast<const "
      "void*>({0}),\n"
      "          ff::CoreOf<{0}_schedule::kGroups>::kBlock, {0}_reference, {2}}};\n}}\n",
      g.name, reference_text(program, g), rivals_text(program, g));
}

/// Names of regions that are not run: those of tiles without a kernel, and those without tiles.
std::vector<std::string> regions_without(const Program& program,
                                         const std::vector<const Generated*>& kernels) {
  std::vector<std::string> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const bool there = std::any_of(kernels.begin(), kernels.end(),
                                   [&](const Generated* g) { return g->region == r; });
    if (there) continue;
    std::string name = "@";
    for (const char c : program.regions[r].name)
      name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    all.push_back("\"" + name + "\"");
  }
  return all;
}

std::string host_file(const Program& program, const std::vector<const Generated*>& kernels) {
  std::string text =
      "// Runs the kernels on the CPU, on the data of the folder data, and compares.\n";
  for (const Generated* g : kernels) text += fmt::format("#include \"{}.gen.h\"\n", g->name);
  text += "#include \"run.h\"\n\nint main(int argc, char** argv) {\n  ff::Runs runs(argc, argv);\n";
  for (const std::string& name : regions_without(program, kernels))
    text += fmt::format("  runs.without({});\n", name);
  for (const Generated* g : kernels) {
    text += fmt::format("  FF_RUN(runs, {});\n", g->name);
  }
  return text + "  return runs.status();\n}\n";
}

std::string gpu_file(const Program& program, const std::vector<const Generated*>& kernels) {
  std::string text =
      "// Checks the kernels on the GPU, then times them and what a library does in their "
      "place.\n#include \"run_all.h\"\n\n";
  for (const Generated* g : kernels) text += fmt::format("ff::GpuKernel {}_gpu();\n", g->name);
  text += "\nint main(int argc, char** argv) {\n  return ff::run_all(argc, argv, {";
  std::vector<std::string> calls;
  for (const Generated* g : kernels) calls.push_back(g->name + "_gpu()");
  return text + fmt::format("{}}}, {{{}}});\n}}\n", fmt::join(calls, ", "),
                            fmt::join(regions_without(program, kernels), ", "));
}

std::string make_file(const std::vector<const Generated*>& kernels) {
  std::string objects;
  for (const Generated* g : kernels) objects += " " + g->name + ".o";
  return fmt::format(
      "# make host: the kernels on the CPU. make gpu: for compute capability 9.0 (nvcc 12.3 or "
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

std::vector<TextFile> files_of(const Program& program, const std::vector<Generated>& kernels) {
  std::vector<TextFile> files;
  const std::vector<const Generated*> all = made(kernels);
  std::set<ProductForm> forms;
  for (const Generated* g : all) {
    files.push_back({g->name + ".gen.h", g->schedule});
    files.push_back({g->name + ".cu", kernel_file(program, *g)});
    for (const ProductForm& form : product_forms(g->kernel)) forms.insert(form);
  }
  files.push_back({"instructions.h", instructions_text({forms.begin(), forms.end()})});
  files.push_back({"run.cu", gpu_file(program, all)});
  files.push_back({"run_host.cpp", host_file(program, all)});
  files.push_back({"Makefile", make_file(all)});
  for (const HeaderText& header : kHeaders) files.push_back({header.path, header.text});
  return files;
}

}  // namespace fuseflow::cuda
