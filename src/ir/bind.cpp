#include "ir/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/names.h"
#include "ir/statement_rules.h"
#include "ir/verify.h"
#include "support/error.h"
#include "support/stop.h"
#include "support/suggest.h"
#include "tensor/extents.h"
#include "tensor/survey.h"

namespace fuseflow {

namespace {

class Binder {
 public:
  explicit Binder(Program& program) : p_(program) {}

  void run(const Bindings& bindings) {
    for (const auto& [name, source] : bindings.sources) bind_source(name, source);
    for (const auto& [name, value] : bindings.extents) bind_named_extent(name, value);
    // Data that do not say their extents take them from those that do. What an option names is
    // looked at in any case: a wrong name is an error whether the rest needs the data or not.
    for (const bool say : {true, false}) {
      for (const Tensor& tensor : p_.tensors) {
        const bool named = bound_.contains(tensor.name) && is_file(tensor.source);
        if (!named && !may_tell_extents(tensor)) continue;
        if (says_extents(tensor.source) == say) read_extents(tensor);
      }
    }
    if (changed_) spread_extents();
    for (const std::string& name : rebound_) check_facts(name);
    if (changed_) verify(p_);
  }

 private:
  void bind_source(const std::string& name, const Source& source) {
    Tensor* const tensor = given_tensor(name);
    if (tensor == nullptr) return;
    bound_.insert(name);
    const bool states = !(tensor->facts == Facts{});
    if (states) rebound_.push_back(name);
    tensor->source = source;
    for (Tensor& copy : p_.tensors) {
      if (copy.copy_of == name) copy.source = source;
    }
  }

  /// The input or constant of that name; throws where there is none.
  Tensor* given_tensor(const std::string& name) {
    std::vector<std::string> inputs;
    for (Tensor& tensor : p_.tensors) {
      if (tensor.given() && tensor.name == name) return &tensor;
      if (tensor.given()) inputs.push_back(tensor.name);
      if (tensor.name != name) continue;
      throw Error(ExitCode::usage, fmt::format("--bind: %{} is computed by the program, expected "
                                               "the name of an input",
                                               quote_if_needed(name)));
    }
    throw Error(ExitCode::usage,
                fmt::format("--bind: the program has no input %{}{}", quote_if_needed(name),
                            did_you_mean(name, inputs, {}, ", did you mean %", "?")));
  }

  void bind_named_extent(const std::string& name, int64_t value) {
    std::vector<std::string> known;
    bool found = false;
    for (Tensor& tensor : p_.tensors) {
      for (Extent& extent : tensor.shape) {
        if (!extent.symbol.empty()) known.push_back(extent.symbol);
        if (extent.symbol != name) continue;
        found = true;
        if (extent.known() && extent.value != value) {
          throw Error(ExitCode::usage,
                      fmt::format("--dim {}={}: the program says `dim {} = {}`, expected an extent "
                                  "that it leaves open, `dim {} = ?`",
                                  name, value, name, extent.value, name));
        }
        extent.value = value;
      }
    }
    if (!found) {
      throw Error(ExitCode::usage,
                  fmt::format("--dim: no tensor of the program has the dimension {}{}", name,
                              did_you_mean(name, known, {}, ", did you mean ", "?")));
    }
    changed_ = true;
  }

  static bool is_file(const Source& source) {
    return source.kind == Source::Kind::file || source.kind == Source::Kind::onnx;
  }

  static bool may_tell_extents(const Tensor& tensor) {
    const bool open = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                  [](const Extent& extent) { return !extent.known(); });
    const bool in_file = tensor.source.kind == Source::Kind::file;
    const bool says = tensor.source.kind != Source::Kind::none && says_extents(tensor.source);
    return open && tensor.given() && (in_file || says);
  }

  void read_extents(const Tensor& tensor) {
    std::vector<int64_t> expected;
    for (const Extent& extent : tensor.shape) expected.push_back(extent.value);
    std::vector<int64_t> shape;
    try {
      shape = read_raw(tensor.source, expected, {.element = tensor.type}).shape;
    } catch (Stopped& stopped) {
      stopped.add_note(note_of(tensor));
      throw;
    } catch (const Error& error) {
      if (error.code() == ExitCode::io && !bound_.contains(tensor.name)) return;
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      diagnostics.push_back(note_of(tensor));
      throw Error(error.code(), std::move(diagnostics));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::string symbol = tensor.shape[d].symbol;
      if (symbol.empty() || tensor.shape[d].value == shape[d]) continue;
      if (tensor.shape[d].known()) refuse(tensor, d, shape);
      set_extent(symbol, shape[d]);
    }
  }

  static Diagnostic note_of(const Tensor& tensor) {
    return {Severity::note,
            tensor.where,
            fmt::format("this is the source of %{}", quote_if_needed(tensor.name)),
            {}};
  }

  [[noreturn]] static void refuse(const Tensor& tensor, size_t dimension,
                                  const std::vector<int64_t>& shape) {
    throw Error(ExitCode::rejected, tensor.where,
                fmt::format("the data of %{} have the shape [{}], but {} is {} already, expected "
                            "the same extent",
                            quote_if_needed(tensor.name), fmt::join(shape, ", "),
                            tensor.shape[dimension].symbol, tensor.shape[dimension].value));
  }

  void set_extent(const std::string& symbol, int64_t value) {
    changed_ = true;
    for (Tensor& tensor : p_.tensors) {
      for (Extent& extent : tensor.shape) {
        if (extent.symbol == symbol) extent.value = value;
      }
    }
  }

  /// To the indices of statements.
  void spread_extents() {
    std::vector<Diagnostic> wrong;
    const auto spread = [&](Statement& s) {
      infer_extents(p_, s, [&](int, std::string message) {
        wrong.push_back({Severity::error, s.where, std::move(message), {}});
      });
    };
    for (Region& region : p_.regions) {
      for (Statement& s : region.statements) spread(s);
    }
    for (Statement& s : p_.reference.statements) spread(s);
    if (!wrong.empty()) throw Error(ExitCode::rejected, std::move(wrong));
  }

  /// Facts that the program states may have been found in other data, and others follow from them.
  void check_facts(const std::string& name) {
    const Tensor& tensor = p_.tensors[static_cast<size_t>(find_tensor(p_, name))];
    const auto data = load_shared(tensor.source, known_shape(tensor), tensor.format, tensor.fill,
                                  {.element = tensor.type});
    const Facts found = facts_of(*data);
    if (joined(found, tensor.facts) == found) return;
    throw Error(
        ExitCode::rejected, tensor.where,
        fmt::format("--bind {}: the data contradict the `facts(..)` that the program states "
                    "of %{}, expected other data, or the program without these facts",
                    name, quote_if_needed(name)));
  }

  Program& p_;
  std::set<std::string> bound_;       ///< names of what was given a source
  std::vector<std::string> rebound_;  ///< those that state facts
  bool changed_ = false;              ///< extents became known
};

}  // namespace

void bind(Program& program, const Bindings& bindings) {
  Binder(program).run(bindings);
}

}  // namespace fuseflow
