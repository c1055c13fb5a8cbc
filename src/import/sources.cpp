// Constants by reference: which source a constant gets, and the loader that reads it back. A
// constant that is an initializer as it stands is found by name; one that the importer derived
// (folded, sliced, a selection matrix) by doing the same import again up to its constants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "import/finish/finalize.h"
#include "import/finish/infer.h"
#include "import/importer.h"
#include "import/onnx/weights_files.h"
#include "support/error.h"
#include "tensor/derived.h"

namespace fuseflow {

namespace {

/// What `derived=` holds: each option that the constants of the program depend on.
std::string derivation(const DraftProgram& draft, const ImportOptions& options) {
  std::vector<DerivedOption> lines;
  if (options.follow_links) lines.push_back({"links", "follow", "1"});
  for (const auto& [name, n] : options.dims) lines.push_back({"dim", name, fmt::format("{}", n)});
  for (const auto& [name, text] : options.formats) lines.push_back({"format", name, text});
  for (const InputUse& input : draft.inputs) {
    if (input.constant)
      lines.push_back({"bind", input.name, to_string(input.source)});
    else
      lines.push_back({"shape", input.name, fmt::format("{}", fmt::join(input.shape, ","))});
  }
  return print_derived(lines);
}

[[noreturn]] void malformed(const DerivedOption& option) {
  throw Error(ExitCode::rejected,
              fmt::format("onnx(..., derived=...): '{}' is not an option of an import",
                          print_derived({option})));
}

int64_t number(std::string_view text, const DerivedOption& option) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) malformed(option);
  return value;
}

std::vector<int64_t> numbers(const DerivedOption& option) {
  std::vector<int64_t> result;
  std::string_view text = option.value;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    result.push_back(number(text.substr(0, comma), option));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return result;
}

ImportOptions parse_derivation(std::string_view text, const LoadOptions& load) {
  ImportOptions options;
  options.base_dir = load.base_dir;
  for (const DerivedOption& option : parse_derived(text)) {
    if (option.kind == "dim")
      options.dims[option.name] = number(option.value, option);
    else if (option.kind == "links")
      options.follow_links = true;
    else if (option.kind == "format")
      options.formats[option.name] = option.value;
    else if (option.kind == "bind")
      options.bindings[option.name] = parse_source(option.value);
    else if (option.kind == "shape")
      options.shapes[option.name] = numbers(option);
    else
      malformed(option);
  }
  return options;
}

RawTensor raw_of(const ConstantTensor& data, const std::string& origin) {
  RawTensor raw;
  raw.shape = data.shape;
  raw.element = data.type;
  raw.origin = origin;
  if (data.sparse()) {
    Coo entries{data.shape, std::vector<std::vector<uint32_t>>(data.shape.size()),
                data.entries().values.to_vector()};
    for (const int64_t position : data.entries().positions) {
      int64_t rest = position;
      for (size_t d = data.shape.size(); d-- > 0;) {
        entries.coords[d].push_back(static_cast<uint32_t>(rest % data.shape[d]));
        rest /= data.shape[d];
      }
    }
    raw.data = std::move(entries);
  } else if (!data.integral()) {
    raw.data = data.floats();
  } else {
    raw.data = Buffer<float>(std::vector<float>(data.ints().begin(), data.ints().end()));
    raw.integers = data.ints();
  }
  return raw;
}

/// Models and derived constants that were read before: a program refers to the same file many
/// times.
struct Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const OnnxModel>> models;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const DraftProgram>> drafts;
};

Cache& cache() {
  static Cache instance;
  return instance;
}

/// The value of the Constant node that defines `name`, in graphs inside of nodes, too.
ConstantPtr find_constant(const std::vector<OnnxNode>& nodes, const std::string& name) {
  for (const OnnxNode& node : nodes) {
    const bool defines = node.op == "Constant" && !node.outputs.empty() && node.outputs[0] == name;
    for (const auto& [key, a] : node.attributes) {
      if (defines && a.tensor) return a.tensor;
      ConstantPtr inside = a.graph ? find_constant(a.graph->nodes, name) : nullptr;
      if (inside) return inside;
    }
  }
  return nullptr;
}

ConstantPtr find_constant(const OnnxModel& model, const std::string& name) {
  const auto found = model.initializers.find(name);
  return found != model.initializers.end() ? found->second : find_constant(model.nodes, name);
}

RawTensor load_constant(const Source& source, const std::string& path, const LoadOptions& load) {
  const std::lock_guard lock(cache().mutex);
  ConstantPtr data;
  if (source.params.empty()) {
    auto& model = cache().models[path];
    if (!model) model = std::make_shared<const OnnxModel>(load_onnx(path));
    data = find_constant(*model, source.name);
  } else {
    auto& draft = cache().drafts[{path, source.params[0].second}];
    if (!draft) {
      const ImportOptions options = parse_derivation(source.params[0].second, load);
      Importer importer(load_onnx(path, options.follow_links), options);
      draft = std::make_shared<const DraftProgram>(importer.draft());
    }
    for (const Draft& d : draft->tensors) {
      if (d.tensor.name == source.name) data = d.data;
    }
    for (const FullyMaskedRows& rows : draft->closed_rows) {
      if (rows.vector_name == source.name) data = rows.vector;
      if (rows.matrix_name == source.name) data = rows.matrix;
    }
  }
  if (!data) {
    throw Error(
        ExitCode::rejected, Location{path},
        fmt::format("the model has no constant '{}'; it changed since the program was written",
                    source.name));
  }
  return raw_of(*data, path);
}

}  // namespace

Source constant_source(const Draft& constant, const std::string& name, const DraftProgram& draft,
                       const OnnxModel& model, const ImportOptions& options) {
  Source source;
  source.kind = Source::Kind::onnx;
  source.path = model.path;
  // What may be read only because the user said so is not found by a name alone.
  const bool derived = constant.initializer.empty() || options.follow_links;
  source.name = derived ? name : constant.initializer;
  if (derived) source.params.emplace_back("derived", derivation(draft, options));
  return source;
}

void register_onnx_sources() {
  const std::lock_guard lock(cache().mutex);
  cache().models.clear();
  cache().drafts.clear();
  register_onnx_loader(load_constant, weights_files);
}

}  // namespace fuseflow
