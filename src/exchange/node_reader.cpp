#include "exchange/node_reader.h"

#include <fmt/format.h>

#include "exchange/node_rules.h"
#include "support/error.h"

namespace fuseflow {

void NodeReader::read(const comal::Operation& operation) {
  operation_ = &operation;
  try {
    apply_rule(*this, operation);
  } catch (const Error& error) {
    const std::string place = text_of(operation) + ": ";
    const std::string message = error.diagnostics().front().message;
    if (error.code() != ExitCode::rejected || message.starts_with(place)) throw;
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.front().message = place + message;
    throw Error(error.code(), std::move(diagnostics));
  }
}

void NodeReader::fail(const std::string& message) const {
  throw Error(ExitCode::rejected, fmt::format("{}: {}", text_of(*operation_), message));
}

StreamId NodeReader::take(PortKey key, const char* what) const {
  if (key.id == 0) fail(fmt::format("{} is not connected", what));
  const auto found = streams_.find(key);
  if (found == streams_.end())
    fail(fmt::format("{} is stream {}, which is not given", what, key.id));
  return found->second;
}

StreamId NodeReader::looked_at(int input) const {
  if (input >= extension().inputs_size()) return -1;
  return take(key_of(extension().inputs(input)), "a stream of the extension");
}

void NodeReader::bind(PortKey key, StreamId stream) {
  if (key.id != 0) streams_[key] = stream;
}

StreamId NodeReader::root() {
  if (root_ < 0) {
    root_ = graph_.give(graph_.add(make_node(NodeKind::root)), StreamKind::ref,
                        GraphAssembler::kRootSpace, "root");
  }
  return root_;
}

StreamId NodeReader::parent_of(StreamId stream) const {
  const int space = graph_.space_of(stream);
  if (space == GraphAssembler::kRootSpace)
    fail("a stream in no loop, expected one that a loop ends");
  const StreamId parent = graph_.stream_in(graph_.parent_of(space));
  if (parent < 0) fail("the space around a stream has no streams");
  return parent;
}

}  // namespace fuseflow
