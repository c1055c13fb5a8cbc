#include "passes/join_forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/names.h"

namespace fuseflow {

namespace {

constexpr size_t kAllSets = 3;  // of so many levels

/// Sets of levels that are located, of those of one place.
std::vector<std::vector<TensorId>> located_sets(const JoinPlace& place) {
  const std::set<TensorId> distinct(place.tensors.begin(), place.tensors.end());
  const std::vector<TensorId> all(distinct.begin(), distinct.end());
  // What leads stays: another stream, or a second level of the same tensor.
  const bool led = place.led || place.tensors.size() > all.size();
  std::vector<std::vector<TensorId>> sets;
  if (all.size() <= kAllSets) {
    for (unsigned bits = 1; bits < 1U << all.size(); ++bits) {
      std::vector<TensorId> set;
      for (size_t i = 0; i < all.size(); ++i) {
        if (((bits >> i) & 1U) != 0) set.push_back(all[i]);
      }
      if (led || set.size() < all.size()) sets.push_back(std::move(set));
    }
    return sets;
  }
  for (const TensorId one : all) {
    sets.push_back({one});
    sets.push_back(all);
    std::erase(sets.back(), one);
  }
  if (led) sets.push_back(all);
  return sets;
}

}  // namespace

std::vector<std::string> joined_indices(const std::vector<JoinPlace>& places) {
  std::vector<std::string> indices;
  for (const JoinPlace& place : places) {
    if (std::find(indices.begin(), indices.end(), place.index) == indices.end()) {
      indices.push_back(place.index);
    }
  }
  return indices;
}

std::vector<Join> other_forms(const std::vector<JoinPlace>& places, const Join& now) {
  std::vector<Join> forms;
  const auto add = [&](Join form) {
    const bool known = form == now || std::find(forms.begin(), forms.end(), form) != forms.end();
    if (!known) forms.push_back(std::move(form));
  };
  add({now.index, JoinForm::merge, {}});
  for (const JoinPlace& place : places) {
    if (place.index != now.index) continue;
    if (place.words >= 2) add({now.index, JoinForm::words, {}});
    if (place.gallops > 0) add({now.index, JoinForm::gallop, {}});
    for (const std::vector<TensorId>& set : located_sets(place)) {
      std::set<TensorId> located(set.begin(), set.end());
      for (const TensorId tensor : now.located) {
        const auto& here = place.tensors;
        if (std::find(here.begin(), here.end(), tensor) == here.end()) located.insert(tensor);
      }
      add({now.index, JoinForm::locate, {located.begin(), located.end()}});
    }
  }
  return forms;
}

Join join_of(const Schedule& schedule, const std::string& index) {
  for (const Join& join : schedule.joins) {
    if (join.index == index) return join;
  }
  return {index, JoinForm::merge, {}};
}

void set_join(Schedule& schedule, const Join& join) {
  std::erase_if(schedule.joins, [&](const Join& other) { return other.index == join.index; });
  if (join.form != JoinForm::merge) schedule.joins.push_back(join);
}

std::string joined_text(const Program& program, const std::vector<JoinPlace>& places) {
  std::vector<std::string> parts;
  for (const JoinPlace& place : places) {
    std::vector<std::string> names;
    for (const TensorId tensor : place.tensors) {
      names.push_back("%" + quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name));
    }
    if (place.led) names.emplace_back("a stream");
    parts.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string places_text(const Program& program, const std::vector<JoinPlace>& places) {
  std::vector<std::string> parts;
  parts.reserve(places.size());
  for (const JoinPlace& place : places) {
    parts.push_back(
        fmt::format("{} at {}", joined_text(program, {place}), quote_if_needed(place.index)));
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace fuseflow
