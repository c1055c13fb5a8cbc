#include "explore/kept_program.h"

#include <fmt/format.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "support/error.h"
#include "support/fnv1a.h"

namespace fuseflow {

Program kept_program(Record& record, const std::string& name, const Program& from,
                     const std::function<Program()>& plan) {
  if (!record.keeps()) return plan();
  const std::string key = fmt::format("{} {:016x}", name, fnv1a(print_program(from)));
  const auto known = record.memo().programs.find(key);
  if (known != record.memo().programs.end()) {
    try {
      return parse_program({"the seed " + name + " of the journal", known->second});
    } catch (const Error& error) {  // somebody changed the file: planned again
      if (error.code() != ExitCode::rejected) throw;
    }
  }
  Program planned = plan();
  record.keep(memo_line(key, planned));
  return planned;
}

}  // namespace fuseflow
