#include "tensor/inflate.h"

#include <fmt/format.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <set>

#include "support/error.h"
#include "support/io.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

constexpr size_t kBytesBetweenStops = size_t{1} << 22;

[[noreturn]] void reject(const std::string& path, const std::string& message) {
  throw Error(ExitCode::rejected, Location{path}, message);
}

/// A running inflation of a gzip file.
class Inflation {
 public:
  Inflation(std::string_view bytes, const std::string& path) : path_(path), rest_(bytes) {
    // 15: the largest window; 16: a gzip header, not zlib's.
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { ::inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  bool done() const { return done_; }

  /// Appends at most `most` bytes.
  void append(std::string& text, size_t most) {
    const size_t before = text.size();
    text.resize(before + most);
    size_t given = 0;
    while (given < most && !done_) {
      stop_if_asked();
      given += step(text.data() + before + given, std::min(most - given, kBytesBetweenStops));
    }
    text.resize(before + given);
  }

 private:
  /// `room`: at most kBytesBetweenStops.
  size_t step(char* out, size_t room) {
    constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits
    const size_t in = std::min(rest_.size(), kPiece);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(in);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    rest_.remove_prefix(in - stream_.avail_in);
    const size_t given = room - stream_.avail_out;
    if (status == Z_STREAM_END) {
      next_member();
    } else if (status == Z_BUF_ERROR || (status == Z_OK && rest_.empty() && given == 0)) {
      reject(path_, "the compressed file ends too early, expected the rest of it");
    } else if (status != Z_OK) {
      reject(path_, fmt::format("not a sound gzip file ({}), expected one made by gzip",
                                stream_.msg != nullptr ? stream_.msg : "no reason given"));
    }
    return given;
  }

  /// gzip allows members one after the other; what follows and is none is ignored, as gzip does.
  void next_member() {
    done_ = rest_.size() < 2 || rest_.substr(0, 2) != "\x1f\x8b";
    if (!done_ && ::inflateReset(&stream_) != Z_OK) reject(path_, "not a sound gzip file");
  }

  const std::string& path_;
  std::string_view rest_;
  z_stream stream_ = {};
  bool done_ = false;
};

}  // namespace

std::string gunzip(std::string_view bytes, const std::string& path,
                   const std::function<uint64_t(std::string_view head)>& limit) {
  if (!bytes.starts_with("\x1f\x8b")) {
    reject(path, "not a gzip file, expected one made by gzip");
  }
  Inflation inflation(bytes, path);
  std::string text;
  inflation.append(text, kHeadBytes);
  if (inflation.done()) return text;
  const uint64_t most = limit(text);
  while (!inflation.done()) {
    if (text.size() > most) {
      reject(path,
             fmt::format("more than {} bytes when decompressed, more than its header has a use for",
                         most));
    }
    require_memory(saturating_product(2, text.size()), "the decompressed file");
    inflation.append(text, text.size());
  }
  return text;
}

namespace {

zip_t* as_zip(void* archive) {
  return static_cast<zip_t*>(archive);
}

}  // namespace

ZipFile::ZipFile(const std::string& path) : path_(path) {
  const MappedFile readable(path);  // the usual error where it is not
  int code = 0;
  archive_ = ::zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive_ == nullptr) {
    zip_error_t error;
    ::zip_error_init_with_code(&error, code);
    const std::string why = ::zip_error_strerror(&error);
    ::zip_error_fini(&error);
    reject(path, fmt::format("not a sound .npz file ({}), expected one written by numpy.savez or "
                             "scipy.sparse.save_npz",
                             why));
  }
  const zip_int64_t count = ::zip_get_num_entries(as_zip(archive_), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = ::zip_get_name(as_zip(archive_), static_cast<zip_uint64_t>(i), 0);
    names_.emplace_back(name != nullptr ? name : "");
  }
  std::set<std::string> distinct(names_.begin(), names_.end());
  if (distinct.size() != names_.size()) {
    ::zip_discard(as_zip(archive_));
    reject(path, "two members of the archive have the same name");
  }
}

ZipFile::~ZipFile() {
  ::zip_discard(as_zip(archive_));
}

bool ZipFile::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::string ZipFile::read(const std::string& name) const {
  const std::string where = path_ + ":" + name;
  zip_stat_t info;
  ::zip_stat_init(&info);
  const auto index =
      static_cast<zip_uint64_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (::zip_stat_index(as_zip(archive_), index, 0, &info) != 0 || (info.valid & needed) != needed)
    reject(where, "the archive does not tell the size of this member");
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
    reject(where, "compressed by an unknown method, expected numpy.savez or savez_compressed");
  if (info.size > saturating_product(info.comp_size, kMostInflation) + 64) {
    reject(where, fmt::format("{} bytes are declared to be {} when decompressed, which they cannot",
                              info.comp_size, info.size));
  }
  require_memory(saturating_product(2, info.size), "the decompressed member");
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      ::zip_fopen_index(as_zip(archive_), index, 0), ::zip_fclose);
  if (file == nullptr)
    reject(where, fmt::format("cannot be read: {}", ::zip_strerror(as_zip(archive_))));
  std::string bytes(info.size, '\0');
  size_t got = 0;
  zip_int64_t piece = 1;
  while (got < bytes.size() && piece > 0) {
    stop_if_asked();
    piece = ::zip_fread(file.get(), bytes.data() + got,
                        std::min(bytes.size() - got, kBytesBetweenStops));
    if (piece > 0) got += static_cast<size_t>(piece);
  }
  char more = 0;
  const bool sound =
      got == bytes.size() && ::zip_fread(file.get(), &more, 1) == 0;  // checks the sum
  if (!sound) reject(where, "damaged or truncated: not what the archive's directory declares");
  return bytes;
}

}  // namespace fuseflow
