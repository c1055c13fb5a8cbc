// Which keys a query of an online softmax can see, where the mask is given data: every other score
// is -inf. As elements, as the band of k - m that has them all, and as tiles.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/kernels/present_tiles.h"
#include "cluster/online/form.h"

namespace fuseflow::cluster {

/// Scores that are not surely -inf, of one element of the batch: all have the same.
struct OpenScores {
  PresentElements scores;  ///< row i sees column j; the rows stand `heads` times one after another
  int64_t heads = 1;

  /// The least and the largest k - m of an open score; nothing where that leaves none out, or for
  /// several heads.
  std::optional<std::array<int64_t, 2>> band() const;
  /// For each block of rows the blocks of columns with an open score; the first one where there is
  /// none.
  std::vector<std::vector<TileRange>> tiles(int64_t block_rows, int64_t block_columns) const;
};

/// Null where no score is surely -inf, where that is not known, or where what is left out could
/// matter (values that may be infinite or NaN: 0 times these is not 0).
std::shared_ptr<const OpenScores> open_scores(const Program& program, const OnlineForm& form);

}  // namespace fuseflow::cluster
