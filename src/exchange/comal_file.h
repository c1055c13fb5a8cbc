// ComalGraph as a file: protobuf, or its text.
#pragma once

#include <string>
#include <string_view>

#include "exchange/comal.pb.h"
#include "support/error.h"

namespace fuseflow {

/// Tells binary from text by the bytes. Throws Error(rejected) at `path` for what is neither.
comal::ComalGraph parse_comal(std::string_view bytes, const std::string& path);

/// Any of its messages from text. False where that is none: `error` says why and where.
bool parse_message_text(std::string_view text, google::protobuf::Message& message,
                        Diagnostic& error);

/// A message as text on one line.
std::string message_line(const google::protobuf::Message& message);

/// Throws Error(rejected) for a name that is not UTF-8, which protobuf cannot hold.
std::string comal_binary(const comal::ComalGraph& graph);
/// Throws like comal_binary().
std::string comal_text(const comal::ComalGraph& graph);

}  // namespace fuseflow
