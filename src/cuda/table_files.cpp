// The files of a table of kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "cuda/files.h"
#include "cuda/print.h"

namespace fuseflow::cuda {
namespace {

struct NamedKernel {
  const Program* program = nullptr;
  const Generated* made = nullptr;
};

/// Every kernel once.
std::map<std::string, NamedKernel> kernels_of(const std::vector<TableEntry>& table) {
  std::map<std::string, NamedKernel> all;
  for (const TableEntry& entry : table) {
    for (const Generated& g : entry.kernels) all.emplace(g.name, NamedKernel{&entry.program, &g});
  }
  return all;
}

std::string host_file(const std::vector<TableEntry>& table, const std::vector<std::string>& names) {
  std::string text =
      "// Runs the kernels of a number of rows on the CPU, on the first rows of the folder data, "
      "and compares.\n";
  for (const std::string& name : names) text += fmt::format("#include \"{}.gen.h\"\n", name);
  std::vector<int64_t> most;
  for (const TableEntry& entry : table) most.push_back(entry.rows.most);
  text += fmt::format(
      "#include \"run.h\"\n\nint main(int argc, char** argv) {{\n  ff::Runs runs(argc, argv, "
      "{{{}}});\n",
      fmt::join(most, ", "));
  for (const TableEntry& entry : table) {
    text += fmt::format("  if (runs.begin({})) {{\n", entry.rows.most);
    for (const Generated& g : entry.kernels)
      text += fmt::format("    FF_RUN_ROWS(runs, {});\n", g.name);
    text += "  }\n";
  }
  return text + "  return runs.status();\n}\n";
}

std::string gpu_file(const std::vector<TableEntry>& table, const std::vector<std::string>& names) {
  std::string text =
      "// Which kernels a number of rows takes; checks them on the GPU, then times them and what a "
      "library does in their place.\n#include \"run_all.h\"\n\n";
  for (const std::string& name : names)
    text += fmt::format("ff::GpuKernel {}_gpu(long rows);\n", name);
  text += "\nint main(int argc, char** argv) {\n  return ff::run_table(argc, argv, {\n";
  for (const TableEntry& entry : table) {
    std::vector<std::string> calls;
    for (const Generated& g : entry.kernels) calls.push_back(g.name + "_gpu");
    text += fmt::format("      {{{}, {{{}}}}},\n", entry.rows.most, fmt::join(calls, ", "));
  }
  return text + "  });\n}\n";
}

}  // namespace

std::vector<TextFile> files_of(const std::vector<TableEntry>& table) {
  std::vector<TextFile> files;
  std::vector<std::string> names;
  std::set<ProductForm> forms;
  for (const auto& [name, kernel] : kernels_of(table)) {
    names.push_back(name);
    files.push_back({name + ".gen.h", kernel.made->schedule});
    files.push_back({name + ".cu", kernel_file(*kernel.program, *kernel.made)});
    for (const ProductForm& form : product_forms(kernel.made->kernel)) forms.insert(form);
  }
  files.push_back({"run.cu", gpu_file(table, names)});
  files.push_back({"run_host.cpp", host_file(table, names)});
  for (TextFile& file : common_files(names, forms)) files.push_back(std::move(file));
  return files;
}

}  // namespace fuseflow::cuda
