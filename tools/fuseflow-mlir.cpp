// fuseflow-mlir: linalg programs to IR, one region per operation; and back (--write).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "import/import.h"
#include "import_options.h"
#include "ir/files.h"
#include "ir/verify.h"
#include "linalg/convert.h"
#include "linalg/parse/parse.h"
#include "linalg/write.h"
#include "shell/tool.h"
#include "support/defect.h"
#include "support/io.h"
#include "support/outputs.h"
#include "tensor/limits.h"
#include "tensor/npy.h"

namespace fuseflow {
namespace {

struct MlirArguments {
  std::string file;
  std::string output = "-";
  std::string function;
  std::string name;
  std::string regions = "operations";
  std::vector<std::string> binds, formats;
  bool generate = false;
  bool write = false;
  bool dense = false;
  bool dense_results = false;
  bool main = false;
};

/// Constants of at most so many elements are part of the program's text.
constexpr int64_t kLargestInline = 4096;

void add_options(CommandLine& app, MlirArguments& o) {
  app.add_option("file", o.file, "Functions of linalg operations on tensors; - is standard input")
      .required()
      .option_text("FILE");
  app.add_option("--function", o.function, "Which function (default: the only one of the file)")
      .option_text("NAME");
  app.add_option(
         "--bind", o.binds,
         "Data of an argument (arg0, or its position: 0) or of a constant that the file leaves "
         "out: a file, or a generator, e.g. 0=uniform(density=0.05,seed=1)")
      .option_text("NAME=FILE|KIND(...)")
      .one_a_use();
  app.add_flag("--generate", o.generate,
               "Generate data for arguments that are not bound, from fixed seeds");
  app.add_option("--format", o.formats,
                 "Levels of an argument, constant or result, e.g. arg0=dense,compressed (default: "
                 "its encoding)")
      .option_text("NAME=LEVELS")
      .one_a_use();
  app.add_option("--regions", o.regions,
                 "What forms a region: an operation (default; or what a call, or the attribute "
                 "fuseflow.region, puts together), or the whole function")
      .among({"operations", "function"})
      .option_text("operations|function");
  app.add_option("--name", o.name, "Name of the program (default: that of the function)")
      .option_text("NAME");
  app.add_flag("--write", o.write,
               "FILE is a program: write its statements as linalg.generic instead");
  app.add_flag("--dense", o.dense, "With --write: no encodings, every tensor is dense");
  app.add_flag("--dense-results", o.dense_results,
               "With --write: encodings of inputs and constants only, what is computed is dense "
               "(LLVM's sparsifier takes more of such programs)");
  app.add_flag("--main", o.main,
               "With --write: also a function main that holds the data, calls the other and prints "
               "the results (mlir-cpu-runner)");
  app.add_option("-o,--output", o.output,
                 "Write to FILE instead of standard output; large constants are written to "
                 "FILE.data")
      .option_text("FILE");
}

/// The function that is asked for.
std::string chosen_function(const LinalgModule& module, const MlirArguments& o) {
  const std::vector<std::string> functions = module.functions();
  if (!o.function.empty()) return o.function;
  if (functions.size() == 1) return functions[0];
  if (functions.empty())
    throw Error(ExitCode::rejected, Location{o.file}, "the file has no function with a body");
  std::string list;
  for (const std::string& name : functions) list += (list.empty() ? "" : ", ") + name;
  throw Error(
      ExitCode::usage,
      fmt::format("{} has several functions, expected --function with one of: {}", o.file, list));
}

/// `%adj`, `adj` and the argument's position name the same.
std::string argument_name(const std::string& option, const std::string& given,
                          const std::vector<LinalgArgument>& arguments) {
  const std::string name = given.starts_with('%') ? given.substr(1) : given;
  const bool named = std::any_of(arguments.begin(), arguments.end(),
                                 [&](const LinalgArgument& a) { return a.name == name; });
  const bool number =
      !name.empty() && name.size() < 6 &&
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (named || !number) return name;
  const auto at = static_cast<size_t>(std::stoul(name));
  if (at < arguments.size()) return arguments[at].name;
  throw Error(ExitCode::usage,
              fmt::format("{} {}: the function has {} arguments, expected a number less than that",
                          option, given, arguments.size()));
}

/// What an option says of arguments, by their names in the file.
template <typename Value>
std::map<std::string, Value> by_name(const std::string& option,
                                     const std::map<std::string, Value>& given,
                                     const std::vector<LinalgArgument>& arguments) {
  std::map<std::string, Value> named;
  std::map<std::string, std::string> said_as;
  for (const auto& [name, value] : given) {
    const std::string argument = argument_name(option, name, arguments);
    if (!named.emplace(argument, value).second)
      throw Error(ExitCode::usage,
                  fmt::format("{0} {1} and {0} {2} name one argument, expected one of them", option,
                              said_as[argument], name));
    said_as[argument] = name;
  }
  return named;
}

/// Data from a fixed seed: one entry in ten where a format leaves entries out.
Source generated(const LinalgValue& value, size_t seed) {
  const bool sparse = value.format && !value.format->all_dense();
  const bool integer = is_integer(value.type);
  const std::string values = value.type == ElementType::boolean ? "int(0,1)"
                             : integer                          ? "int(0,9)"
                                                                : "uniform(-1,1)";
  return parse_source(fmt::format("{}(shape=[{}],{}values={},seed={})",
                                  sparse ? "uniform" : "dense", fmt::join(value.shape, ","),
                                  sparse ? "density=0.1," : "", values, seed));
}

/// The entries of a sparse constant as FROSTT text.
std::string entries_text(const ConstantTensor& data) {
  const ConstantEntries& entries = data.entries();
  std::string text;
  for (size_t e = 0; e < entries.positions.size(); ++e) {
    std::vector<int64_t> place(data.shape.size());
    int64_t rest = entries.positions[e];
    for (size_t d = place.size(); d-- > 0; rest /= data.shape[d])
      place[d] = rest % data.shape[d] + 1;
    text += fmt::format("{} {:.9g}\n", fmt::join(place, " "), entries.values[e]);
  }
  return text;
}

/// All elements in row-major order.
std::vector<float> all_elements(const ConstantTensor& data) {
  std::vector<float> values(static_cast<size_t>(data.size()), 0);
  if (data.sparse()) {
    const ConstantEntries& entries = data.entries();
    for (size_t e = 0; e < entries.positions.size(); ++e)
      values[static_cast<size_t>(entries.positions[e])] = entries.values[e];
  } else {
    for (int64_t i = 0; i < data.size(); ++i) values[static_cast<size_t>(i)] = data.as_float(i);
  }
  return values;
}

/// What the program names for a constant that the file has: its elements, or a file of them.
Source written_constant(const LinalgConstant& constant, const ConstantTensor& data,
                        const std::string& output) {
  Source source;
  if (data.size() <= kLargestInline) {
    source.kind = Source::Kind::inline_values;
    source.values = all_elements(data);
    return source;
  }
  if (output == "-")
    throw Error(ExitCode::usage,
                fmt::format("constant %{} has {} elements, which are written to files beside the "
                            "program: expected -o FILE",
                            constant.name, data.size()));
  const std::string folder = output + ".data";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  source.kind = Source::Kind::file;
  // Names in SSA form have no "/".
  source.path = fmt::format("{}/{}.{}", folder, constant.name, data.sparse() ? "tns" : "npy");
  check_outputs({{"-o", source.path}});
  write_output(source.path,
               data.sparse() ? entries_text(data) : npy_bytes(all_elements(data), data.shape));
  return source;
}

/// Data of arguments and constants on which no result depends is not asked for again.
void drop_needless(const LinalgFunction& f, const std::vector<LinalgConstant>& constants,
                   ImportOptions& options) {
  std::vector<std::string> needed = needed_arguments(f);
  for (const LinalgConstant& constant : constants) needed.push_back(constant.name);
  for (const LinalgOp& op : f.ops) {
    if (op.kind != LinalgOp::Kind::argument && op.kind != LinalgOp::Kind::constant) continue;
    const std::string& name = f.values[static_cast<size_t>(op.results[0])].name;
    if (std::find(needed.begin(), needed.end(), name) == needed.end()) options.bindings.erase(name);
  }
}

/// Refuses, at its place, what is too large to be generated as all its elements.
void check_generated(const LinalgFunction& f, LinalgId id) {
  const LinalgValue& value = f.values[static_cast<size_t>(id)];
  if (value.format && !value.format->all_dense()) return;
  int64_t count = 1;
  bool large = false;
  for (const int64_t extent : value.shape)
    large = large || __builtin_mul_overflow(count, extent, &count) || count > kMaxStored;
  if (!large) return;
  const auto makes = [&](const LinalgOp& op) { return op.results[0] == id; };
  const auto op = std::find_if(f.ops.begin(), f.ops.end(), makes);
  throw Error(ExitCode::rejected, op->where,
              fmt::format("%{} has more elements than are generated, expected at most {}, an "
                          "encoding with compressed levels, or data of its own: --bind {}=FILE",
                          value.name, kMaxStored, value.name));
}

/// Binds what the user did not: constants, and with --generate arguments.
void bind_rest(const LinalgFunction& f, const MlirArguments& o, ImportOptions& options) {
  size_t seed = 0;
  std::vector<std::string> made;
  const auto generate = [&](const std::string& name, LinalgId id) {
    check_generated(f, id);
    options.bindings[name] = generated(f.values[static_cast<size_t>(id)], ++seed);
    made.push_back("%" + name);
  };
  const std::vector<LinalgConstant> constants = needed_constants(f);
  const std::vector<std::string> needed = needed_arguments(f);
  drop_needless(f, constants, options);
  for (const LinalgId id : f.arguments) {
    const std::string& name = f.values[static_cast<size_t>(id)].name;
    const bool used = std::find(needed.begin(), needed.end(), name) != needed.end();
    if (used && o.generate && !options.bindings.contains(name)) generate(name, id);
  }
  for (const LinalgConstant& constant : constants) {
    if (options.bindings.contains(constant.name)) continue;
    const auto defines = [&](const LinalgOp& op) { return op.results[0] == constant.value; };
    const auto op = std::find_if(f.ops.begin(), f.ops.end(), defines);
    if (op->data)
      options.bindings[constant.name] = written_constant(constant, *op->data, o.output);
    else
      generate(constant.name, constant.value);
  }
  if (made.empty()) return;
  report(Severity::note, fmt::format("mlir: the values of {} are generated; --bind gives others",
                                     fmt::join(made, ", ")));
}

std::vector<std::vector<int64_t>> shapes_of(const std::vector<LinalgArgument>& arguments,
                                            const ImportOptions& options) {
  std::vector<std::vector<int64_t>> shapes;
  for (const LinalgArgument& argument : arguments) {
    shapes.push_back(argument.shape);
    const auto open = std::find(argument.shape.begin(), argument.shape.end(), -1);
    if (open == argument.shape.end()) continue;
    const auto bound = options.bindings.find(argument.name);
    if (bound == options.bindings.end())
      throw Error(ExitCode::rejected, argument.where,
                  fmt::format("argument %{} has extents that only its data say; give it data: "
                              "--bind {}=FILE",
                              argument.name, argument.name));
    shapes.back() = read_raw(bound->second, argument.shape).shape;
  }
  return shapes;
}

ExitCode write_main(const MlirArguments& o) {
  const bool reads = !o.function.empty() || !o.binds.empty() || o.generate || !o.formats.empty() ||
                     o.regions != "operations" || !o.name.empty();
  if (reads || (o.dense && o.dense_results)) {
    throw Error(ExitCode::usage,
                reads ? "--function, --bind, --generate, --format, --regions and --name are about "
                        "what is read, not about what --write writes"
                      : "--dense leaves out all encodings, expected it or --dense-results");
  }
  check_outputs({{"-o", o.output}});
  const Program program = read_program(o.file);
  const std::string text = write_linalg(program, {!o.dense, o.dense_results, o.main});
  try {
    const LinalgModule verified(text, "the written text");
  } catch (const Error& error) {
    throw Defect(error.what());
  }
  write_output(o.output, text);
  return ExitCode::ok;
}

/// The program of the function that is asked for.
Program read_mlir(const SourceText& source, const MlirArguments& o) {
  ImportOptions options;
  const LinalgModule module(source.text, source.name);
  const std::string name = chosen_function(module, o);
  const std::vector<LinalgArgument> arguments = module.arguments(name);
  std::map<std::string, Source> bindings;
  collect(o.binds, "--bind", bindings, [](const std::string& v) { return parse_binding(v); });
  options.bindings = by_name("--bind", bindings, arguments);
  std::map<std::string, std::string> formats;
  collect(o.formats, "--format", formats, [](const std::string& v) { return v; });
  options.formats = by_name("--format", formats, arguments);
  LinalgFunction f = module.function(name, shapes_of(arguments, options));
  if (o.regions == "function") {
    for (LinalgOp& op : f.ops) op.region = f.name;
    f.given_regions = true;
  }
  bind_rest(f, o, options);
  Program program = linalg_program(f, source.name, options);
  if (!o.name.empty()) program.name = o.name;
  verify(program);
  return program;
}

ExitCode mlir_main(const MlirArguments& o) {
  register_onnx_sources();
  if (o.write) return write_main(o);
  if (o.dense || o.dense_results || o.main)
    throw Error(ExitCode::usage,
                "--dense, --dense-results and --main are about what --write writes");
  check_outputs({{"-o", o.output}});
  const SourceText source = read_source(o.file);
  try {
    write_program(o.output, read_mlir(source, o));
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics()[0];
    if (error.code() != ExitCode::rejected || !first.where.file.empty()) throw;
    throw Error(error.code(), Location{source.name}, first.message);
  }
  return ExitCode::ok;
}

int tool_main(int argc, char** argv) {
  CommandLine app(
      "Reads linalg operations on tensors (MLIR) as a program, one region per operation; --write "
      "writes a program as such operations",
      "fuseflow-mlir");
  MlirArguments arguments;
  add_options(app, arguments);
  return run_tool(argc, argv, app, [&] { return mlir_main(arguments); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
