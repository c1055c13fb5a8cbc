// The choices of onnx_draw.h. What an operator takes comes from the table of definitions, so that a
// new operator of the importer is drawn without a line here.
#include "onnx_draw.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "import/onnx/definitions.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using Shape = std::vector<int64_t>;

constexpr int64_t kMostElements = 1024;  ///< of an input or constant

/// The bytes as a sequence of choices.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  /// 0 .. n-1, n at most 256.
  size_t below(size_t n) {
    const auto byte = at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_]) : 0;
    ++at_;
    return byte % n;
  }
  /// True in one of n cases, not when the bytes have ended.
  bool one_in(size_t n) { return below(n) == n - 1; }
  template <typename T, size_t n>
  const T& pick(const std::array<T, n>& list) {
    return list[below(n)];
  }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

constexpr std::array<int, 16> kTypes = {
    TensorProto::FLOAT,  TensorProto::INT64,  TensorProto::BOOL,    TensorProto::FLOAT,
    TensorProto::DOUBLE, TensorProto::INT32,  TensorProto::FLOAT16, TensorProto::BFLOAT16,
    TensorProto::UINT8,  TensorProto::INT8,   TensorProto::UINT16,  TensorProto::INT16,
    TensorProto::UINT32, TensorProto::UINT64, TensorProto::STRING,  TensorProto::COMPLEX64};
constexpr std::array<int64_t, 12> kSmallInts = {0, 1, -1, 2, 3, -2, 7, 4, -3, 5, 6, -4};
constexpr std::array<int64_t, 6> kWildInts = {std::numeric_limits<int64_t>::min(),
                                              std::numeric_limits<int64_t>::max(),
                                              int64_t{1} << 31,
                                              int64_t{1} << 62,
                                              -1000000007,
                                              65536};
constexpr std::array<float, 8> kTameFloats = {1, 0, -1, 0.5F, 2, -2, 3, 0};
constexpr std::array<float, 12> kWildFloats = {1,
                                               0,
                                               -1,
                                               -std::numeric_limits<float>::infinity(),
                                               -1e30F,
                                               -1e4F,
                                               0.5F,
                                               3,
                                               std::numeric_limits<float>::quiet_NaN(),
                                               std::numeric_limits<float>::infinity(),
                                               1e30F,
                                               -0.0F};
constexpr std::array<const char*, 20> kTexts = {
    "none",  "add",          "constant", "edge",  "reflect", "NOTSET",    "SAME_UPPER",
    "VALID", "SAME_LOWER",   "DCR",      "CRD",   "tanh",    "ij,jk->ik", "ij->ji",
    "mul",   "...ij->...ji", "i,j->ij",  "ii->i", "",        "ij,ij->"};
constexpr std::array<int64_t, 5> kExtents = {2, 3, 1, 7, 0};

int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t e : shape) count *= e;
  return count;
}

class Drawing {
 public:
  explicit Drawing(std::string_view bytes) : choices_(bytes) {}

  DrawnModel run() {
    result_.tame = choices_.below(2) == 0;
    // Mostly the newer ones, so that few nodes are refused for an operator of later opsets.
    opset_ =
        kNewestOpset - static_cast<int>(choices_.below(choices_.one_in(4) ? kNewestOpset : 15));
    result_.model.set_ir_version(8);
    auto* set = result_.model.add_opset_import();
    set->set_version(opset_);
    result_.model.mutable_graph()->set_name("fuzz");
    base_ = drawn_shape(choices_.pick(std::array<size_t, 8>{2, 3, 2, 4, 1, 3, 2, 5}));
    for (size_t n = 1 + choices_.below(3); n > 0; --n) add_input();
    for (size_t n = choices_.below(3); n > 0; --n) add_constant(drawn_type(), near_shape());
    for (size_t n = 1 + choices_.below(8); n > 0; --n) add_node();
    add_outputs();
    return std::move(result_);
  }

 private:
  struct Known {
    std::string name;
    int type = 0;
    bool computed = false;
  };

  onnx::GraphProto& graph() { return *result_.model.mutable_graph(); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(++names_); }

  int drawn_type() {
    if (result_.tame) return choices_.one_in(6) ? TensorProto::INT64 : TensorProto::FLOAT;
    return choices_.pick(kTypes);
  }

  int64_t drawn_extent() {
    const int64_t e = choices_.pick(kExtents);
    return e == 0 && choices_.below(3) != 0 ? 2 : e;
  }

  /// A shape of so many dimensions, often all alike, so that operators find what they expect.
  Shape drawn_shape(size_t rank) {
    Shape shape(rank, drawn_extent());
    if (choices_.below(2) == 0) return shape;
    for (int64_t& e : shape) e = drawn_extent();
    while (count_of(shape) > kMostElements) *std::max_element(shape.begin(), shape.end()) = 2;
    return shape;
  }

  /// A shape that has something to do with that of the others.
  Shape near_shape() {
    Shape shape = base_;
    switch (choices_.below(10)) {
      case 0:
        return drawn_shape(choices_.below(6));
      case 1:
        shape[choices_.below(shape.size())] = 1;
        return shape;
      case 2:
        shape.erase(shape.begin());
        return shape;
      case 3:
        return {shape.back()};
      case 4:
        shape[choices_.below(shape.size())] = drawn_extent();
        return shape;
      case 5:
        std::reverse(shape.begin(), shape.end());
        return shape;
      case 6:
        return {};
      default:
        return shape;
    }
  }

  int64_t drawn_int() {
    return !result_.tame && choices_.one_in(40) ? choices_.pick(kWildInts)
                                                : choices_.pick(kSmallInts);
  }
  float drawn_float() {
    if (!result_.tame) return choices_.pick(kWildFloats);
    return masks_ && choices_.one_in(3) ? mask_ : choices_.pick(kTameFloats);
  }

  void add_input() {
    const std::string name = fresh("x");
    int type = result_.tame ? TensorProto::FLOAT : drawn_type();
    if (type == TensorProto::STRING || type == TensorProto::COMPLEX64) type = TensorProto::FLOAT;
    const Shape shape = near_shape();
    auto* input = graph().add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    if (!choices_.one_in(12)) {
      tensor->mutable_shape();
      for (const int64_t e : shape) {
        auto* dim = tensor->mutable_shape()->add_dim();
        if (choices_.one_in(4))
          dim->set_dim_param("n" + std::to_string(e));
        else if (!choices_.one_in(12))
          dim->set_dim_value(e);
      }
    }
    std::string extents;
    for (const int64_t e : shape) extents += (extents.empty() ? "" : ",") + std::to_string(e);
    constexpr std::array<const char*, 3> kIntegers = {"dense(values=int(0,2),",
                                                      "dense(values=int(-2,3),", "ones("};
    constexpr std::array<const char*, 7> kFloats = {"dense(",
                                                    "uniform(density=0.5,",
                                                    "uniform(density=0.2,values=int(-2,3),",
                                                    "uniform(density=0,",
                                                    "dense(values=int(0,2),",
                                                    "uniform(density=1,",
                                                    "zeros("};
    const bool real = type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
                      type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
    const bool sparse = real && !shape.empty();
    const char* source = sparse ? choices_.pick(kFloats) : choices_.pick(kIntegers);
    result_.bindings[name] =
        std::string(source) + "shape=[" + extents + "],seed=" + std::to_string(names_) + ")";
    known_.push_back({name, type, true});
  }

  static void fill_typed(TensorProto& tensor, int64_t value, float real) {
    switch (tensor.data_type()) {
      case TensorProto::FLOAT:
        return tensor.add_float_data(real);
      case TensorProto::DOUBLE:
        return tensor.add_double_data(real);
      case TensorProto::INT64:
        return tensor.add_int64_data(value);
      case TensorProto::UINT32:
      case TensorProto::UINT64:
        return tensor.add_uint64_data(static_cast<uint64_t>(value));
      case TensorProto::STRING:
        return tensor.add_string_data("s");
      default:
        return tensor.add_int32_data(static_cast<int32_t>(value));
    }
  }

  /// Values of one kind: the numbers, or integers that can be axes, shapes and indices.
  void fill(TensorProto& tensor, int type, const Shape& shape) {
    tensor.set_data_type(type);
    for (const int64_t e : shape) tensor.add_dims(e);
    masks_ = choices_.one_in(4);
    mask_ = choices_.pick(
        std::array<float, 4>{-1e30F, -std::numeric_limits<float>::infinity(), -1e4F, -1e9F});
    // Few bytes make many elements: a short list of values repeats.
    const size_t period = 1 + choices_.below(6);
    std::vector<std::pair<int64_t, float>> values;
    for (size_t i = 0; i < period; ++i) values.emplace_back(drawn_int(), drawn_float());
    const int64_t count = count_of(shape) + (choices_.one_in(60) ? 1 : 0);
    for (int64_t i = 0; i < count; ++i) {
      const auto& [integer, real] = values[static_cast<size_t>(i) % period];
      fill_typed(tensor, integer, real);
    }
  }

  const Known& add_constant(int type, const Shape& shape) {
    const std::string name = fresh("c");
    if (choices_.one_in(16) && !shape.empty()) {
      auto* sparse = graph().add_sparse_initializer();
      for (const int64_t e : shape) sparse->add_dims(e);
      const auto entries = static_cast<int64_t>(choices_.below(4));
      fill(*sparse->mutable_values(), type, {entries});
      fill(*sparse->mutable_indices(), TensorProto::INT64, {entries});
      sparse->mutable_values()->set_name(name);
    } else {
      TensorProto* tensor = graph().add_initializer();
      fill(*tensor, type, shape);
      tensor->set_name(name);
    }
    known_.push_back({name, type, false});
    return known_.back();
  }

  const Known& add_integers(int type, const std::vector<int64_t>& values, bool scalar) {
    const std::string name = fresh("c");
    TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    if (!scalar) tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) fill_typed(tensor, v, static_cast<float>(v));
    known_.push_back({name, type, false});
    return known_.back();
  }

  int64_t drawn_axis() {
    const auto axis = static_cast<int64_t>(choices_.below(base_.size()));
    return choices_.one_in(4) ? axis - static_cast<int64_t>(base_.size()) : axis;
  }

  /// Integers as operators take them: axes, shapes, pads, starts, indices.
  std::string integer_list(int type) {
    switch (choices_.below(8)) {
      case 0:
        return add_integers(type, {drawn_axis()}, choices_.one_in(3)).name;
      case 1:
        return add_integers(type, near_shape(), false).name;
      case 2: {
        std::vector<int64_t> pads(2 * base_.size(), 0);
        for (int64_t& p : pads) p = static_cast<int64_t>(choices_.below(4)) - 1;
        return add_integers(type, pads, false).name;
      }
      case 3: {
        std::vector<int64_t> ones(base_.size(), 1);
        ones[choices_.below(ones.size())] = static_cast<int64_t>(choices_.below(4));
        return add_integers(type, ones, false).name;
      }
      case 4:
      case 5: {  // within any extent but 0
        std::vector<int64_t> indices(choices_.below(5), 0);
        for (int64_t& i : indices)
          i = static_cast<int64_t>(choices_.below(static_cast<size_t>(base_[0]) + 1)) - 1;
        return add_integers(type, indices, indices.size() == 1 && choices_.one_in(2)).name;
      }
      case 6:
        return add_constant(type, near_shape()).name;
      default:
        return add_constant(type, {static_cast<int64_t>(choices_.below(4))}).name;
    }
  }

  /// The code of an element type; 0 of a type variable.
  static int code_of(std::string_view type) {
    static const std::map<std::string_view, int> kCodes = {
        {"float", TensorProto::FLOAT}, {"int64", TensorProto::INT64}, {"int32", TensorProto::INT32},
        {"uint8", TensorProto::UINT8}, {"int8", TensorProto::INT8},   {"bool", TensorProto::BOOL}};
    const auto found = kCodes.find(type);
    return found == kCodes.end() ? 0 : found->second;
  }

  static bool allows(const Parameter& parameter, int code) {
    switch (code) {
      case TensorProto::STRING:
      case TensorProto::COMPLEX64:
        return false;
      case TensorProto::BOOL:
        return parameter.booleans;
      case TensorProto::FLOAT:
      case TensorProto::DOUBLE:
      case TensorProto::FLOAT16:
      case TensorProto::BFLOAT16:
        return parameter.floats;
      default:
        return parameter.integers;
    }
  }

  /// A value for a parameter of the definition.
  std::string argument(const Parameter& parameter, std::map<std::string_view, int>& types) {
    const bool wild = choices_.one_in(24);
    int type = code_of(parameter.type);
    if (type == 0 && types.contains(parameter.type)) type = types[parameter.type];
    const bool indices = type == TensorProto::INT64 || parameter.type.starts_with("Tind");
    if (indices && !wild && choices_.below(4) != 0) {
      const int integer = type == 0 ? int{TensorProto::INT64} : type;
      types[parameter.type] = integer;
      return integer_list(integer);
    }
    std::vector<size_t> fitting;
    for (size_t k = 0; k < known_.size(); ++k) {
      if (wild || (type == 0 ? allows(parameter, known_[k].type) : known_[k].type == type))
        fitting.push_back(k);
    }
    if (fitting.empty() || choices_.one_in(4)) {
      if (type == 0) type = drawn_type();
      if (!allows(parameter, type)) type = TensorProto::FLOAT;
      types.emplace(parameter.type, type);
      return add_constant(type, near_shape()).name;
    }
    // The newest values most often, so that chains arise.
    const size_t back = std::min(choices_.below(4) == 0 ? choices_.below(256) : choices_.below(2),
                                 fitting.size() - 1);
    const Known& chosen = known_[fitting[fitting.size() - 1 - back]];
    types.emplace(parameter.type, chosen.type);
    return chosen.name;
  }

  void drawn_attribute(AttributeProto& attribute, AttributeProto::AttributeType type) {
    if (choices_.one_in(24)) {
      constexpr std::array<AttributeProto::AttributeType, 6> kOther = {
          AttributeProto::INT,  AttributeProto::FLOAT,  AttributeProto::STRING,
          AttributeProto::INTS, AttributeProto::FLOATS, AttributeProto::TENSOR};
      type = choices_.pick(kOther);
    }
    attribute.set_type(type);
    switch (type) {
      case AttributeProto::INT:
        if (attribute.name() == "to")
          attribute.set_i(choices_.pick(kTypes));
        else if (attribute.name() == "axis" && !choices_.one_in(8))
          attribute.set_i(drawn_axis());
        else
          attribute.set_i(drawn_int());
        break;
      case AttributeProto::FLOAT:
        attribute.set_f(drawn_float());
        break;
      case AttributeProto::STRING:
        attribute.set_s(choices_.pick(kTexts));
        break;
      case AttributeProto::INTS: {
        size_t count = choices_.below(5);
        if (choices_.below(2) == 0) count = attribute.name() == "perm" ? base_.size() : 2;
        const bool plain = !choices_.one_in(6);
        for (size_t i = 0; i < count; ++i) {
          if (plain && attribute.name() == "perm")
            attribute.add_ints(static_cast<int64_t>(count - 1 - i));
          else if (plain && attribute.name() == "axes")
            attribute.add_ints(drawn_axis());
          else if (plain)
            attribute.add_ints(static_cast<int64_t>(choices_.below(3)) + 1);
          else
            attribute.add_ints(drawn_int());
        }
        break;
      }
      case AttributeProto::FLOATS:
        for (size_t n = choices_.below(4); n > 0; --n) attribute.add_floats(drawn_float());
        break;
      case AttributeProto::TENSOR:
        fill(*attribute.mutable_t(), drawn_type(),
             choices_.below(2) == 0 ? Shape{1} : near_shape());
        break;
      default:
        break;
    }
  }

  static AttributeProto::AttributeType attribute_type(OnnxAttribute::Kind kind) {
    using K = OnnxAttribute::Kind;
    static const std::map<K, AttributeProto::AttributeType> kKinds = {
        {K::integer, AttributeProto::INT},   {K::real, AttributeProto::FLOAT},
        {K::string, AttributeProto::STRING}, {K::integers, AttributeProto::INTS},
        {K::reals, AttributeProto::FLOATS},  {K::strings, AttributeProto::STRINGS},
        {K::tensor, AttributeProto::TENSOR}};
    const auto found = kKinds.find(kind);
    return found == kKinds.end() ? AttributeProto::UNDEFINED : found->second;
  }

  void add_attributes(onnx::NodeProto& node, const OperatorDefinition& definition) {
    std::vector<const AttributeRule*> all;
    for (const AttributeRule& rule : definition.attributes) all.push_back(&rule);
    if (node.op_type() == "Constant" && !all.empty()) all = {choices_.pick(all)};
    for (const auto* each : all) {
      const bool there =
          each->required || all.size() == 1 ? !choices_.one_in(12) : choices_.one_in(3);
      if (!there) continue;
      AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(std::string(each->name));
      drawn_attribute(attribute, attribute_type(each->kind));
    }
  }

  void add_node() {
    const auto& table = operator_table();
    const std::string op(table[choices_.below(table.size())].name);
    const OperatorDefinition* definition = definition_at(op, opset_);
    onnx::NodeProto node;
    node.set_op_type(op);
    if (definition == nullptr) return add_plain_node(std::move(node));
    std::map<std::string_view, int> types;
    const auto& parameters = definition->inputs;
    const size_t most = std::min<size_t>(static_cast<size_t>(definition->most_inputs()), 5);
    const auto least = static_cast<size_t>(definition->least_inputs);
    size_t count = least + (most > least ? choices_.below(most - least + 1) : 0);
    if (choices_.one_in(40)) count = choices_.below(4);
    for (size_t i = 0; i < count; ++i) {
      if (parameters.empty()) break;
      const Parameter& parameter = parameters[std::min(i, parameters.size() - 1)];
      const bool gap = parameter.count == Parameter::Count::at_most_one && choices_.one_in(4);
      node.add_input(gap ? "" : argument(parameter, types));
    }
    add_attributes(node, *definition);
    size_t outputs = static_cast<size_t>(std::max(1, definition->least_outputs));
    if (definition->most_outputs() > definition->least_outputs && choices_.one_in(3)) ++outputs;
    for (size_t o = 0; o < outputs; ++o) {
      const std::string name = fresh("v");
      node.add_output(name);
      known_.push_back({name, output_type(node, *definition, o, types), true});
      computed_.push_back(name);
    }
    *graph().add_node() = std::move(node);
  }

  /// An operator of later opsets, which is refused: one input, one output.
  void add_plain_node(onnx::NodeProto node) {
    node.add_input(known_.back().name);
    node.add_output(fresh("v"));
    known_.push_back({node.output(0), known_.back().type, true});
    computed_.push_back(node.output(0));
    *graph().add_node() = std::move(node);
  }

  static int output_type(const onnx::NodeProto& node, const OperatorDefinition& definition,
                         size_t o, const std::map<std::string_view, int>& types) {
    for (const AttributeProto& a : node.attribute()) {
      if (a.name() == "to") return static_cast<int>(a.i());
      if (a.has_t()) return a.t().data_type();
    }
    if (definition.outputs.empty()) return TensorProto::FLOAT;
    const Parameter& parameter = definition.outputs[std::min(o, definition.outputs.size() - 1)];
    if (const auto found = types.find(parameter.type); found != types.end()) return found->second;
    const int code = code_of(parameter.type);
    return code == 0 ? int{TensorProto::FLOAT} : code;
  }

  void add_outputs() {
    graph().add_output()->set_name(computed_.back());
    if (choices_.one_in(4)) {
      const std::string& other = choices_.pick(known_).name;
      if (other != computed_.back()) graph().add_output()->set_name(other);
    }
  }

  Choices choices_;
  DrawnModel result_;
  int opset_ = 17;
  int names_ = 0;
  Shape base_;
  bool masks_ = false;
  float mask_ = 0;
  std::vector<Known> known_;
  std::vector<std::string> computed_;
};

}  // namespace

DrawnModel draw_model(std::string_view bytes) {
  return Drawing(bytes).run();
}

onnx::ModelProto with_constants(const onnx::ModelProto& model,
                                const std::map<std::string, onnx::TensorProto>& values) {
  onnx::ModelProto result = model;
  result.mutable_graph()->clear_input();
  for (const auto& [name, tensor] : values) {
    TensorProto* initializer = result.mutable_graph()->add_initializer();
    *initializer = tensor;
    initializer->set_name(name);
  }
  return result;
}

}  // namespace fuseflow
