// Why no kernel is generated for a region.
#pragma once

#include <string>

namespace fuseflow::cuda {

/// Thrown inside src/cuda; generate.h turns it into a refusal that names the region.
struct Refused {
  std::string reason;
};

}  // namespace fuseflow::cuda
