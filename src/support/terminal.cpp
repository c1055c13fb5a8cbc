#include "support/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace fuseflow {
namespace {

bool quiet = false;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

bool stderr_is_terminal() {
  const std::string_view term = environment("TERM");
  return !term.empty() && term != "dumb" && isatty(STDERR_FILENO) != 0;
}

bool stderr_has_colours() {
  return environment("NO_COLOR").empty() && stderr_is_terminal();
}

size_t stderr_columns() {
  struct winsize size {};
  const bool told = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : 80;
}

void be_quiet() {
  quiet = true;
}

bool is_quiet() {
  return quiet;
}

}  // namespace fuseflow
