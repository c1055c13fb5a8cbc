// The option that says how many host threads a tool uses, the same in every tool that has one.
#pragma once

#include <string>

#include "shell/command_line.h"
#include "support/on_threads.h"

namespace fuseflow {

/// Sets `threads` to the processors of this process, which is the default. `used_by`: the option
/// that the threads are for, where they are not for the whole tool.
inline void add_threads_option(CommandLine& app, int& threads, const std::string& used_by = "") {
  threads = processors();
  app.add_option("-j,--threads", threads, used_by + "Host threads; results do not depend on it")
      .option_text("N")
      .between(1, 1024);
}

}  // namespace fuseflow
