#include "lower/join_places.h"

#include <algorithm>

namespace fuseflow {

bool has_effect(const Join& join, const std::vector<JoinPlace>& places) {
  return std::any_of(places.begin(), places.end(), [&](const JoinPlace& place) {
    if (place.index != join.index) return false;
    switch (join.form) {
      case JoinForm::merge:
        return true;
      case JoinForm::words:
        return place.words >= 2;
      case JoinForm::gallop:
        return place.gallops > 0;
      case JoinForm::locate:
        break;
    }
    const auto& known = place.tensors;
    return (place.led || known.size() > 1) &&
           std::any_of(join.located.begin(), join.located.end(), [&](TensorId tensor) {
             return std::find(known.begin(), known.end(), tensor) != known.end();
           });
  });
}

}  // namespace fuseflow
