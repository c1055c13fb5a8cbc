#include "cluster/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chip/fit.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/suggest.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 24;
constexpr int64_t kRows = 128;  // m of every matrix workload

/// By the value of the activation. Any other takes as long as its operator, about.
struct NamedActivation {
  std::string_view name;
  std::optional<Op> op;
};
constexpr std::array<NamedActivation, 7> kActivations{{{"none", std::nullopt},
                                                       {"relu", Op::relu},
                                                       {"gelu", Op::gelu},
                                                       {"silu", Op::silu},
                                                       {"sigmoid", Op::sigmoid},
                                                       {"tanh", Op::tanh},
                                                       {"other", Op::hardswish}}};

Chain named(std::string name, Chain chain) {
  chain.name = std::move(name);
  return chain;
}

Chain ffn(int64_t n, int64_t k, int64_t l) {
  return gemm_chain(kRows, n, k, l, Activation::gelu);
}

int64_t round_up(int64_t value, int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace

int64_t padded_extent(int64_t size, int64_t unit) {
  const int64_t waste_divisor = size % 16 == 0 ? 8 : 3;
  for (const int64_t multiple : {128, 64, 32}) {
    const int64_t rounded = round_up(size, multiple);
    if ((rounded - size) * waste_divisor <= size) {
      return rounded;
    }
  }
  return round_up(size, unit);
}

int64_t tile_unit(const Chain& chain, Dim dim) {
  const bool summed = dim == Dim::k || dim == Dim::n;
  return summed ? chip::depth_unit(chain.bytes.work()) : chip::kUnit;
}

Activation parse_activation(std::string_view name) {
  std::vector<std::string> names;
  for (size_t a = 0; a < kActivations.size(); ++a) {
    if (kActivations[a].name == name) return static_cast<Activation>(a);
    names.emplace_back(kActivations[a].name);
  }
  throw Error(ExitCode::usage, fmt::format("unknown activation '{}', expected one of {}{}", name,
                                           fmt::join(names, ", "), did_you_mean(name, names)));
}

std::string_view name_of(Activation activation) {
  return kActivations[static_cast<size_t>(activation)].name;
}

std::optional<Op> operator_of(Activation activation) {
  return kActivations[static_cast<size_t>(activation)].op;
}

Activation activation_of(Op op) {
  const auto at = std::find_if(kActivations.begin(), kActivations.end(),
                               [&](const NamedActivation& known) { return known.op == op; });
  return at == kActivations.end() ? Activation::other
                                  : static_cast<Activation>(at - kActivations.begin());
}

std::string_view name_of(ChainKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"gemm", "gated", "conv"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

/// The lanes' work of an activation as the chain's own program writes it (lower_plan.cpp).
LaneWork work_of(Activation activation) {
  const std::optional<Op> op = operator_of(activation);
  return op ? lane_work(*op) : LaneWork{};
}

/// Biases and the gate: an operation each.
int64_t around_activation(const Chain& chain) {
  return chain.bias0 + (chain.gated() ? 1 : 0);
}

}  // namespace

LaneWork work_of_c(const Chain& chain) {
  if (chain.found_work) return *chain.found_work;
  LaneWork work = work_of(chain.activation);
  work.vector += around_activation(chain);
  return work;
}

LaneWork work_of_activation(const Chain& chain) {
  LaneWork work = work_of_c(chain);
  work.vector = std::max<int64_t>(work.vector - around_activation(chain), 0);
  return work;
}

LaneWork work_of_e(const Chain& chain) {
  if (chain.found_last_work) return *chain.found_last_work;
  LaneWork work = work_of(chain.last_activation);
  work.vector += chain.bias1 + chain.residual;
  return work;
}

LaneWork work_of_last_activation(const Chain& chain) {
  LaneWork work = work_of_e(chain);
  work.vector = std::max<int64_t>(work.vector - chain.bias1 - chain.residual, 0);
  return work;
}

void check_chain(const Chain& chain) {
  for (int d = 0; d < kDims; ++d) {
    const int64_t size = chain.size.value[static_cast<size_t>(d)];
    if (size < 1 || size > kLargestExtent) {
      throw Error(ExitCode::usage,
                  fmt::format("extent {} of {} is out of range, expected 1 to {}", size,
                              letter_of(static_cast<Dim>(d)), kLargestExtent));
    }
  }
}

Chain gemm_chain(int64_t m, int64_t n, int64_t k, int64_t l, Activation activation) {
  Chain chain;
  chain.name = fmt::format("gemm_{}x{}x{}x{}", m, n, k, l);
  chain.size.value = {m, n, k, l};
  chain.activation = activation;
  check_chain(chain);
  return chain;
}

Chain gated_ffn(int64_t m, int64_t n, int64_t k) {
  Chain chain = gemm_chain(m, n, k, k, Activation::silu);
  chain.name = fmt::format("gated_{}x{}x{}", m, n, k);
  chain.kind = ChainKind::gated;
  return chain;
}

Chain conv_chain(int64_t channels, int64_t side, int64_t out1, int64_t out2, int64_t kernel1,
                 int64_t kernel2) {
  if (kernel2 != 1) {
    throw Error(ExitCode::usage,
                fmt::format("second kernel is {0}x{0}, expected 1x1: a larger one reads pixels of "
                            "the intermediate that other blocks hold",
                            kernel2));
  }
  for (const int64_t value : {channels, side, out1, out2, kernel1}) {
    if (value < 1 || value > kLargestExtent) {
      throw Error(ExitCode::usage, fmt::format("convolution extent {} is out of range, expected 1 "
                                               "to {}",
                                               value, kLargestExtent));
    }
  }
  if (kernel1 > 64 || side > 4096) {
    throw Error(ExitCode::usage,
                "convolution kernel or side is too large, expected a kernel of at "
                "most 64 and a side of at most 4096");
  }
  Chain chain = gemm_chain(side * side, out1, channels * kernel1 * kernel1, out2, Activation::relu);
  chain.name = fmt::format("conv_{}x{}_{}_{}_{}", channels, side, out1, out2, kernel1);
  chain.kind = ChainKind::conv;
  chain.channels = channels;
  chain.side = side;
  chain.kernel = kernel1;
  return chain;
}

Chain padded(const Chain& chain) {
  Chain result = chain;
  result.unpadded = chain.actual();
  for (const Dim dim : kAllDims)
    result.size[dim] = padded_extent(result.size[dim], tile_unit(chain, dim));
  return result;
}

int64_t least_bytes(const Chain& chain, bool fused, bool has_l2) {
  const auto [m, n, k, l] = chain.size.value;
  const int64_t branches = chain.gated() ? 2 : 1;
  const ElementBytes& each = chain.bytes;
  int64_t bytes = m * k * each.a + branches * k * n * each.b + n * l * each.d + m * l * each.e +
                  chain.bias0 * n * each.bias0 + chain.bias1 * l * each.bias1 +
                  chain.residual * m * l * each.residual;
  if (!fused) {
    const int64_t again = has_l2 ? 0 : 1;                  // reads of what was there before
    bytes += again * (branches - 1) * m * k * each.a;      // A
    bytes += (branches * m * n + again * m * n) * each.c;  // C out and in
    const int64_t maps = chain.activation != Activation::none ? 1 : 0;
    bytes += maps * (1 + again) * m * n * each.c;
    if (chain.gated()) bytes += (1 + 2 * again) * m * n * each.c;
    const int64_t last_maps = chain.residual + (chain.last_activation != Activation::none ? 1 : 0);
    bytes += last_maps * (1 + again) * m * l * each.e;
  }
  return bytes;
}

const std::vector<Chain>& workloads() {
  static const std::vector<Chain> kAll = {
      named("G1", ffn(512, 32, 256)),
      named("G2", ffn(256, 512, 64)),
      named("G3", ffn(512, 416, 256)),
      named("G4", ffn(3072, 768, 768)),
      named("G5", ffn(16384, 4096, 4096)),
      named("G6", ffn(4096, 1024, 1024)),
      named("G7", ffn(768, 768, 768)),
      named("G8", ffn(8192, 2048, 2048)),
      named("G9", ffn(2048, 512, 512)),
      named("G10", ffn(1536, 384, 384)),
      named("S1", gated_ffn(kRows, 8192, 3072)),
      named("S2", gated_ffn(kRows, 5632, 2048)),
      named("S3", gated_ffn(kRows, 11008, 4096)),
      named("S4", gated_ffn(kRows, 8192, 2048)),
      named("S5", gated_ffn(kRows, 11008, 2048)),
      named("S6", gated_ffn(kRows, 8960, 1536)),
      named("S7", gated_ffn(kRows, 9728, 2560)),
      named("S8", gated_ffn(kRows, 3072, 1024)),
      named("C1", conv_chain(64, 56, 256, 64, 1, 1)),
      named("C2", conv_chain(128, 28, 512, 128, 1, 1)),
      named("C3", conv_chain(256, 14, 1024, 256, 1, 1)),
      named("C4", conv_chain(512, 7, 2048, 512, 1, 1)),
      named("C5", conv_chain(64, 56, 64, 256, 3, 1)),
      named("C6", conv_chain(128, 28, 128, 512, 3, 1)),
      named("C7", conv_chain(256, 14, 256, 1024, 3, 1)),
      named("C8", conv_chain(512, 7, 512, 2048, 3, 1)),
  };
  return kAll;
}

Chain workload(std::string_view name) {
  std::vector<std::string> names;
  for (const Chain& chain : workloads()) {
    if (chain.name == name) {
      return chain;
    }
    names.push_back(chain.name);
  }
  throw Error(ExitCode::usage, fmt::format("unknown workload '{}', expected one of {}{}", name,
                                           fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace fuseflow::cluster
