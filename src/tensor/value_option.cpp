#include "tensor/value_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/error.h"
#include "tensor/limits.h"
#include "tensor/params.h"
#include "tensor/random_blocks.h"

namespace fuseflow {

namespace {

constexpr uint64_t kValueStream = 1;

/// Odd multiples of 2^-25 of the range: uniform(-1,1) never gives 0, nor an end of the range.
float uniform_value(uint64_t number, double low, double high) {
  const double u = (static_cast<double>(static_cast<int32_t>(number >> 40)) + 0.5) * 0x1p-24;
  return static_cast<float>(low + (high - low) * u);
}

}  // namespace

ValueOption::ValueOption(std::string_view text) {
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::rejected,
                fmt::format("values={}: {}, expected ones, constant(c), uniform(low,high), "
                            "normal(mean,std) or int(low,high), for example values=uniform(-1,1)",
                            text, what));
  };
  const size_t open = text.find('(');
  const std::string name(text.substr(0, open));
  std::vector<double> arguments;
  if (open != std::string_view::npos) {
    const size_t close = text.find(')', open);
    if (close == std::string_view::npos) fail("no closing bracket");
    if (close + 1 != text.size()) fail("text after the closing bracket");
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    for (size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      const std::optional<double> value = whole_real(rest.substr(0, comma));
      if (!value || std::fabs(*value) > 3.4e38) fail("a bad number");
      arguments.push_back(value.value_or(0));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  }
  const auto take = [&](Kind kind, size_t count, double a, double b) {
    kind_ = kind;
    if (arguments.size() != count && !(arguments.empty() && count == 2 && kind != Kind::integer)) {
      fail(fmt::format("{} arguments for {}", arguments.size(), name));
    }
    a_ = arguments.empty() ? a : arguments[0];
    b_ = arguments.size() < 2 ? b : arguments[1];
  };
  if (name == "ones")
    take(Kind::constant, 0, 1, 1);
  else if (name == "constant")
    take(Kind::constant, 1, 1, 1);
  else if (name == "uniform")
    take(Kind::uniform, 2, -1, 1);
  else if (name == "normal")
    take(Kind::normal, 2, 0, 1);
  else if (name == "int")
    take(Kind::integer, 2, 0, 0);
  else
    fail("an unknown option");
  if ((kind_ == Kind::uniform || kind_ == Kind::integer) && a_ > b_) fail("low is above high");
  if (kind_ == Kind::normal && b_ < 0) fail("a negative deviation");
  if (kind_ == Kind::integer && (a_ != std::floor(a_) || b_ != std::floor(b_) ||
                                 std::fabs(a_) > 0x1p24 || std::fabs(b_) > 0x1p24)) {
    fail("ends that are not whole numbers up to 2^24");
  }
}

float ValueOption::draw(Random& random) const {
  switch (kind_) {
    case Kind::constant:
      return static_cast<float>(a_);
    case Kind::uniform:
      return uniform_value(random.next(), a_, b_);
    case Kind::normal:
      return static_cast<float>(a_ + b_ * random.normal());
    case Kind::integer:
      return static_cast<float>(
          a_ + static_cast<double>(random.below(static_cast<uint64_t>(b_ - a_) + 1)));
  }
  return 0;
}

void ValueOption::draw_uniform(const Random& random, std::span<float> values) const {
  RandomBlocks numbers(random);
  while (!values.empty()) {
    stop_if_asked();
    const std::span<const uint64_t> ahead = numbers.ahead();
    const size_t count = std::min(ahead.size(), values.size());
    for (size_t k = 0; k < count; ++k) values[k] = uniform_value(ahead[k], a_, b_);
    numbers.take(count);
    values = values.subspan(count);
  }
}

std::vector<float> ValueOption::draw_all(size_t count, uint64_t seed) const {
  Random random(seed, kValueStream);
  std::vector<float> values = filled(count, 0.0F);
  if (kind_ == Kind::uniform) {
    draw_uniform(random, values);
  } else {
    for (size_t i = 0; i < count; ++i) {
      values[i] = draw(random);
      if (i % kStepsBetweenStops == 0) stop_if_asked();
    }
  }
  return values;
}

}  // namespace fuseflow
