// The options that give a program its data and its extents, the same in every tool that has them.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "import_options.h"
#include "ir/bind.h"
#include "shell/command_line.h"
#include "support/error.h"
#include "tensor/source.h"

namespace fuseflow {

struct BindOptions {
  std::vector<std::string> binds, dims;  ///< NAME=FILE or a generator, NAME=N
};

inline void add_bind_options(CommandLine& app, BindOptions& o) {
  app.add_option(
         "--bind", o.binds,
         "Data of input NAME: a .mtx, .mtx.gz, .tns, .smtx, .npy or .npz file (of several arrays: "
         "FILE.npz:ARRAY), or a generator, "
         "e.g. A=uniform(density=0.05,seed=1); a NAME with '=' stands in double quotes")
      .option_text("NAME=FILE|KIND(...)")
      .one_a_use();
  app.add_option("--dim", o.dims, "Extent of a symbolic dimension")
      .option_text("NAME=N")
      .one_a_use();
}

/// The value of `--dim`; throws Error(usage).
inline int64_t extent_of_option(const std::string& text) {
  int64_t value = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(ExitCode::usage, "--dim: '" + text + "' is no extent, expected a number from 0");
  }
  return value;
}

/// What the options say; throws Error(usage).
inline Bindings bindings_of(const BindOptions& o) {
  Bindings bindings;
  collect(o.binds, "--bind", bindings.sources,
          [](const std::string& text) { return parse_binding(text); });
  collect(o.dims, "--dim", bindings.extents, extent_of_option);
  return bindings;
}

}  // namespace fuseflow
