// What a file is that was given to the wrong tool: recognised by its first bytes, so that the
// message can say what it is and which tool or option takes it, instead of where its text is no
// program.
#pragma once

#include <string>
#include <string_view>

#include "support/io.h"

namespace fuseflow {

enum class InputKind {
  empty,
  program,
  onnx,
  mlir,
  tensor,   ///< .npy, .npz, .mtx, .tns, .smtx, each perhaps compressed
  report,   ///< CSV of our tools
  machine,  ///< TOML
  trace,    ///< JSON
  drawing,  ///< DOT
  pytorch,
  archive,
  binary,  ///< something else that is no text
  text,    ///< something else
};

InputKind kind_of(std::string_view bytes);

/// The text without the mark of its encoding that some editors put in front.
std::string_view without_byte_order_mark(std::string_view text);

/// Why `source` is no program, in one message: "this is an ONNX model, .." Empty if it begins like
/// a program, or is some text that the parser is to complain about.
std::string why_no_program(const SourceText& source);

/// Why bytes are no ONNX model, in one message; empty if it can only be said that they are none.
std::string why_no_model(std::string_view bytes);

/// Why bytes are no CSV of our tools, in one message; empty if they may be another than the one
/// expected.
std::string why_no_table(std::string_view bytes, std::string_view expected);

/// Why bytes are no TOML, so no machine description, in one message; empty if it can only be said
/// where they are not.
std::string why_no_machine(std::string_view bytes);

}  // namespace fuseflow
