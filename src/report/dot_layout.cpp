#include "report/dot_layout.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace fuseflow {
namespace {

/// A file that is gone when its owner is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int file = mkstemp(path_.data());
    if (file < 0) return;
    std::FILE* out = fdopen(file, "w");
    written_ = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out == nullptr || std::fclose(out) != 0) written_ = false;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  bool written() const { return written_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/fuseflow-dot-XXXXXX";
  bool written_ = false;
};

}  // namespace

std::string svg_by_graphviz(const std::string& dot_text) {
  const TemporaryFile file(dot_text);
  if (!file.written()) return "";
  const std::string command = "dot -Tsvg " + file.path() + " 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string out;
  std::array<char, 65536> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), n);
  }
  if (pclose(pipe) != 0) return "";
  const size_t start = out.find("<svg");
  return start == std::string::npos ? "" : out.substr(start);
}

}  // namespace fuseflow
