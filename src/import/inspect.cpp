// --inspect.
#include "import/import.h"

namespace fuseflow {

std::string inspect_text(const std::string&, const ImportOptions&) {
  return {};
}
std::string inspect_json(const std::string&, const ImportOptions&) {
  return {};
}

}  // namespace fuseflow
