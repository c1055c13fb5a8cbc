// Fuzzes the importer: any bytes are a model, or are rejected. Inputs are bound to small generators
// of the shapes that the model states, so that conversion is reached.
#include <cstddef>
#include <cstdint>

#include "import/import.h"
#include "import/onnx/model.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuseflow;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const OnnxModel model = parse_onnx(bytes, "fuzz.onnx");
    ImportOptions options;
    for (const OnnxPort& port : model.inputs) {
      std::vector<int64_t> shape;
      int64_t elements = 1;
      for (const OnnxDim& d : port.shape.value_or(std::vector<OnnxDim>{{2, ""}, {2, ""}})) {
        shape.push_back(d.value >= 0 ? d.value : 2);
        if (__builtin_mul_overflow(elements, shape.back(), &elements) || elements > 4096) return 0;
      }
      options.shapes[port.name] = std::move(shape);
    }
    const Program program = import_onnx_bytes(bytes, "fuzz.onnx", options);
    verify(program);
    print_program(program);
  } catch (const Error&) {  // a Defect is none
  }
  return 0;
}
