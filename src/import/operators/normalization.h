// What the normalisations share: deviations over some axes, and the product with scale and bias.
#pragma once

#include <vector>

#include "import/importer.h"

namespace fuseflow {

/// axis .. rank - 1.
std::vector<int> axes_from(int axis, int rank);

/// 1 / sqrt(mean(x * x) + epsilon), with the axes as extents of 1.
View inverse_deviation(const NodeImport& node, const View& x, const std::vector<int>& axes,
                       float epsilon);

/// x * factor * scale + bias; scale and bias may be absent.
View scaled(const NodeImport& node, const View& x, const View& factor, const View* scale,
            const View* bias);

/// [C] as [C, 1, 1, ...], to broadcast over dimension 1 of a tensor of `rank`.
View by_channel(const NodeImport& node, View v, int rank);

/// What output 0 was normalised by, with the axes as extents of 1.
struct Normalised {
  View mean, inverse;
};

/// What the attribute epsilon is where it is absent, for most operators.
inline constexpr float kEpsilon = 1e-5F;

/// Defines output 0 as (x - mean) / deviation * scale + bias, by the attribute epsilon, or what it
/// is where absent; scale and bias may be null.
Normalised normalise(NodeImport& node, const View& x, const std::vector<int>& axes,
                     const View* scale, const View* bias, float epsilon = kEpsilon);

}  // namespace fuseflow
