// Walks the model's bytes, and skips all but the messages that a tensor may lie in: to parse a
// model for the names of a few files would copy its weights.
#include "import/onnx/weights_files.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>

#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

enum class Message : uint8_t { model, function, graph, node, attribute, sparse, tensor, entry };

/// Field `number` of a message of kind `in` is a message of kind `is`.
struct MessageField {
  Message in;
  int number;
  Message is;
};

constexpr std::array kMessageFields = {
    MessageField{Message::model, 7, Message::graph},
    MessageField{Message::model, 25, Message::function},
    MessageField{Message::function, 7, Message::node},
    MessageField{Message::function, 11, Message::attribute},
    MessageField{Message::graph, 1, Message::node},
    MessageField{Message::graph, 5, Message::tensor},
    MessageField{Message::graph, 15, Message::sparse},
    MessageField{Message::node, 5, Message::attribute},
    MessageField{Message::attribute, 5, Message::tensor},
    MessageField{Message::attribute, 6, Message::graph},
    MessageField{Message::attribute, 10, Message::tensor},
    MessageField{Message::attribute, 11, Message::graph},
    MessageField{Message::attribute, 22, Message::sparse},
    MessageField{Message::sparse, 1, Message::tensor},
    MessageField{Message::sparse, 2, Message::tensor},
    MessageField{Message::tensor, 13, Message::entry},
};

class LocationWalk {
 public:
  explicit LocationWalk(CodedInputStream& in) : in_(in) {}

  /// False at what is malformed.
  bool walk(Message kind, int depth) {
    constexpr int kDeepest = 100;
    if (depth > kDeepest) return false;
    std::string key, value;
    while (const uint32_t tag = in_.ReadTag()) {
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      const auto inner =
          std::find_if(kMessageFields.begin(), kMessageFields.end(),
                       [&](const MessageField& f) { return f.in == kind && f.number == number; });
      const bool whole =
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      if (whole && inner != kMessageFields.end()) {
        if (!walk_inside(inner->is, depth)) return false;
      } else if (whole && kind == Message::entry && (number == 1 || number == 2)) {
        if (!WireFormatLite::ReadBytes(&in_, number == 1 ? &key : &value)) return false;
      } else if (!WireFormatLite::SkipField(&in_, tag)) {
        return false;
      }
    }
    if (key == "location") found.insert(value);
    return true;
  }

  std::set<std::string> found;

 private:
  bool walk_inside(Message kind, int depth) {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size) || size > static_cast<uint32_t>(in_.BytesUntilLimit()))
      return false;
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(size));
    const bool good = walk(kind, depth + 1) && in_.BytesUntilLimit() == 0;
    in_.PopLimit(outer);
    return good;
  }

  CodedInputStream& in_;
};

std::set<std::string> locations(std::string_view bytes) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return {};
  const auto size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream stream(bytes.data(), size);
  CodedInputStream in(&stream);
  in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  in.PushLimit(size);
  LocationWalk walk(in);
  walk.walk(Message::model, 0);
  return std::move(walk.found);
}

}  // namespace

std::vector<std::string> weights_files(const std::string& path) {
  std::vector<std::string> files;
  try {
    const MappedFile model(path);
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    for (const std::string& location : locations(model.bytes()))
      files.push_back((folder / location).string());
  } catch (const Error&) {
    files.clear();
  }
  return files;
}

}  // namespace fuseflow
