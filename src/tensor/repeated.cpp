#include "tensor/repeated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fuseflow {

RepeatedCoordinate::RepeatedCoordinate(std::vector<uint64_t> coordinate)
    : Error(ExitCode::rejected,
            fmt::format("coordinate [{}] (counted from 0) occurs twice, expected every coordinate "
                        "at most once",
                        fmt::join(coordinate, ","))),
      coordinate_(std::move(coordinate)) {}

void refuse_repeated(const std::string& file, const RepeatedCoordinate& repeated) {
  if (file.ends_with(".mtx") || file.ends_with(".mtx.gz")) {
    find_repeated_in_mtx(file, repeated.coordinate());
  }
  if (file.ends_with(".tns")) find_repeated_in_tns(file, repeated.coordinate());
  throw Error(ExitCode::rejected, Location{file}, repeated.what());
}

}  // namespace fuseflow
