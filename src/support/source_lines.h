// Lines of texts in messages. A program knows of its tensors, statements and regions only the file,
// line and column; the texts that were read are kept here, so that errors which are found long
// after parsing are shown with their line, too.
#pragma once

#include <string>
#include <string_view>

#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

/// An error at a place of `source`, with its line (of a very long line only a part).
Diagnostic error_at(const SourceText& source, const Location& where, std::string message);

/// Keeps a text under its name for messages of later on, instead of another one of that name; of
/// texts of more than some megabytes together only the first.
void keep_text(const SourceText& source);

/// The line of `where` of the text kept under its file's name, cut as by error_at(); empty where
/// there is none.
std::string kept_line(const Location& where);

}  // namespace fuseflow
