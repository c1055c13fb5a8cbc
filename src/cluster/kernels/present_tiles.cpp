#include "cluster/kernels/present_tiles.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "ir/data_facts.h"
#include "ir/sparsity.h"
#include "support/ceil_div.h"
#include "tensor/generate.h"
#include "tensor/source.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 28;  ///< of an operand that is looked at
constexpr int64_t kSmallestBlock = 16;               ///< of tiles of products

/// Elements of an operand as bits, in the order of its batch, rows and columns.
class Bits {
 public:
  explicit Bits(int64_t size) : words_(static_cast<size_t>(ceil_div(size, int64_t{64}))) {}
  void set(int64_t bit) { words_[static_cast<size_t>(bit / 64)] |= uint64_t{1} << (bit % 64); }
  bool at(int64_t bit) const { return words_[static_cast<size_t>(bit / 64)] >> (bit % 64) & 1; }
  /// The first bit from `begin` on that is `value`; `end` where none is.
  int64_t next(int64_t begin, int64_t end, bool value) const {
    while (begin < end) {
      const uint64_t word = words_[static_cast<size_t>(begin / 64)] ^ (value ? 0 : ~uint64_t{0});
      const uint64_t rest = word >> (begin % 64);
      if (rest != 0) return std::min(begin + __builtin_ctzll(rest), end);
      begin = (begin / 64 + 1) * 64;
    }
    return end;
  }

 private:
  std::vector<uint64_t> words_;
};

/// Where an operand's coordinates are among its elements in the order of the product.
struct Layout {
  int64_t batch = 1, rows = 1, columns = 1;
  std::vector<int64_t> extents,
      strides;  ///< by dimension of the tensor; what is beyond is not read
};

/// Nothing where a subscript is not one loop by itself.
std::optional<Layout> layout_of(const KernelForm& form, const KernelTerm& load, KernelDim rows) {
  Layout layout;
  std::vector<int64_t> stride_of(form.digits.size(), 0);
  const std::set<int> own = digits_of(load);
  int64_t size = 1;
  for (const KernelDim dim : {kKernelK, rows, kKernelG}) {
    int64_t& extent = dim == kKernelK ? layout.columns : dim == rows ? layout.rows : layout.batch;
    for (size_t d = form.digits.size(); d-- > 0;) {
      if (form.digits[d].dim != dim || own.count(static_cast<int>(d)) == 0) continue;
      stride_of[d] = size;
      size *= form.digits[d].extent;
      extent *= form.digits[d].extent;
      if (size > kMostElements) return std::nullopt;
    }
  }
  std::set<int> seen;
  for (const TileSubscript& subscript : load.subscripts) {
    if (subscript.offset != 0 || subscript.terms.size() > 1) return std::nullopt;
    if (subscript.terms.empty()) {
      layout.extents.push_back(1);
      layout.strides.push_back(0);
      continue;
    }
    const auto [digit, factor] = subscript.terms[0];
    if (factor != 1 || !seen.insert(digit).second) return std::nullopt;
    layout.extents.push_back(form.digits[static_cast<size_t>(digit)].extent);
    layout.strides.push_back(stride_of[static_cast<size_t>(digit)]);
  }
  return layout;
}

void mark(const Coo& entries, const Layout& layout, Bits& bits) {
  for (size_t e = 0; e < entries.values.size(); ++e) {
    if (entries.values[e] == 0) continue;
    int64_t bit = 0;
    bool inside = true;
    for (size_t d = 0; d < layout.strides.size(); ++d) {
      inside = inside && entries.coords[d][e] < layout.extents[d];
      bit += entries.coords[d][e] * layout.strides[d];
    }
    if (inside) bits.set(bit);
  }
}

void mark(const Buffer<float>& values, const std::vector<int64_t>& shape, const Layout& layout,
          Bits& bits) {
  std::vector<int64_t> at(shape.size(), 0);
  int64_t bit = 0;
  for (size_t e = 0; e < values.size(); ++e) {
    bool inside = values[e] != 0;
    for (size_t d = 0; inside && d < at.size(); ++d) inside = at[d] < layout.extents[d];
    if (inside) bits.set(bit);
    for (size_t d = at.size(); d-- > 0;) {
      bit += layout.strides[d];
      if (++at[d] < shape[d]) break;
      bit -= layout.strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

PresentElements stretches_of(const Bits& bits, const Layout& layout) {
  std::vector<size_t> first{0};
  std::vector<PresentElements::Stretch> stretches;
  for (int64_t row = 0; row < layout.batch * layout.rows; ++row) {
    const int64_t begin = row * layout.columns, end = begin + layout.columns;
    for (int64_t at = bits.next(begin, end, true); at < end; at = bits.next(at, end, true)) {
      const int64_t past = bits.next(at, end, false);
      stretches.push_back({at - begin, past - begin});
      at = past;
    }
    first.push_back(stretches.size());
  }
  return {layout.batch, layout.rows, layout.columns, std::move(first), std::move(stretches)};
}

/// Has the source entries only, not all elements?
bool has_entries_only(const Source& source) {
  switch (source.kind) {
    case Source::Kind::generator:
      return find_generator(source.name).sparse;
    case Source::Kind::file: {
      const std::string file = split_member(source.path).first;
      return !file.ends_with(".npy") && !file.ends_with(".npz");
    }
    default:
      return false;
  }
}

/// Data that are known when the program is planned, whose absent entries mean something: of an
/// input those of a file or generator of entries, or of a format that leaves entries out.
bool may_leave_out(const Tensor& tensor) {
  const bool given = tensor.given();
  const bool known = std::all_of(tensor.shape.begin(), tensor.shape.end(),
                                 [](const Extent& extent) { return extent.known(); });
  if (!given || !known || tensor.fill != 0 || tensor.facts.nonzero) return false;
  const Source& source = tensor.source;
  if (source.kind == Source::Kind::generator) return find_generator(source.name).sparse;
  if (source.kind == Source::Kind::none) return false;
  return tensor.role == Role::constant || !tensor.format.all_dense() || has_entries_only(source);
}

std::shared_ptr<const PresentElements> present_elements(const Tensor& tensor,
                                                        const Layout& layout) {
  const RawTensor raw = read_raw(tensor.source, known_shape(tensor));
  Bits bits(layout.batch * layout.rows * layout.columns);
  if (raw.sparse()) {
    mark(std::get<Coo>(raw.data), layout, bits);
  } else {
    mark(std::get<Buffer<float>>(raw.data), raw.shape, layout, bits);
  }
  return std::make_shared<const PresentElements>(stretches_of(bits, layout));
}

/// Puts the other operand of the product first: its columns are rows then.
void swap_operands(KernelForm& form) {
  std::vector<int32_t>& operands = form.terms[static_cast<size_t>(product_of(form))].children;
  std::swap(operands[0], operands[1]);
  for (KernelDigit& digit : form.digits) {
    if (digit.dim == kKernelM || digit.dim == kKernelN) {
      digit.dim = digit.dim == kKernelM ? kKernelN : kKernelM;
    }
  }
}

}  // namespace

PresentElements::PresentElements(int64_t batch, int64_t rows, int64_t columns,
                                 std::vector<size_t> first, std::vector<Stretch> stretches,
                                 int64_t times)
    : batch_(batch),
      rows_(rows),
      columns_(columns),
      times_(times),
      first_(std::move(first)),
      stretches_(std::move(stretches)) {}

int64_t PresentElements::values() const {
  int64_t values = 0;
  for (const Stretch& stretch : stretches_) values += stretch.end - stretch.begin;
  return values;
}

std::array<int64_t, 2> PresentElements::band() const {
  std::array<int64_t, 2> band{columns_, -rows_};
  for (int64_t row = 0; row < rows_; ++row) {
    const size_t begin = first_[static_cast<size_t>(row)],
                 end = first_[static_cast<size_t>(row) + 1];
    if (begin == end) continue;
    band = {std::min(band[0], stretches_[begin].begin - row),
            std::max(band[1], stretches_[end - 1].end - 1 - row)};
  }
  return band;
}

std::vector<std::vector<TileRange>> PresentElements::tiles(int64_t block_rows,
                                                           int64_t block_columns) const {
  std::vector<std::vector<TileRange>> all;
  const int64_t rows = times_ * rows_;
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t row = 0; row < rows; row += block_rows) {
      all.push_back(tiles_of_rows(b, row, std::min(row + block_rows, rows), block_columns));
    }
  }
  return all;
}

std::vector<TileRange> PresentElements::tiles_of_rows(int64_t element, int64_t row, int64_t row_end,
                                                      int64_t block_columns) const {
  std::vector<bool> present(static_cast<size_t>(ceil_div(columns_, block_columns)), false);
  for (; row < row_end; ++row) {
    const auto at = static_cast<size_t>(element * rows_ + row % rows_);
    for (size_t s = first_[at]; s < first_[at + 1]; ++s) {
      const int64_t last = (stretches_[s].end - 1) / block_columns;
      for (int64_t k = stretches_[s].begin / block_columns; k <= last; ++k) {
        present[static_cast<size_t>(k)] = true;
      }
    }
  }
  std::vector<TileRange> ranges;
  for (int64_t k = 0; k < static_cast<int64_t>(present.size()); ++k) {
    if (!present[static_cast<size_t>(k)]) continue;
    if (ranges.empty() || ranges.back().end < k) ranges.push_back({k, k});
    ranges.back().end = k + 1;
  }
  return ranges;
}

namespace {

/// Does some tile of rows have a column without a value, which gathering leaves out?
bool leaves_columns_out(const PresentElements& elements, int64_t columns) {
  const std::vector<TileRange> all{{0, columns}};
  const std::vector<std::vector<TileRange>> lists = elements.tiles(kSmallestBlock, 1);
  return std::any_of(lists.begin(), lists.end(),
                     [&](const std::vector<TileRange>& list) { return list != all; });
}

}  // namespace

PresenceFinder::Found PresenceFinder::found(const KernelForm& form, const KernelTerm& load,
                                            KernelDim rows) const {
  const Tensor& tensor = program_.tensors[static_cast<size_t>(load.tensor)];
  if (!may_leave_out(tensor)) return {};
  const std::optional<Layout> layout = layout_of(form, load, rows);
  if (!layout) return {};
  Found found;
  found.elements = present_elements(tensor, *layout);
  int64_t present = 0, all = 0;
  for (const std::vector<TileRange>& ranges :
       found.elements->tiles(kSmallestBlock, kSmallestBlock)) {
    for (const TileRange& range : ranges) present += range.end - range.begin;
    all += ceil_div(layout->columns, kSmallestBlock);
  }
  if (present == all && !leaves_columns_out(*found.elements, layout->columns)) return {};
  found.part = static_cast<double>(present) / static_cast<double>(all);
  return found;
}

bool PresenceFinder::finite(TensorId t) {
  const Tensor& tensor = program_.tensors[static_cast<size_t>(t)];
  if (tensor.facts.finite || tensor.assumed.finite) return true;
  if (proved_.empty()) {
    proved_ = proved_tensors(program_, read_facts(program_, [](const Tensor& given) {
                               return may_tell_more(given) && !is_bounded(admitted_facts(given));
                             }));
  }
  return proved_[static_cast<size_t>(t)].facts.finite;
}

std::optional<SparseForm> PresenceFinder::form_with_gaps(const KernelForm& form) {
  if (!form.product) return std::nullopt;
  const TensorId first = operand_of(form, 0).tensor, second = operand_of(form, 1).tensor;
  Found left = found(form, operand_of(form, 0), kKernelM);
  Found right = found(form, operand_of(form, 1), kKernelN);
  if (left.elements == nullptr && right.elements == nullptr) return std::nullopt;
  const bool of_left = left.elements != nullptr && finite(second);
  const bool of_right = right.elements != nullptr && finite(first);
  if (of_left != of_right) (of_left ? right : left) = {};
  const bool swapped =
      right.elements != nullptr && (left.elements == nullptr || right.part < left.part);
  SparseForm sparse{form, of_left || of_right ? -1 : swapped ? first : second};
  sparse.form.present = swapped ? right.elements : left.elements;
  sparse.form.sparse = swapped ? second : first;
  if (swapped) swap_operands(sparse.form);
  return sparse;
}

std::optional<KernelForm> PresenceFinder::sparse_form(const KernelForm& form) {
  std::optional<SparseForm> sparse = form_with_gaps(form);
  if (!sparse || sparse->not_finite >= 0) return std::nullopt;
  return std::move(sparse->form);
}

}  // namespace fuseflow::cluster
