// Where a path leads, for writing and for reading: to a descriptor that is open already, to a
// device or pipe, or to a file, which may be there or not.
#pragma once

#include <string>

namespace fuseflow {

struct Destination {
  enum class Kind {
    descriptor,  ///< "-", /dev/stdout, /dev/fd/N: written where its own position is
    special,     ///< a device, a pipe, a socket, a folder: opened as it is
    file,        ///< replaced as a whole
  };
  Kind kind = Kind::file;
  int descriptor = -1;  ///< of this process
  std::string path;     ///< of the thing itself: links are followed, so that a link stays a link
};

/// May be asked before anything is there. A link that leads nowhere leads to the file that it
/// names.
Destination destination_of(const std::string& path);

}  // namespace fuseflow
