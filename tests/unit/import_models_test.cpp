// Every exported model of testdata/models: import, evaluate the statements directly, compare with
// PyTorch's own result. What this leaves out (fusion, lowering, time) is tested elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/import.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "reference/reference.h"
#include "source_dir.h"
#include "tensor/npy.h"

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

fs::path models_dir() {
  const char* other = std::getenv("FUSEFLOW_MODELS");
  return other != nullptr ? fs::path(other) : fs::path(source_dir()) / "testdata/models";
}

struct Case {
  ImportOptions options;
  std::map<std::string, std::string> expected;
};

/// case.txt: one --bind, --dim or --expect option a line.
Case read_case(const std::string& name) {
  Case c;
  std::ifstream file(models_dir() / name / "case.txt");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string option;
    std::string value;
    words >> option >> value;
    const size_t equals = value.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = value.substr(0, equals);
    const std::string rest = value.substr(equals + 1);
    if (option == "--bind") c.options.bindings[key] = parse_binding(rest);
    if (option == "--dim") c.options.dims[key] = std::stoll(rest);
    if (option == "--expect") c.expected[key] = rest;
  }
  return c;
}

std::vector<std::shared_ptr<const Storage>> load_inputs(const Program& program) {
  std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
  for (size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.role != Role::input && tensor.role != Role::constant) continue;
    inputs[t] = std::make_shared<const Storage>(
        load(tensor.source, known_shape(tensor), tensor.format, tensor.fill));
  }
  return inputs;
}

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, ImportAndEvaluateAsInPyTorch) {
  register_onnx_sources();
  fs::current_path(models_dir());
  const Case c = read_case(GetParam());
  Program program;
  try {
    program = import_onnx(GetParam() + ".onnx", c.options);
  } catch (const Error& error) {
    const std::string why = error.what();
    if (why.find("is not supported") != std::string::npos) GTEST_SKIP() << why;
    FAIL() << why;
  }
  verify(program);
  const std::string text = print_program(program);
  EXPECT_EQ(print_program(parse_program({"program", text})), text);
  const std::vector<Value> values = evaluate(program, load_inputs(program));
  for (const auto& [name, file] : c.expected) {
    const TensorId id = find_tensor(program, name);
    ASSERT_GE(id, 0) << name;
    RawTensor raw = read_npy(file);
    const auto rank = static_cast<int>(raw.shape.size());
    Value expected =
        value_of(std::make_shared<const Storage>(to_storage(std::move(raw), dense_format(rank))));
    ASSERT_EQ(values[static_cast<size_t>(id)].elements(), expected.elements());
    expected.shape = values[static_cast<size_t>(id)].shape;
    const Comparison comparison = compare(values[static_cast<size_t>(id)], expected);
    EXPECT_TRUE(comparison.passes(1e-4))
        << name << ": error " << comparison.max_abs_error << " of " << comparison.max_abs_expected
        << " at " << comparison.worst;
  }
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(models_dir())) {
    if (fs::exists(entry.path() / "case.txt")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Exported, Models, testing::ValuesIn(model_names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           for (char& ch : name)
                             ch = std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
                           return name;
                         });

}  // namespace
}  // namespace fuseflow
