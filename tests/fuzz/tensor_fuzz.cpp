// libFuzzer target of everything in src/tensor that parses: the first byte chooses the reader, the
// rest is its file or text. An Error is a right answer; a crash, a sanitizer report or an unbounded
// allocation is a defect. Build: see tests/fuzz/CMakeLists.txt.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/error.h"
#include "tensor/npy.h"
#include "tensor/readers.h"
#include "tensor/source.h"
#include "tensor/survey.h"

namespace fuseflow {
namespace {

constexpr size_t kChoices = 9;
constexpr int64_t kMostElements = 1 << 20;

/// The input as a file in memory, which the readers can map.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
      if (put <= 0) std::abort();
      bytes.remove_prefix(static_cast<size_t>(put));
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// What was accepted must build a sound storage and survive a change of format.
void check(RawTensor raw) {
  const int rank = static_cast<int>(raw.shape.size());
  const Format compressed =
      make_format(std::vector<LevelKind>(static_cast<size_t>(rank), LevelKind::compressed));
  const Storage storage = to_storage(std::move(raw), compressed);
  verify(storage);
  if (find_contradiction(storage, facts_of(storage))) std::abort();
  if (storage.elements() <= kMostElements) verify(convert(storage, dense_format(rank)));
}

void run(size_t choice, std::string_view input) {
  switch (choice) {
    case 0:
      return check(read_mtx(MemoryFile(input).path()));
    case 1:
      return check(read_tns(MemoryFile(input).path(), std::nullopt));
    case 2:
      return check(read_smtx(MemoryFile(input).path()));
    case 3:
      return check(read_npy(MemoryFile(input).path()));
    case 4:
      return check(read_npz(MemoryFile(input).path(), ""));
    case 5:
      return check(read_npz(MemoryFile(input).path(), "a"));
    case 6:
      return check(read_mtx_gz(MemoryFile(input).path()));
    case 7: {
      const std::string text = to_string(parse_format(input));
      if (to_string(parse_format(text)) != text) std::abort();
      return;
    }
    default: {
      const std::string text = to_string(parse_source(input));
      if (to_string(parse_source(text)) != text) std::abort();
      return;
    }
  }
}

}  // namespace
}  // namespace fuseflow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    fuseflow::run(data[0] % fuseflow::kChoices, input);
  } catch (const fuseflow::Error&) {  // a Defect is none
  }
  return 0;
}
