// Windows that slide over the spatial dimensions (2 ..) of a tensor: what convolutions and pooling
// share. Subscripts are stride * output + dilation * kernel - padding.
#pragma once

#include <string>
#include <vector>

#include "import/importer.h"

namespace fuseflow {

// Labels of the kernels of these operators (values/kernel.h); 0 is the batch.
inline constexpr int kOutput = 100;  // + spatial dimension
inline constexpr int kKernel = 200;
inline constexpr int kGroup = 300;
inline constexpr int kIn = 301;   // input channels of a group
inline constexpr int kOut = 302;  // output channels of a group
inline constexpr int64_t kMaxWindow = int64_t{1} << 20;

struct Window {
  std::vector<int64_t> kernel, strides, dilations, begin, end, output;
  bool padded = false;  ///< some window reaches beyond the input
  size_t rank() const { return kernel.size(); }
};

/// A list of `count` numbers from `least` to kMaxWindow, all `otherwise` if it is left out.
std::vector<int64_t> window_list(const NodeImport& node, const std::string& name, size_t count,
                                 int64_t otherwise, int64_t least);

/// The attribute auto_pad, checked: it says the pads, or the attribute pads does.
std::string automatic_padding(const NodeImport& node);

/// The geometry of a sliding window over the spatial dimensions (2 ..) of `x`.
Window window_of(const NodeImport& node, const View& x, std::vector<int64_t> kernel);

/// The extents of the kernel by its weights; rejects the node if attribute kernel_shape differs.
std::vector<int64_t> kernel_extents(const NodeImport& node, const View& weights);

/// Declares the labels of the window.
void declare_window(Kernel& k, const Window& w);
/// The subscripts of the spatial dimensions.
std::vector<Subscript> window_subscripts(Kernel& k, const Window& w);
/// `first` + 0 .. rank - 1.
std::vector<int> spatial_labels(int first, size_t rank);
Subscript label_subscript(Kernel& k, int label, int64_t extent);
/// 1 where the subscripts are within the extents of the spatial dimensions.
int32_t inside(Kernel& k, const View& x, const std::vector<Subscript>& subscripts);
/// Whether a spatial dimension has extent 1, whose subscript a view cannot carry out of range.
bool flat_dimension(const View& x);

/// A value with the shape that it is to be reshaped to.
struct Convolution {
  View value;
  std::vector<int64_t> shape;
};

/// The convolution that the node's attributes describe, of a whole tensor; `bias` may be null.
Convolution convolution(NodeImport& node, const View& x, const View& weights, const View* bias);

}  // namespace fuseflow
