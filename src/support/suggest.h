// What was meant by a name that is not known: what other languages call a thing that has another
// name here, and the nearest known name. All that suggest a name ask here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

/// What other languages write, in lower case, and how it is written here.
struct Foreign {
  std::string_view there;
  std::string_view here;
};

/// The known name that differs only in case, else what `foreign` says, else the shortest known name
/// of which the name is some of the words (`bandwidth` of `dram.bandwidth_gigabytes_per_second`),
/// else the nearest (support/error.h); empty where nothing is near. Long names, and of very many
/// known names all but those, have none: looking costs more than it helps.
std::string meant_name(std::string_view name, const std::vector<std::string>& known,
                       std::span<const Foreign> foreign = {});

/// `before` + the name + `after`, or nothing: "; did you mean 'relu'?".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::span<const Foreign> foreign = {},
                         std::string_view before = "; did you mean '",
                         std::string_view after = "'?");

}  // namespace fuseflow
