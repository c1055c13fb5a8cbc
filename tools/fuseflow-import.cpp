// fuseflow-import: ONNX to IR, one region per kernel.
#include "import/import.h"

#include <algorithm>

#include "bind_options.h"
#include "ir/files.h"
#include "ir/set_types.h"
#include "ir/verify.h"
#include "shell/tool.h"
#include "support/outputs.h"
#include "support/stop.h"

namespace {

using fuseflow::Error;
using fuseflow::ExitCode;

/// A program names its weights by the model's file.
void require_file(const std::string& model, const fuseflow::Program& program) {
  const bool named =
      std::any_of(program.tensors.begin(), program.tensors.end(),
                  [](const fuseflow::Tensor& t) { return t.source.path == "<stdin>"; });
  if (model != "-" || !named) return;
  throw Error(ExitCode::usage,
              "a program names its weights by the file of their model, expected a file instead of "
              "standard input (-), which is enough for --inspect");
}

struct ImportArguments {
  std::string model;
  std::string output = "-";
  std::string inspect;
  std::string name;
  std::string type;
  fuseflow::BindOptions bound;
  std::vector<std::string> formats;
  double max_seconds = 0, max_memory_mib = 0;  ///< 0: any
  bool follow_links = false;
};

void add_options(fuseflow::CommandLine& app, ImportArguments& o) {
  app.add_option("model", o.model, "ONNX model; - is standard input, for --inspect")
      .required()
      .option_text("FILE");
  fuseflow::add_bind_options(app, o.bound);
  app.add_option("--format", o.formats,
                 "Levels of a tensor, e.g. W=dense,compressed or W=dense,compressed@1,0")
      .option_text("NAME=LEVELS")
      .one_a_use();
  app.add_option("--type", o.type,
                 "Element type of all floating tensors: f32, f16, bf16, f8e4m3 or f8e5m2 (default: "
                 "the model's)")
      .among({"f32", "f16", "bf16", "f8e4m3", "f8e5m2"})
      .option_text("TYPE");
  app.add_flag("--follow-links", o.follow_links,
               "Read weights through links that lead out of the model's folder, wherever to");
  app.add_option("--name", o.name, "Name of the program (default: that of the model's graph)")
      .option_text("NAME");
  app.add_option("--inspect", o.inspect,
                 "Print operators, shapes and densities instead of the program")
      .expected(0, 1)
      .default_str("text")
      .among({"text", "json"})
      .option_text("[text|json]")
      .excludes(app.option("--type"))
      .excludes(app.option("--name"));
  app.add_option("--max-seconds", o.max_seconds, "End with status 4 after S seconds")
      .option_text("S")
      .number_above(0);
  app.add_option("--max-memory", o.max_memory_mib,
                 "End with status 4 where one array takes more than N MiB")
      .option_text("N")
      .number_above(0);
  app.add_option("-o,--output", o.output, "Write to FILE instead of standard output")
      .option_text("FILE");
}

ExitCode import_main(const ImportArguments& o, bool inspecting) {
  fuseflow::ImportOptions options;
  fuseflow::Bindings bound = fuseflow::bindings_of(o.bound);
  options.bindings = std::move(bound.sources);
  options.dims = std::move(bound.extents);
  fuseflow::collect(o.formats, "--format", options.formats, [](const std::string& v) { return v; });
  options.follow_links = o.follow_links;
  options.round_results = o.type.empty();
  fuseflow::check_outputs({{"-o", o.output}});
  fuseflow::register_onnx_sources();
  const fuseflow::StopScope limits("the model was not imported", o.max_seconds,
                                   fuseflow::limit_in_bytes(o.max_memory_mib));
  if (inspecting) {
    const bool json = o.inspect == "json";
    fuseflow::write_output(o.output,
                           json ? inspect_json(o.model, options) : inspect_text(o.model, options));
    return ExitCode::ok;
  }
  fuseflow::Program program = fuseflow::import_onnx(o.model, options);
  require_file(o.model, program);
  if (!o.name.empty()) program.name = o.name;
  if (!o.type.empty()) {
    const fuseflow::ElementType wanted = fuseflow::parse_element_type(o.type);
    for (const std::string& note : set_float_types(program, wanted)) {
      report(fuseflow::Severity::note, "import: " + note);
    }
  }
  fuseflow::verify(program);
  fuseflow::write_program(o.output, std::move(program));
  return ExitCode::ok;
}

int tool_main(int argc, char** argv) {
  fuseflow::CommandLine app("Reads an ONNX model as a fuseflow program, one region per kernel",
                            "fuseflow-import");
  ImportArguments arguments;
  add_options(app, arguments);
  return fuseflow::run_tool(argc, argv, app,
                            [&] { return import_main(arguments, app.given("--inspect")); });
}

}  // namespace

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, tool_main);
}
