// Errors as data: where, what, what was expected. One formatter turns them into text; one place
// (tools/shell/tool.h) turns them into an exit status. Library code throws Error, never exits.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

/// Exit status of every tool (contract, see DESIGN).
enum class ExitCode : int {
  ok = 0,
  rejected = 1,    ///< the input was rejected
  usage = 2,       ///< wrong usage
  io = 3,          ///< a file could not be read or written
  unfinished = 4,  ///< deadlock, limit, or a check found a wrong result
  worse = 5,       ///< what was compared is worse than it may be (fuseflow-diff)
  undecided = 6,   ///< a check leaves something open (fuseflow-sim --strict)
  internal = 70,
};

enum class Severity { error, warning, note };

/// A place in a text. Lines and columns count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;  ///< characters to underline
};

struct Diagnostic {
  Severity severity = Severity::error;
  Location where;
  std::string message;      ///< "what, expected what", without a trailing newline
  std::string source_line;  ///< the text of the line, when known
};

/// `file:line:col: error: message`, then the source line and a caret where known (long lines are
/// elided around the caret). Ends with a newline.
std::string format(const Diagnostic& diagnostic);

/// The exception of the whole project. Carries at least one diagnostic and the exit status.
class Error : public std::exception {
 public:
  Error(ExitCode code, std::string message);
  Error(ExitCode code, Location where, std::string message);
  Error(ExitCode code, std::vector<Diagnostic> diagnostics);
  Error(const Error&);
  Error& operator=(const Error&);
  ~Error() override;

  ExitCode code() const { return code_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override;

 private:
  ExitCode code_;
  std::vector<Diagnostic> diagnostics_;
};

/// Nearest of `candidates` to `name` by edit distance, or empty when nothing is near: for "did you
/// mean".
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Prints a warning or note to standard error through the common formatter.
void report(Severity severity, std::string message);

}  // namespace fuseflow
