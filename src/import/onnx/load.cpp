// From the bytes of an .onnx file to an OnnxModel: protobuf, model-local functions, sorting.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "import/onnx/definitions.h"
#include "import/onnx/model.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/tensor_proto.h"
#include "support/dependency_order.h"
#include "support/error.h"
#include "support/input_kind.h"
#include "support/io.h"
#include "support/stop.h"
#include "support/suggest.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int kMaxFunctionDepth = 32;
constexpr size_t kMaxNodes = size_t{1} << 18;
constexpr size_t kMaxNames = size_t{1} << 28;  ///< characters of prefixes of inlined names

/// Builds the plain model out of the protobuf.
class Loader {
 public:
  Loader(std::shared_ptr<const onnx::ModelProto> proto, std::string path, bool follow_links)
      : proto_(std::move(proto)), tensors_{path, proto_, follow_links} {
    model_.path = std::move(path);
  }

  OnnxModel load() {
    for (const auto& function : proto_->functions()) {
      const bool fresh = functions_.emplace(key_of(function), &function).second;
      if (!fresh) fail(fmt::format("function '{}' is given twice", shown(function.name())));
    }
    versions();
    const onnx::GraphProto& graph = proto_->graph();
    model_.name = graph.name();
    check_ports(graph);
    initializers(graph, {});
    for (const auto& input : graph.input()) {
      if (!model_.initializers.contains(input.name())) model_.inputs.push_back(port(input));
    }
    for (const auto& output : graph.output()) model_.outputs.push_back(port(output));
    note_values(graph);
    for (const auto& node : graph.node()) add_node(node, {}, {model_.opset, 0, &model_.nodes});
    if (model_.outputs.empty()) fail("the model has no outputs");
    std::set<std::string> known = {""};
    for (const auto& input : model_.inputs) known.insert(input.name);
    for (const auto& [name, tensor] : model_.initializers) known.insert(name);
    sort(model_.nodes, known);
    std::set<std::string> results;
    for (const auto& output : model_.outputs) {
      if (!results.insert(output.name).second)
        fail(fmt::format("output '{}' is given twice", shown(output.name)));
      if (!known.contains(output.name))
        fail(fmt::format("output '{}' is defined by no node", shown(output.name)));
    }
    drop_unused(model_.nodes, {results.begin(), results.end()});
    return std::move(model_);
  }

 private:
  using Renames = std::unordered_map<std::string, std::string>;
  using Attributes = std::map<std::string, const onnx::AttributeProto*>;
  /// What a call of a function binds: names of its values, and attributes given at the call.
  struct Scope {
    Renames names;
    Attributes attributes;
    std::string prefix;
    const onnx::FunctionProto* function = nullptr;
  };
  /// Where a node stands: the opset of its graph or function, how many calls and graphs are around
  /// it, and the list that it goes into.
  struct Place {
    int opset = 0;
    int depth = 0;
    std::vector<OnnxNode>* nodes = nullptr;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ExitCode::rejected, Location{model_.path}, message);
  }

  static std::string domain_of(const std::string& domain) {
    return domain == "ai.onnx" ? "" : domain;
  }

  /// Domain, name and overload: what tells functions apart.
  using FunctionKey = std::array<std::string, 3>;

  static FunctionKey key_of(const onnx::FunctionProto& f) {
    return {domain_of(f.domain()), f.name(), f.overload()};
  }

  /// The function that the node calls; null if it is an operator.
  const onnx::FunctionProto* function_of(const onnx::NodeProto& node) const {
    const FunctionKey key = {domain_of(node.domain()), node.op_type(), node.overload()};
    const auto found = functions_.find(key);
    if (found != functions_.end()) return found->second;
    if (node.overload().empty()) return nullptr;
    fail(fmt::format("node '{}' calls '{}' with overload '{}', which the model does not define",
                     shown(node.name()), shown(node.op_type()), shown(node.overload())));
  }

  /// The version of ONNX's own operators that an opset_import says; 0 if it says none. The domain
  /// may stand there more than once ("" and "ai.onnx" are one): nodes bind to the highest version.
  template <typename Sets>
  int onnx_version(const Sets& sets, const std::string& whose) const {
    int highest = 0;
    for (const auto& set : sets) {
      if (!domain_of(set.domain()).empty()) continue;
      if (set.version() < 1 || set.version() > 1000)
        fail(fmt::format("the opset version of {} is out of range", whose));
      highest = std::max(highest, static_cast<int>(set.version()));
    }
    return highest;
  }

  void versions() {
    model_.opset = onnx_version(proto_->opset_import(), "the model");
    const auto of_onnx = [&](const onnx::NodeProto& node) {
      return domain_of(node.domain()).empty() && function_of(node) == nullptr;
    };
    const auto& nodes = proto_->graph().node();
    constexpr int kSaysOpsets = 3;  // the first IR version in which a model has to
    if (model_.opset == 0 && proto_->ir_version() >= kSaysOpsets &&
        std::any_of(nodes.begin(), nodes.end(), of_onnx)) {
      fail(
          fmt::format("the model has no opset_import for ONNX's operators, which IR version {} "
                      "requires: what they mean is not said; add the opset that it was written "
                      "for, e.g. make_opsetid(\"\", 17)",
                      proto_->ir_version()));
    }
    if (model_.opset == 0) model_.opset = 1;
    if (model_.opset > kNewestOpset) {
      report(Severity::warning,
             fmt::format("{}: opset {} is newer than the newest known ({}); operators "
                         "are read as of that",
                         model_.path, model_.opset, kNewestOpset));
    }
  }

  void initializers(const onnx::GraphProto& graph, const Scope& scope) {
    const auto add = [&](const std::string& name, ConstantPtr data) {
      const bool fresh = model_.initializers.emplace(renamed(name, scope), std::move(data)).second;
      if (!fresh) fail(fmt::format("initializer '{}' is given twice", shown(name)));
    };
    for (const auto& tensor : graph.initializer()) {
      if (tensor.data_type() == onnx::TensorProto::STRING) {
        strings_.insert(renamed(tensor.name(), scope));  // refused where something uses it
        continue;
      }
      add(tensor.name(), convert_tensor(tensor, tensors_));
    }
    for (const auto& tensor : graph.sparse_initializer())
      add(tensor.values().name(), convert_sparse(tensor, tensors_));
  }

  OnnxPort port(const onnx::ValueInfoProto& info) {
    OnnxPort result;
    result.name = info.name();
    if (info.type().has_tensor_type()) {
      read_type(info.type().tensor_type(), result);
    } else if (info.type().has_sparse_tensor_type()) {  // data that is bound says what it has
      read_type(info.type().sparse_tensor_type(), result);
    } else if (info.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      fail(fmt::format("'{}' is not a tensor; sequences, maps and optionals are not supported",
                       shown(info.name())));
    }
    return result;
  }

  /// What a graph inside of a node says of its output; nothing (no shape) of what is no tensor of
  /// numbers.
  OnnxPort declared(const onnx::ValueInfoProto& info) {
    using P = onnx::TensorProto;
    const int code = info.type().tensor_type().elem_type();
    const bool numbers = code >= P::FLOAT && code <= P::BFLOAT16 && code != P::STRING &&
                         code != P::COMPLEX64 && code != P::COMPLEX128;
    return info.type().has_tensor_type() && numbers ? port(info) : OnnxPort{};
  }

  /// `type`: of a tensor or a sparse tensor.
  template <typename Type>
  void read_type(const Type& type, OnnxPort& result) {
    result.typed = true;
    result.type = element_type_of(type.elem_type(), "'" + shown(result.name) + "'");
    result.code = is_stored_wider(type.elem_type()) ? type.elem_type() : 0;
    if (!type.has_shape()) return;
    result.shape.emplace();
    for (const auto& d : type.shape().dim()) {
      OnnxDim dim;
      if (d.has_dim_value()) dim.value = d.dim_value() < 0 ? -1 : d.dim_value();
      dim.symbol = d.dim_param();
      result.shape->push_back(dim);
    }
  }

  /// The kind of an attribute; files of the first IR version do not say it.
  static onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& proto) {
    using P = onnx::AttributeProto;
    if (proto.type() != P::UNDEFINED) return proto.type();
    if (proto.has_f()) return P::FLOAT;
    if (proto.has_i()) return P::INT;
    if (proto.has_s()) return P::STRING;
    if (proto.has_t()) return P::TENSOR;
    if (proto.ints_size() > 0) return P::INTS;
    if (proto.floats_size() > 0) return P::FLOATS;
    return proto.strings_size() > 0 ? P::STRINGS : P::UNDEFINED;
  }

  OnnxAttribute attribute(const onnx::AttributeProto& proto) {
    OnnxAttribute a;
    using P = onnx::AttributeProto;
    using K = OnnxAttribute::Kind;
    switch (type_of(proto)) {
      case P::INT:
        a.kind = K::integer;
        a.i = proto.i();
        break;
      case P::FLOAT:
        a.kind = K::real;
        a.f = proto.f();
        break;
      case P::STRING:
        a.kind = K::string;
        a.s = proto.s();
        break;
      case P::INTS:
        a.kind = K::integers;
        a.ints.assign(proto.ints().begin(), proto.ints().end());
        break;
      case P::FLOATS:
        a.kind = K::reals;
        a.floats.assign(proto.floats().begin(), proto.floats().end());
        break;
      case P::STRINGS:
        a.kind = K::strings;
        a.strings.assign(proto.strings().begin(), proto.strings().end());
        break;
      case P::TENSOR:
        a.kind = proto.t().data_type() == onnx::TensorProto::STRING ? K::other : K::tensor;
        if (a.kind == K::tensor) a.tensor = convert_tensor(proto.t(), tensors_);
        break;
      case P::SPARSE_TENSOR:
        a.kind = K::sparse;
        a.tensor = convert_sparse(proto.sparse_tensor(), tensors_);
        break;
      default:
        break;
    }
    return a;
  }

  static std::string renamed(const std::string& name, const Scope& scope) {
    if (name.empty()) return name;
    const auto found = scope.names.find(name);
    return found != scope.names.end() ? found->second : scope.prefix + name;
  }

  /// The attribute, converted once however often its function is inlined.
  const OnnxAttribute& converted(const onnx::AttributeProto& proto) {
    const auto found = attributes_.find(&proto);
    if (found != attributes_.end()) return found->second;
    return attributes_.emplace(&proto, attribute(proto)).first->second;
  }

  /// Inputs and outputs have names, inputs each its own.
  void check_ports(const onnx::GraphProto& graph) const {
    const auto require_names = [&](const auto& ports, const char* what) {
      for (int i = 0; i < ports.size(); ++i) {
        if (ports[i].name().empty())
          fail(fmt::format("{} {} of graph '{}' has no name", what, i, shown(graph.name())));
      }
    };
    require_names(graph.input(), "input");
    require_names(graph.output(), "output");
    std::set<std::string> seen;
    for (const auto& input : graph.input()) {
      if (!seen.insert(input.name()).second)
        fail(fmt::format("input '{}' of graph '{}' is given twice, expected once",
                         shown(input.name()), shown(graph.name())));
    }
  }

  static std::string name_of(const onnx::NodeProto& node) {
    const std::string first = node.output_size() > 0 ? node.output(0) : "";
    return shown(node.name().empty() ? node.op_type() + "(" + first + ")" : node.name());
  }

  /// Refuses an attribute that a node has twice: which of them holds is not said.
  void check_attributes(const onnx::NodeProto& node) const {
    std::set<std::string> seen;
    for (const auto& a : node.attribute()) {
      if (!seen.insert(a.name()).second)
        fail(fmt::format("node '{}' ({}) has the attribute '{}' twice, expected it once",
                         name_of(node), shown(node.op_type()), shown(a.name())));
    }
  }

  static bool has_attribute(const onnx::FunctionProto& function, const std::string& name) {
    const auto is_name = [&](const onnx::AttributeProto& a) { return a.name() == name; };
    const auto& plain = function.attribute();
    const auto& defaults = function.attribute_proto();
    return std::find(plain.begin(), plain.end(), name) != plain.end() ||
           std::any_of(defaults.begin(), defaults.end(), is_name);
  }

  /// The attribute itself, or what the call gave for the attribute of the function that it refers
  /// to: null if the call gave none, and so the node has none.
  const onnx::AttributeProto* given_attribute(const onnx::NodeProto& node,
                                              const onnx::AttributeProto& a,
                                              const Scope& scope) const {
    const std::string& name = a.ref_attr_name();
    if (name.empty()) return &a;
    if (scope.function == nullptr || !has_attribute(*scope.function, name)) {
      const std::string where =
          scope.function == nullptr
              ? "the node is in no function"
              : fmt::format("function '{}' has none of this name", shown(scope.function->name()));
      fail(
          fmt::format("node '{}' ({}): attribute '{}' refers to the attribute '{}' of a function, "
                      "but {}; expected a value",
                      name_of(node), shown(node.op_type()), shown(a.name()), shown(name), where));
    }
    const auto given = scope.attributes.find(name);
    return given == scope.attributes.end() ? nullptr : given->second;
  }

  /// Bounds what functions that call functions may expand to.
  void count(const onnx::NodeProto& proto, const Scope& scope) {
    stop_if_asked();
    if (++nodes_ > kMaxNodes) fail(fmt::format("the model has more than {} nodes", kMaxNodes));
    names_ += scope.prefix.size() * static_cast<size_t>(1 + proto.output_size());
    if (names_ > kMaxNames) fail("names of inlined functions are too long");
  }

  void add_node(const onnx::NodeProto& proto, const Scope& scope, const Place& place) {
    count(proto, scope);
    check_attributes(proto);
    if (const onnx::FunctionProto* function = function_of(proto))
      return inline_call(*function, proto, scope, {place.opset, place.depth + 1, place.nodes});
    OnnxNode node;
    node.op = proto.op_type();
    node.domain = domain_of(proto.domain());
    node.opset = place.opset;
    for (const auto& name : proto.input()) node.inputs.push_back(renamed(name, scope));
    for (const auto& name : proto.output()) node.outputs.push_back(renamed(name, scope));
    const std::string first = node.outputs.empty() ? "" : node.outputs[0];
    node.name =
        proto.name().empty() ? fmt::format("{}({})", node.op, first) : scope.prefix + proto.name();
    for (const auto& a : proto.attribute()) {
      const onnx::AttributeProto* source = given_attribute(proto, a, scope);
      if (source == nullptr) continue;
      node.attributes[a.name()] =
          type_of(*source) == onnx::AttributeProto::GRAPH
              ? graph_attribute(source->g(), scope, node.name + "/" + a.name(),
                                {place.opset, place.depth + 1, nullptr}, node.captured)
              : converted(*source);
    }
    place.nodes->push_back(std::move(node));
  }

  void note_values(const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) values_.insert(input.name());
    for (const auto& [name, tensor] : model_.initializers) values_.insert(name);
    for (const auto& node : graph.node())
      values_.insert(node.output().begin(), node.output().end());
  }

  /// STEM/, or STEM.2/ and so on, so that with it no name of `own` is that of another value: names
  /// of nodes tell nothing, several may be the same.
  std::string prefix_for(const std::string& stem, const std::set<std::string>& own) {
    std::string prefix = stem + "/";
    const auto taken = [&](const std::string& name) { return values_.contains(prefix + name); };
    for (int n = 2; std::any_of(own.begin(), own.end(), taken); ++n)
      prefix = fmt::format("{}.{}/", stem, n);
    for (const std::string& name : own) values_.insert(prefix + name);
    return prefix;
  }

  void check_depth(int depth, const std::string& name) const {
    if (depth <= kMaxFunctionDepth) return;
    fail(fmt::format("'{}' calls itself, or functions and graphs are nested more than {} deep",
                     shown(name), kMaxFunctionDepth));
  }

  /// A graph inside of a node: the names of its own values get a prefix; those that it uses of what
  /// is around it are added to `captured`.
  OnnxAttribute graph_attribute(const onnx::GraphProto& proto, const Scope& outer,
                                const std::string& stem, const Place& place,
                                std::vector<std::string>& captured) {
    check_depth(place.depth, stem);
    check_ports(proto);
    auto graph = std::make_shared<OnnxGraph>();
    std::set<std::string> own;
    for (const auto& input : proto.input()) own.insert(input.name());
    for (const auto& tensor : proto.initializer()) own.insert(tensor.name());
    for (const auto& tensor : proto.sparse_initializer()) own.insert(tensor.values().name());
    for (const auto& node : proto.node()) own.insert(node.output().begin(), node.output().end());
    own.erase("");
    const std::string prefix = prefix_for(stem, own);
    Scope scope = outer;
    for (const std::string& name : own) scope.names[name] = prefix + name;
    initializers(proto, scope);
    for (const auto& node : proto.node())
      add_node(node, scope, {place.opset, place.depth, &graph->nodes});
    for (const auto& input : proto.input()) graph->inputs.push_back(renamed(input.name(), scope));
    for (const auto& output : proto.output())
      graph->outputs.push_back(renamed(output.name(), scope));
    for (const auto& output : proto.output()) graph->declared.push_back(declared(output));
    capture(*graph, captured);
    OnnxAttribute a;
    a.kind = OnnxAttribute::Kind::graph;
    a.graph = std::move(graph);
    return a;
  }

  /// Sorts the nodes of the graph, without those that nothing needs, and gives the values that it
  /// does not define itself.
  void capture(OnnxGraph& graph, std::vector<std::string>& captured) const {
    std::set<std::string> own = {""};
    for (const std::string& input : graph.inputs) own.insert(input);
    for (const OnnxNode& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
    const auto from_around = [&] {
      std::vector<std::string> names;
      const auto use = [&](const std::string& name) {
        if (!own.contains(name)) names.push_back(name);
      };
      for (const OnnxNode& node : graph.nodes) {
        for (const auto* read : {&node.inputs, &node.captured}) {
          for (const std::string& name : *read) use(name);
        }
      }
      for (const std::string& output : graph.outputs) use(output);
      return names;
    };
    std::set<std::string> known = {""};
    known.insert(graph.inputs.begin(), graph.inputs.end());
    const std::vector<std::string> all = from_around();
    known.insert(all.begin(), all.end());
    sort(graph.nodes, known);
    drop_unused(graph.nodes, {graph.outputs.begin(), graph.outputs.end()});
    const std::vector<std::string> needed = from_around();
    captured.insert(captured.end(), needed.begin(), needed.end());
  }

  void inline_call(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                   const Scope& outer, Place place) {
    check_depth(place.depth, function.name());
    check_call(function, call);
    Scope scope;
    const std::string first = call.output_size() > 0 ? call.output(0) : "";
    std::set<std::string> own;
    for (const auto& node : function.node()) own.insert(node.output().begin(), node.output().end());
    const std::string called =
        call.name().empty() ? function.name() + "(" + first + ")" : call.name();
    scope.prefix = prefix_for(outer.prefix + called, own);
    for (int i = 0; i < function.input_size(); ++i) {
      scope.names[function.input(i)] = i < call.input_size() ? renamed(call.input(i), outer) : "";
    }
    std::vector<std::pair<std::string, std::string>> same;  // results that are another value
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      std::string result = renamed(call.output(i), outer);
      const auto [at, fresh] = scope.names.emplace(function.output(i), result);
      if (!fresh) same.emplace_back(at->second, std::move(result));
    }
    bind_attributes(function, call, outer, scope);
    const int version =
        onnx_version(function.opset_import(), fmt::format("function '{}'", shown(function.name())));
    if (version > 0) place.opset = version;
    for (const auto& node : function.node()) add_node(node, scope, place);
    for (const auto& [value, result] : same) {
      OnnxNode node;
      node.name = scope.prefix + "Identity(" + result + ")";
      node.op = "Identity";
      node.opset = place.opset;
      node.inputs = {value};
      node.outputs = {result};
      place.nodes->push_back(std::move(node));
    }
  }

  /// Refuses a call with inputs, outputs or attributes that the function does not have.
  void check_call(const onnx::FunctionProto& function, const onnx::NodeProto& call) const {
    const auto too_many = [&](int given, int known, const char* what) {
      if (given <= known) return;
      fail(fmt::format("node '{}' calls function '{}' with {} {}, expected at most {}",
                       shown(call.name()), shown(function.name()), given, what, known));
    };
    too_many(call.input_size(), function.input_size(), "inputs");
    too_many(call.output_size(), function.output_size(), "outputs");
    std::vector<std::string> known(function.attribute().begin(), function.attribute().end());
    for (const auto& a : function.attribute_proto()) known.push_back(a.name());
    for (const auto& a : call.attribute()) {
      if (std::find(known.begin(), known.end(), a.name()) != known.end()) continue;
      const std::string near = meant_name(a.name(), known);
      fail(fmt::format("node '{}': function '{}' has no attribute '{}'{}", shown(call.name()),
                       shown(function.name()), shown(a.name()),
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", shown(near))));
    }
  }

  /// The attributes of a call, and the defaults of those that it leaves out.
  void bind_attributes(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                       const Scope& outer, Scope& scope) const {
    scope.function = &function;
    for (const auto& a : call.attribute()) {
      const onnx::AttributeProto* given = given_attribute(call, a, outer);
      if (given != nullptr) scope.attributes[a.name()] = given;
    }
    for (const auto& a : function.attribute_proto()) scope.attributes.emplace(a.name(), &a);
  }

  /// Sorts the nodes (stable), and refuses duplicate, missing and cyclic definitions. `known` are
  /// the values that need no node; those of the nodes come to it.
  void sort(std::vector<OnnxNode>& nodes, std::set<std::string>& known) const {
    std::unordered_map<std::string, size_t> producer;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].outputs.empty())
        fail(fmt::format("node '{}' has no outputs", shown(nodes[n].name)));
      for (const auto& name : nodes[n].outputs) {
        if (name.empty()) continue;
        if (known.contains(name) || !producer.emplace(name, n).second) {
          fail(fmt::format("value '{}' is defined twice (node '{}')", shown(name),
                           shown(nodes[n].name)));
        }
      }
    }
    std::vector<std::vector<size_t>> needs(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (const auto* names : {&nodes[n].inputs, &nodes[n].captured}) {
        for (const auto& name : *names) {
          if (known.contains(name)) continue;
          const auto found = producer.find(name);
          if (found == producer.end()) {
            fail(fmt::format("node '{}' uses '{}', {}", shown(nodes[n].name), shown(name),
                             strings_.contains(name) ? "a tensor of strings, expected numbers"
                                                     : "which nothing defines"));
          }
          needs[n].push_back(found->second);
        }
      }
    }
    reorder(nodes, needs);
    for (const auto& [name, node] : producer) known.insert(name);
  }

  /// Drops sorted nodes that none of the results depends on: exporters leave some, which may be
  /// what nothing reads. What a loop collects for nobody needs no iteration to give it.
  static void drop_unused(std::vector<OnnxNode>& nodes, std::unordered_set<std::string> used) {
    std::vector<OnnxNode> kept;
    for (size_t n = nodes.size(); n-- > 0;) {
      OnnxNode& node = nodes[n];
      const auto wanted = [&](const std::string& name) { return used.contains(name); };
      used.erase("");
      if (std::none_of(node.outputs.begin(), node.outputs.end(), wanted)) continue;
      if (node.full_name() == "Loop" || node.full_name() == "Scan") {
        for (std::string& name : node.outputs) {
          if (!wanted(name)) name.clear();
        }
      }
      for (const auto* names : {&node.inputs, &node.captured})
        used.insert(names->begin(), names->end());
      kept.push_back(std::move(node));
    }
    std::reverse(kept.begin(), kept.end());
    nodes = std::move(kept);
  }

  void reorder(std::vector<OnnxNode>& nodes, const std::vector<std::vector<size_t>>& needs) const {
    const std::vector<size_t> order = dependency_order(needs);
    const size_t waits = first_left_out(order, needs.size());
    if (waits < needs.size()) {
      fail(fmt::format("the graph has a cycle through node '{}'", shown(nodes[waits].name)));
    }
    std::vector<OnnxNode> sorted;
    sorted.reserve(order.size());
    for (const size_t n : order) sorted.push_back(std::move(nodes[n]));
    nodes = std::move(sorted);
  }

  std::shared_ptr<const onnx::ModelProto> proto_;
  TensorContext tensors_;
  OnnxModel model_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::map<const onnx::AttributeProto*, OnnxAttribute> attributes_;
  size_t nodes_ = 0;  ///< calls of functions included
  size_t names_ = 0;
  std::unordered_set<std::string> strings_;  ///< initializers of strings
  std::unordered_set<std::string> values_;   ///< names of values, those of graphs in nodes too
};

}  // namespace

OnnxModel parse_onnx(std::string_view bytes, const std::string& path, bool follow_links) {
  auto proto = std::make_shared<onnx::ModelProto>();
  bool good =
      bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) && !bytes.empty();
  if (good) {
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
    good = proto->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  }
  if (!good || !proto->has_graph()) {
    const bool message = good && kind_of(bytes) == InputKind::binary;  // of something else
    std::string why = message ? "" : why_no_model(bytes);
    if (why.empty() && good) why = "not an ONNX model: it has no graph";
    if (why.empty())
      why = "not an ONNX model: the protobuf is truncated, malformed or nested over 100 deep";
    throw Error(ExitCode::rejected, Location{path}, std::move(why));
  }
  try {
    return Loader(std::move(proto), path, follow_links).load();
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    if (error.code() != ExitCode::rejected || !first.where.file.empty()) throw;
    throw Error(error.code(), Location{path}, first.message);
  }
}

OnnxModel load_onnx(const std::string& path, bool follow_links) {
  const MappedFile file(path);
  return parse_onnx(file.bytes(), path == "-" ? "<stdin>" : path, follow_links);
}

}  // namespace fuseflow
