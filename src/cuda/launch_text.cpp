#include "cuda/launch_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cuda/print.h"
#include "cuda/refuse.h"

namespace fuseflow::cuda {
namespace {

class LaunchPrinter {
 public:
  LaunchPrinter(const Program& program, const Kernel& kernel, const TensorNumbers& numbers)
      : program_(program), kernel_(kernel), numbers_(numbers) {}

  LaunchText run() {
    const std::vector<std::string> views = view_lines();
    if (kernel_.table == nullptr) {
      text_.text = fmt::format("constexpr ff::Launch kLaunch{{{}}};\n", launch_fields());
      array("constexpr ff::Tensor kTensors[]", kTensors, tensor_lines());
      array("constexpr ff::View kViews[]", kViews, views);
    } else {
      const std::vector<std::string> tensors = tensor_lines();
      text_.text = fmt::format(
          "constexpr int kScratchpad = {};\n/// What a launch on so many rows needs.\n"
          "struct OfRows {{\n  long rows;\n  ff::Launch launch{{{}}};\n",
          kernel_.scratchpad, launch_fields());
      array(fmt::format("  ff::Tensor tensors[{}]", tensors.size()), kTensors, tensors);
      array(fmt::format("  ff::View views[{}]", views.size()), kViews, views);
      text_.text += "};\n";
    }
    return std::move(text_);
  }

 private:
  static constexpr const char* kTensors = "Tensors, in the order of params.";
  static constexpr const char* kViews =
      "What the copy engine copies from: tensor, outer, inner, batches, pitch, pitch of a batch, "
      "box, what of it a tile has.";

  void array(const std::string& what, const char* comment, const std::vector<std::string>& lines) {
    const char* const indent = what[0] == ' ' ? "  " : "";
    text_.text += fmt::format("{3}// {0}\n{1} = {{\n{2}{3}}};\n", comment, what,
                              fmt::join(lines, ""), indent);
  }

  /// What grows with the steps of rows.
  std::string of_steps(int64_t all, bool grows, bool is_int) const {
    const LaunchRows& rows = kernel_.rows;
    if (rows.dim < 0 || !grows) return std::to_string(all);
    const int64_t step = all / rows.steps;
    const std::string text = step == 1 ? steps_text(rows, "rows")
                                       : fmt::format("{} * ({})", step, steps_text(rows, "rows"));
    return is_int ? fmt::format("static_cast<int>({})", text) : text;
  }
  std::string launch_fields() const {
    const Finish& finish = kernel_.finish;
    const bool adds = finish.adders > 1;
    return fmt::format("{}, {}, {}, {}, {}, {}",
                       of_steps(kernel_.clusters, kernel_.rows.over_clusters, true), kernel_.cores,
                       kernel_.scratchpad, kernel_.groups,
                       of_steps(adds ? finish.tiles * finish.tile_elements : 0, adds, false),
                       of_steps(adds ? finish.counters : 0, adds, true));
  }

  std::vector<std::string> tensor_lines() const {
    std::vector<std::string> lines;
    for (const TensorId id : tensors_of(kernel_)) {
      const bool result =
          std::any_of(kernel_.results.begin(), kernel_.results.end(),
                      [&](const ElementAt& element) { return element.tensor == id; });
      lines.push_back(tensor_text(program_, id, result, kernel_.table));
    }
    return lines;
  }

  std::string view_line(const Load& load, const ElementAt& element) const {
    const chip::TensorView& view = *load.view;
    const int64_t outer = load.matrix.outer(), box = outer <= 256       ? outer
                                                     : outer % 256 == 0 ? 256
                                                     : outer % 128 == 0 ? 128
                                                                        : 8;
    const int64_t there = element.dims[load.matrix.by_rows ? 0 : 1].block;
    const int64_t beside = element.dims[load.matrix.by_rows ? 1 : 0].block;
    const std::string elements =
        load.outer_rows || load.batch_rows ? times_rows("rows", kernel_.rows.inner) : "";
    // Of one matrix the pitch of a batch is its size.
    const std::string batch_pitch = load.outer_rows && view.batches == 1
                                        ? fmt::format("{} * {}", elements, view.pitch)
                                        : std::to_string(view.batch_pitch);
    return fmt::format(
        "    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},  // {}\n", numbers_.at(element.tensor),
        load.outer_rows ? elements : std::to_string(view.outer), view.inner,
        load.batch_rows ? elements : std::to_string(view.batches), view.pitch, batch_pitch, box,
        load.matrix.panel(), box == outer ? there : box, beside, load.name);
  }

  std::vector<std::string> view_lines() {
    std::vector<std::string> lines;
    for (const Load& load : kernel_.loads) {
      if (!load.view) continue;
      text_.view_of[load.name] = static_cast<int>(lines.size());
      lines.push_back(view_line(load, load.element));
      if (load.second_branch) lines.push_back(view_line(load, *load.second_branch));
    }
    if (lines.size() > static_cast<size_t>(kMostViews))
      throw Refused{fmt::format("{} tensors to copy, more than {}", lines.size(), kMostViews)};
    if (lines.empty()) lines.emplace_back("    {0, 1, 1, 1, 8, 8, 8, 8, 8, 8},  // none\n");
    return lines;
  }

  const Program& program_;
  const Kernel& kernel_;
  const TensorNumbers& numbers_;
  LaunchText text_;
};

}  // namespace

LaunchText launch_text(const Program& program, const Kernel& kernel, const TensorNumbers& numbers) {
  return LaunchPrinter(program, kernel, numbers).run();
}

std::string tensor_text(const Program& program, TensorId id, bool result, const TableRows* table) {
  const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
  std::string name;
  for (const char c : tensor.name) {
    if (c == '"' || c == '\\') name += '\\';
    name += static_cast<unsigned char>(c) < 0x20 ? '_' : c;
  }
  return fmt::format("    {{\"{}\", {}, {}, {}, {}}},\n", name, type_text(tensor.type),
                     elements_text(program, id, table, "rows"), result ? "true" : "false",
                     table == nullptr ? id : table->numbers.at(id));
}

std::string dim_text(const Kernel& kernel, int dim, const std::string& rows) {
  if (kernel.rows.dim == dim) return times_rows(rows, kernel.rows.inner);
  return std::to_string(kernel.graph->indices[static_cast<size_t>(dim)].elements());
}

}  // namespace fuseflow::cuda
