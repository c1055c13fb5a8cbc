// fuseflow-sam: graphs of Comal and SAM to programs, and back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "exchange/comal_file.h"
#include "exchange/data.h"
#include "exchange/read_graph.h"
#include "exchange/sam_dot.h"
#include "exchange/write_graph.h"
#include "import/import.h"
#include "ir/names.h"
#include "program_tool.h"
#include "support/input_kind.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

struct ReadOptions {
  std::vector<std::string> graphs;
  std::string data;
  std::string output = "-";
};

struct WriteOptions {
  ProgramOptions filter;
  std::string format = "comal";
  std::string data;
  std::string region;
  bool text = false;
  bool strict = false;
};

void add_read_options(CommandLine& app, ReadOptions& options) {
  app.add_option("graphs", options.graphs,
                 "ComalGraph (protobuf or its text) or SAM graph (Graphviz); several become "
                 "regions, in this order")
      .option_text("GRAPH...")
      .required();
  app.add_option("--data", options.data, "Folder with the files tensor_NAME_mode_* of the tensors")
      .option_text("DIR");
  app.add_option("-o,--output", options.output, "Write to FILE instead of standard output")
      .option_text("FILE");
}

void add_write_options(CommandLine& app, WriteOptions& options) {
  add_filter_options(app, options.filter);
  app.option("--output")
      .description("Write to FILE; of several regions a folder, one file a region")
      .option_text("FILE|DIR");
  app.add_option("--format", options.format, "Simulator for which to write (default: comal)")
      .option_text("comal|sam")
      .among({"comal", "sam"});
  app.add_option("--data", options.data, "Write the data of inputs and constants to DIR, too")
      .option_text("DIR");
  app.add_option("--region", options.region, "Only this region").option_text("NAME");
  app.add_flag("--text", options.text,
               "Write protobuf as text (default on standard output and for *.txtpb)");
  app.add_flag("--strict", options.strict,
               "Refuse nodes that Comal or SAM lack instead of writing extensions");
}

ExitCode read(const ReadOptions& options) {
  check_outputs({{"-o", options.output}});
  std::vector<NamedGraph> graphs;
  for (const std::string& path : options.graphs) {
    const SourceText source = read_source(path);
    const InputKind kind = kind_of(source.text);
    if (kind == InputKind::program) {
      throw Error(ExitCode::rejected, Location{source.name},
                  "this is a fuseflow program, expected a graph of Comal or SAM; `fuseflow-sam "
                  "write` writes the graphs of a program");
    }
    const bool drawn = kind == InputKind::drawing;
    graphs.push_back({source.name, drawn ? parse_sam_dot(source.text, source.name)
                                         : parse_comal(source.text, source.name)});
  }
  write_program(options.output, read_graphs(graphs, options.data));
  return ExitCode::ok;
}

/// The regions asked for, in their order.
std::vector<const Region*> chosen_regions(const Program& program, const WriteOptions& options) {
  std::vector<const Region*> chosen;
  for (const Region& region : program.regions) {
    if (options.region.empty() || region.name == options.region) chosen.push_back(&region);
  }
  if (chosen.empty()) {
    throw Error(ExitCode::rejected,
                options.region.empty()
                    ? "the program has no regions"
                    : fmt::format("there is no region @{}", quote_if_needed(options.region)));
  }
  if (chosen.size() > 1 && options.filter.output == "-") {
    throw Error(ExitCode::usage,
                fmt::format("the program has {} regions, expected -o DIR, or --region NAME",
                            chosen.size()));
  }
  return chosen;
}

std::string bytes_of(const WrittenGraph& written, const WriteOptions& options,
                     const std::string& path) {
  if (options.format == "sam") return sam_dot(written.graph);
  const bool text = options.text || path == "-" || path.ends_with(".txtpb");
  return text ? comal_text(written.graph) : comal_binary(written.graph);
}

/// What only we read, in all graphs.
void note_extensions(const std::map<std::string, int>& extensions, const WriteOptions& options) {
  if (extensions.empty()) return;
  std::vector<std::string> kinds;
  kinds.reserve(extensions.size());
  for (const auto& [kind, count] : extensions) kinds.push_back(fmt::format("{} {}", count, kind));
  const std::string list = fmt::format("{}", fmt::join(kinds, ", "));
  if (options.strict) {
    throw Error(ExitCode::rejected,
                fmt::format("{} has no operation for these nodes: {}", options.format, list));
  }
  report(Severity::note, fmt::format("{} has no operation for these nodes, which only fuseflow-sam "
                                     "reads: {}",
                                     options.format, list));
}

/// The file of each region: that of -o, or NN_REGION.bin in that folder, which is made.
std::vector<std::string> graph_files(const std::vector<const Region*>& regions,
                                     const WriteOptions& options) {
  const std::string& output = options.filter.output;
  if (regions.size() == 1) return {output};
  std::error_code ignored;
  std::filesystem::create_directories(output, ignored);
  const char* kind = options.format == "sam" ? "gv" : options.text ? "txtpb" : "bin";
  std::vector<std::string> files;
  for (size_t i = 0; i < regions.size(); ++i) {
    files.push_back(
        fmt::format("{}/{:02}_{}.{}", output, i + 1, file_name(regions[i]->name), kind));
  }
  return files;
}

/// All files together, before the first is written.
void check_written(const Program& program, const std::vector<const Region*>& regions,
                   const std::vector<std::string>& graphs, const WriteOptions& options) {
  std::vector<NamedOutput> outputs;
  for (const std::string& file : graphs) outputs.push_back({"-o", file});
  if (!options.data.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(options.data, ignored);
    for (const std::string& file : data_files(program, regions, options.data)) {
      outputs.push_back({"--data", file});
    }
  }
  check_outputs(outputs);
}

ExitCode write(const WriteOptions& options) {
  if (options.text && options.format == "sam") {
    throw Error(ExitCode::usage, "--text is for --format comal: graphs of SAM are always text");
  }
  const Program program = read_program(options.filter);
  const std::vector<const Region*> regions = chosen_regions(program, options);
  const Dialect dialect = options.format == "sam" ? Dialect::sam : Dialect::comal;
  std::vector<WrittenGraph> written;
  std::map<std::string, int> extensions;
  for (const Region* region : regions) {
    written.push_back(write_graph(program, *region, dialect));
    for (const auto& [kind, count] : written.back().extensions) extensions[kind] += count;
  }
  note_extensions(extensions, options);
  const std::vector<std::string> files = graph_files(regions, options);
  check_written(program, regions, files, options);
  for (size_t i = 0; i < regions.size(); ++i) {
    write_output(files[i], bytes_of(written[i], options, files[i]));
  }
  if (!options.data.empty()) write_data(program, regions, options.data);
  return ExitCode::ok;
}

int run(int argc, char** argv) {
  CommandLine app(
      "Graphs of the simulators Comal and SAM as programs, and back:\n"
      "  fuseflow-sam read ikj.bin --data tensors | fuseflow-sim --machine comal\n"
      "  fuseflow-lower spmm.ff | fuseflow-sam write --format comal --data tensors -o spmm.bin",
      "fuseflow-sam");
  ReadOptions reading;
  WriteOptions writing;
  CommandLine& reader = app.add_command("read", "Graphs to a program");
  CommandLine& writer = app.add_command("write", "The graphs of a lowered program to files");
  add_read_options(reader, reading);
  add_write_options(writer, writing);
  register_onnx_sources();
  return run_tool(argc, argv, app,
                  [&] { return reader.commanded() ? read(reading) : write(writing); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::run);
}
