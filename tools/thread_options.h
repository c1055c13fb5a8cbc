// The option that says how many host threads a tool uses, the same in every tool that has one.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <thread>

namespace fuseflow {

/// Sets `threads` to the host's, which is the default. `used_by`: the option that the threads are
/// for, where they are not for the whole tool.
inline void add_threads_option(CLI::App& app, int& threads, const std::string& used_by = "") {
  threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  app.add_option("-j,--threads", threads, used_by + "Host threads; results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
}

}  // namespace fuseflow
