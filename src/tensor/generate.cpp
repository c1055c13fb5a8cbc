// The table of generators, their parameters, and the dense ones. Patterns are in patterns.cpp.
#include "tensor/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/error.h"
#include "support/suggest.h"
#include "tensor/limits.h"
#include "tensor/params.h"
#include "tensor/patterns.h"
#include "tensor/value_option.h"

namespace fuseflow {

namespace {

using Shape = std::vector<int64_t>;

/// The shape that the generator's own one and the expected one agree on.
Shape agreed_shape(const Source& source, const std::optional<Shape>& expected) {
  const std::optional<Shape> own = Params(source.params, source.name).shape("shape");
  Shape shape = own ? *own : expected.value_or(Shape{-1});
  if (std::find(shape.begin(), shape.end(), -1) != shape.end()) {
    throw Error(ExitCode::rejected,
                fmt::format("{}: the shape is not known from the model, expected shape=[...] with "
                            "every extent",
                            to_string(source)));
  }
  element_count(shape);
  return shape;
}

/// All elements of a dense generator.
std::vector<float> dense_values(const Source& source, const Params& params, size_t count,
                                uint64_t seed) {
  if (source.name == "ones") return filled(count, 1.0F);
  if (source.name == "zeros") return filled(count, 0.0F);
  if (source.name == "constant") {
    if (!params.has("value")) params.fail("value", "a number: that of every element");
    return filled(count, static_cast<float>(params.real("value", 0, -3.4e38, 3.4e38)));
  }
  if (source.name == "arange") {
    const double start = params.real("start", 0, -1e18, 1e18);
    const double step = params.real("step", 1, -1e18, 1e18);
    std::vector<float> values = filled(count, 0.0F);
    PeriodicStopCheck stop;
    for (size_t e = 0; e < count; ++e) {
      stop.step();
      values[e] = static_cast<float>(start + step * static_cast<double>(e));
    }
    return values;
  }
  if (source.name == "normal") {
    const double mean = params.real("mean", 0, -1e30, 1e30);
    const double deviation = params.real("std", 1, 0, 1e30);
    return ValueOption(fmt::format("normal({},{})", mean, deviation)).draw_all(count, seed);
  }
  return ValueOption(params.text("values", "uniform(-1,1)")).draw_all(count, seed);
}

std::string key_list(const GeneratorSpec& spec) {
  std::vector<std::string_view> keys = spec.keys;
  keys.insert(keys.begin(), "shape");
  keys.push_back("seed");
  keys.push_back("nnz");
  return fmt::format("{}", fmt::join(keys, ", "));
}

const std::vector<GeneratorSpec>& generator_specs() {
  static const std::vector<GeneratorSpec> kSpecs = {
      {"dense", {"values"}, false},
      {"normal", {"mean", "std"}, false},
      {"ones", {}, false},
      {"zeros", {}, false},
      {"constant", {"value"}, false},
      {"arange", {"start", "step"}, false},
      {"uniform", {"density", "values"}, true},
      {"power_law", {"density", "edges", "alpha", "values"}, true},
      {"rmat", {"density", "edges", "a", "b", "c", "values"}, true},
      {"block_diagonal", {"block", "density", "values"}, true},
      {"bigbird", {"block", "random", "values"}, true},
      {"banded", {"lower", "upper", "values"}, true},
      {"causal", {"values"}, true},
      {"sliding_window", {"window", "causal", "values"}, true},
  };
  return kSpecs;
}

}  // namespace

const GeneratorSpec& find_generator(std::string_view name) {
  std::vector<std::string> names;
  for (const GeneratorSpec& spec : generator_specs()) {
    if (spec.name == name) return spec;
    names.emplace_back(spec.name);
  }
  std::vector<std::string> near = names;
  near.insert(near.end(), {"file", "onnx", "values"});
  throw Error(
      ExitCode::rejected,
      fmt::format("unknown source '{}'{}, expected file, onnx, values or a generator: {}", name,
                  did_you_mean(name, near, {}, " (did you mean '", "'?)"), fmt::join(names, ", ")));
}

std::vector<std::pair<std::string, std::string>> canonical_params(
    const GeneratorSpec& spec, std::vector<std::pair<std::string, std::string>> params) {
  std::vector<std::string> order;
  if (spec.name != "file") order.emplace_back("shape");
  if (spec.name != "file") order.emplace_back("from_shape");
  order.insert(order.end(), spec.keys.begin(), spec.keys.end());
  order.emplace_back("seed");
  const auto rank = [&](const std::string& key) {
    return std::find(order.begin(), order.end(), key) - order.begin();
  };
  for (const auto& [key, value] : params) {
    if (rank(key) == static_cast<std::ptrdiff_t>(order.size())) {
      throw Error(ExitCode::rejected,
                  fmt::format("{}: unknown key '{}'{}, expected {}", spec.name, key,
                              did_you_mean(key, order, {}, " (did you mean '", "'?)"),
                              spec.name == "file" ? "from_shape, levels, values, seed, nnz"
                                                  : key_list(spec)));
    }
  }
  std::stable_sort(params.begin(), params.end(),
                   [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  for (size_t k = 1; k < params.size(); ++k) {
    if (params[k].first != params[k - 1].first) continue;
    throw Error(ExitCode::rejected,
                fmt::format("{}: key '{}' is given twice", spec.name, params[k].first));
  }
  return params;
}

RawTensor generate(const Source& source, const std::optional<Shape>& expected) {
  const GeneratorSpec& spec = find_generator(source.name);
  const Params params(source.params, source.name);
  const Shape shape = agreed_shape(source, expected);
  const auto seed = static_cast<uint64_t>(params.integer("seed", 0, 0, INT64_MAX));
  RawTensor raw;
  raw.shape = shape;
  const bool full = spec.name == "uniform" && params.real("density", -1, 0, 1) == 1;
  if (spec.sparse && !full) {
    Coo entries = generate_pattern(source.name, params, shape, seed);
    const ValueOption option(params.text("values", default_values(source.name)));
    entries.values = option.draw_all(entries.coords.empty() ? 0 : entries.coords[0].size(), seed);
    raw.data = std::move(entries);
    return raw;
  }
  const auto count = static_cast<uint64_t>(element_count(shape));
  require_countable(count, source.name);
  require_memory(saturating_product(count, 2 * sizeof(float)), source.name);
  raw.data = Buffer<float>(dense_values(source, params, count, seed));
  return raw;
}

void assign_values(RawTensor& raw, std::string_view text, uint64_t seed) {
  const ValueOption option(text);
  if (Coo* entries = std::get_if<Coo>(&raw.data)) {
    entries->values = option.draw_all(entries->values.size(), seed);
    return;
  }
  throw Error(ExitCode::rejected, Location{raw.origin},
              "values= replaces the values of a sparse file, but this one is dense");
}

}  // namespace fuseflow
