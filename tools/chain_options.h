// The options of fuseflow-cluster that name a chain, or one product, by its extents.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "cluster/chain/chain.h"
#include "cluster/chain/product_kernel.h"
#include "number_options.h"
#include "support/error.h"

namespace fuseflow::cluster {

struct ChainOptions {
  std::string workload, gemm, gated, conv, product;
  int64_t rows = 0;
  bool bias = false, residual = false;

  bool named() const {
    return !(workload.empty() && gemm.empty() && gated.empty() && conv.empty());
  }
  /// Throw Error(usage) where it is not one.
  Chain make() const;
  ProductSize make_product() const;
};

inline std::vector<std::string> parts_of_option(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

inline int64_t extent_of_option(const std::string& option, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: '{}' is not an extent, expected a positive whole number", option, text));
  }
  return value;
}

/// The chain with so many rows, not padded. A convolution chain is its im2col form alone then.
inline Chain with_rows(const Chain& chain, int64_t rows) {
  Chain result = chain;
  result.size = chain.actual();
  result.unpadded.reset();
  result.size[Dim::m] = rows;
  result.channels = 0;
  return result;
}

/// `needed` numbers, then at most one more word (an activation).
inline std::vector<int64_t> extents_of_option(const std::string& option,
                                              const std::vector<std::string>& parts, size_t needed,
                                              bool word_allowed) {
  if (parts.size() != needed && !(word_allowed && parts.size() == needed + 1)) {
    throw Error(ExitCode::usage,
                fmt::format("{} has {} parts, expected {}{}", option, parts.size(), needed,
                            word_allowed ? " and perhaps an activation" : ""));
  }
  std::vector<int64_t> values;
  for (size_t i = 0; i < needed; ++i) {
    values.push_back(extent_of_option(option, parts[i]));
  }
  return values;
}

inline Chain ChainOptions::make() const {
  Chain made;
  if (!workload.empty()) {
    made = cluster::workload(workload);
  } else if (!gemm.empty()) {
    const auto parts = parts_of_option(gemm);
    const auto v = extents_of_option("--gemm-chain", parts, 4, true);
    made = gemm_chain(v[0], v[1], v[2], v[3],
                      parts.size() == 5 ? parse_activation(parts[4]) : Activation::relu);
  } else if (!gated.empty()) {
    const auto parts = parts_of_option(gated);
    const auto v = extents_of_option("--gated-ffn", parts, 3, true);
    made = gated_ffn(v[0], v[1], v[2]);
    made.activation = parts.size() == 4 ? parse_activation(parts[3]) : Activation::silu;
  } else if (!conv.empty()) {
    const auto parts = parts_of_option(conv);
    const auto v = extents_of_option("--conv-chain", parts, 6, true);
    made = conv_chain(v[0], v[1], v[2], v[3], v[4], v[5]);
    made.activation = parts.size() == 7 ? parse_activation(parts[6]) : Activation::relu;
  } else {
    throw Error(ExitCode::usage,
                "no chain given, expected --workload, --gemm-chain, --gated-ffn "
                "or --conv-chain");
  }
  if (rows > 0) {
    made = with_rows(made, rows);
  }
  made.bias0 = made.bias0 || bias;
  made.bias1 = made.bias1 || bias;
  made.residual = made.residual || residual;
  check_chain(made);
  return made;
}

/// Padded as a chain's extents are.
inline ProductSize ChainOptions::make_product() const {
  const auto v = extents_of_option("--product", parts_of_option(product), 3, false);
  Chain made = gemm_chain(v[0], v[1], v[2], 16, Activation::none);
  check_chain(made);
  made = padded(made);
  ProductSize size;
  size.m = made.size[Dim::m], size.n = made.size[Dim::n], size.k = made.size[Dim::k];
  size.actual = {made.actual()[Dim::m], made.actual()[Dim::n], made.actual()[Dim::k]};
  size.bias = bias;
  return size;
}

inline void add_chain_options(CLI::App& app, ChainOptions& o) {
  auto* group = app.add_option_group("chain", "what to plan");
  group->add_option("--workload", o.workload, "A workload by name: G1-G10, S1-S8, C1-C8")
      ->option_text("NAME");
  group->add_option("--gemm-chain", o.gemm, "E = F(A[MxK] B) D with activation F")
      ->option_text("M,N,K,L[,F]");
  group->add_option("--gated-ffn", o.gated, "E = (F(A Bg) * (A Bu)) D, L = K")
      ->option_text("M,N,K[,F]");
  group
      ->add_option("--product", o.product,
                   "One product by itself: print its fastest kernel, measured (CSV), and stop")
      ->option_text("M,N,K");
  group
      ->add_option("--conv-chain", o.conv,
                   "Channels, side, outputs and kernels of two convolutions, as im2col")
      ->option_text("C,S,O1,O2,K1,K2[,F]");
  group->require_option(0, 1);
  app.add_option("--rows", o.rows, "Rows of the chain (M), instead of those given")
      ->option_text("N")
      ->check(whole_above(0));
  app.add_flag("--bias", o.bias, "Both products add a bias");
  app.add_flag("--residual", o.residual, "The result adds a residual");
}

}  // namespace fuseflow::cluster
