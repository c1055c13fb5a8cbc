// Data as bytes in hexadecimal, which MLIR's parser takes for dense elements.
#include "linalg/write_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cstring>

#include "linalg/write_text.h"
#include "support/error.h"
#include "tensor/source.h"
#include "tensor/storage.h"

namespace fuseflow {

namespace {

/// The text of a constant grows by eight bytes an element.
constexpr int64_t kLargestConstant = int64_t{1} << 24;

std::string hexadecimal(const std::vector<float>& values) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text = "0x";
  text.reserve(2 + 8 * values.size());
  for (const float value : values) {
    unsigned char bytes[sizeof(float)];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char byte : bytes) {
      text += kDigits[byte / 16];
      text += kDigits[byte % 16];
    }
  }
  return text;
}

std::string elements(const Tensor& tensor) {
  const std::vector<int64_t> shape = known_shape(tensor);
  if (element_count(shape) > kLargestConstant)
    throw Error(ExitCode::rejected,
                fmt::format("%{} has {} elements, of which a text would be too large; expected at "
                            "most {}: write without --main, and bind the data where it is run",
                            tensor.name, element_count(shape), kLargestConstant));
  LoadOptions load;
  load.element = tensor.type;
  return hexadecimal(
      to_dense(fuseflow::load(tensor.source, shape, tensor.format, tensor.fill, load)));
}

}  // namespace

std::string main_function(const std::string& callee, const std::vector<LinalgData>& arguments,
                          const std::vector<LinalgData>& results) {
  std::string text = "  func.func @main() {\n";
  std::vector<std::string> names, types, made;
  for (const LinalgData& a : arguments) {
    const std::vector<int64_t> shape = known_shape(*a.tensor);
    std::string name = fmt::format("%dense{}", names.size());
    text += fmt::format("    {} = arith.constant dense<\"{}\"> : {}\n", name, elements(*a.tensor),
                        mlir_type(shape));
    if (!a.encoding.empty()) {
      const std::string sparse = fmt::format("%sparse{}", names.size());
      text += fmt::format("    {} = sparse_tensor.convert {} : {} to {}\n", sparse, name,
                          mlir_type(shape), mlir_type(shape, a.encoding));
      name = sparse;
    }
    names.push_back(name);
    types.push_back(mlir_type(shape, a.encoding));
  }
  for (const LinalgData& r : results) made.push_back(mlir_type(known_shape(*r.tensor), r.encoding));
  const std::string left = results.empty() ? "" : fmt::format("%made:{} = ", results.size());
  text += fmt::format("    {}func.call @{}({}) : ({}) -> ({})\n", left, callee,
                      fmt::join(names, ", "), fmt::join(types, ", "), fmt::join(made, ", "));
  for (size_t r = 0; r < results.size(); ++r) {
    std::string name = fmt::format("%made#{}", r);
    const std::string dense = mlir_type(known_shape(*results[r].tensor));
    if (!results[r].encoding.empty()) {
      text += fmt::format("    %result{} = sparse_tensor.convert {} : {} to {}\n", r, name, made[r],
                          dense);
      name = fmt::format("%result{}", r);
    }
    text += fmt::format("    %printed{} = tensor.cast {} : {} to tensor<*xf32>\n", r, name, dense);
    text += fmt::format("    func.call @printMemrefF32(%printed{}) : (tensor<*xf32>) -> ()\n", r);
  }
  return text + "    return\n  }\n  func.func private @printMemrefF32(tensor<*xf32>)\n";
}

std::string function_name(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result = "_" + result;
  return result == "main" ? "main_" : result;
}

std::string quote_for_mlir(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '"' || c == '\\')
      result += fmt::format("\\{:02X}", byte);
    else
      result += c;
  }
  return result;
}

std::string printable_comment(const std::string& text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return result;
}

}  // namespace fuseflow
