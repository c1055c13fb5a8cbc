// Which tiles of a product's operand hold a value, where the operand is given data: as elements,
// and as the tiles of k that each tile of rows has to walk, for any size of tiles.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/kernels/form.h"

namespace fuseflow::cluster {

/// Values of a matrix, or of one for each element of a batch, as stretches of consecutive columns.
class PresentElements {
 public:
  struct Stretch {
    int64_t begin = 0, end = 0;  ///< columns
  };
  /// `rows` of every element of the batch, one after the other; stretches of a row ascending and
  /// apart, row r has stretches [first[r], first[r + 1]). `times`: how often the rows of an element
  /// stand one after another.
  PresentElements(int64_t batch, int64_t rows, int64_t columns, std::vector<size_t> first,
                  std::vector<Stretch> stretches, int64_t times = 1);

  /// For each block of rows (of each element of the batch, the slower one) the blocks of columns
  /// with a value, as ranges; perhaps none.
  std::vector<std::vector<TileRange>> tiles(int64_t block_rows, int64_t block_columns) const;

  int64_t batch() const { return batch_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t values() const;  ///< elements with a value, each once
  /// The least and the largest column - row of a value of the first element of the batch.
  std::array<int64_t, 2> band() const;

 private:
  /// Of an element of the batch.
  std::vector<TileRange> tiles_of_rows(int64_t element, int64_t row, int64_t row_end,
                                       int64_t block_columns) const;

  int64_t batch_, rows_, columns_, times_;
  std::vector<size_t> first_;
  std::vector<Stretch> stretches_;
};

/// A product as one that leaves tiles out.
struct SparseForm {
  KernelForm form;
  /// The other operand where it may be infinite or NaN: 0 times these is not 0, so that nothing may
  /// be left out. Else -1.
  TensorId not_finite = -1;
};

/// Finds what the data of given operands leave out of products. Reads data when asked, facts once.
class PresenceFinder {
 public:
  /// The program must outlive it and not change.
  explicit PresenceFinder(const Program& program) : program_(program) {}

  /// A product as one that leaves tiles out: of the operand that leaves out more, which is put
  /// first (rows are its own, then). An operand beside one that may not be finite is taken where
  /// both are so. Nothing where none leaves out a block of 16 x 1. Operands: constants, and inputs
  /// whose format or source (a sparse file or generator) has entries only.
  std::optional<SparseForm> form_with_gaps(const KernelForm& form);

  /// The same; nothing where what is left out could matter.
  std::optional<KernelForm> sparse_form(const KernelForm& form);

 private:
  struct Found {
    std::shared_ptr<const PresentElements> elements;
    double part = 1;  ///< of its blocks of 16 x 16 that hold a value
  };
  Found found(const KernelForm& form, const KernelTerm& load, KernelDim rows) const;
  bool finite(TensorId tensor);

  const Program& program_;
  std::vector<Tensor> proved_;  ///< with what all data prove; empty: not asked yet
};

}  // namespace fuseflow::cluster
