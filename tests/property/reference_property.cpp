// The property test of the reference: random programs over random data, non-finite values among
// them, have the same values whether every point is visited or only those that may differ from a
// fill, in one piece or in small blocks. By hand: reference_property --count 100000 --seed 7

#include <cmath>
#include <cstdio>

#include "check.h"
#include "damage.h"
#include "recipe.h"
#include "seeded_main.h"

namespace fuseflow::testing {
namespace {

/// Equal, both NaN, or apart by the last place of sums that were added in another order.
bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 0x1p-23F * std::fabs(b);
}

std::string difference(const Program& program, const std::vector<Value>& all,
                       const std::vector<Value>& some) {
  for (size_t t = 0; t < all.size(); ++t) {
    if (all[t].shape.empty() && !all[t].dense && !all[t].sparse) continue;
    const auto spelled = [](const Value& v) { return v.dense ? *v.dense : to_dense(*v.sparse); };
    const std::vector<float> a = spelled(all[t]), b = spelled(some[t]);
    for (size_t i = 0; i < a.size(); ++i) {
      if (same(b[i], a[i])) continue;
      return fmt::format("%{}, element {}: {} instead of {}", program.tensors[t].name, i, b[i],
                         a[i]);
    }
  }
  return "";
}

/// Empty, or what differs. `sparse`: counts tensors that were left sparse.
std::string check(const Program& program, const Inputs& inputs, int64_t& sparse) {
  ReferenceOptions options;
  options.threads = 1;
  options.visit = Visit::all;
  const std::vector<Value> all = evaluate(program, inputs, options);
  for (const Visit visit : {Visit::present, Visit::fewer}) {
    for (const int64_t largest : {int64_t{1} << 28, int64_t{7}}) {
      options.visit = visit;
      options.max_elements = largest;
      std::vector<Value> some;
      try {
        some = evaluate(program, inputs, options);
      } catch (const Error& error) {  // blocks of 7 elements do not hold every result
        if (largest == 7 && error.code() == ExitCode::rejected) continue;
        throw;
      }
      for (const Region& region : program.regions) {
        for (const Statement& s : region.statements) sparse += some[s.result].sparse ? 1 : 0;
      }
      const std::string differs = difference(program, all, some);
      if (differs.empty()) continue;
      return fmt::format("{}, at most {} elements: {}",
                         visit == Visit::present ? "present points" : "fewer points", largest,
                         differs);
    }
  }
  return "";
}

int run(uint64_t seed, uint64_t count) {
  uint64_t failed = 0;
  int64_t sparse = 0;
  for (uint64_t n = seed; n < seed + count; ++n) {
    const Program program = generate_recipe(n).program;
    Inputs inputs = load_inputs(program);
    if (n % 2 == 1) damage(inputs, n);
    const std::string differs = wrong_or_thrown([&] { return check(program, inputs, sparse); });
    if (differs.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(n), differs.c_str(),
                print_program(program).c_str());
  }
  std::printf("%llu programs, %llu failed, %lld values left sparse\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed),
              static_cast<long long>(sparse));
  const bool walked = sparse * 4 >= static_cast<int64_t>(count);  // the test has seen something
  return failed == 0 && walked ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(
      argc, argv, "Random programs: the reference over present points against all points.", 1000,
      fuseflow::testing::run);
}
