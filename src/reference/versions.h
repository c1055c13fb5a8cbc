// The two versions of a tensor that a region computes and stores: what its own statements take as a
// stream, and what is stored, rounded to the tensor's type and without a -0 that its fill takes the
// place of. A statement sees one of them, by its
// place (ir-spec/language.md, "Element types"); a statement of the reference section alone, which
// has no place, either.
#pragma once

#include <vector>

#include "ir/stored.h"
#include "reference/reference.h"
#include "reference/watch.h"

namespace fuseflow::reference {

class Versions {
 public:
  Versions(const Program& program, const ReferenceOptions& options, Watch& watch);

  /// What a statement has computed. Gives what of it leaves the region: rounded, if it is stored.
  Value define(TensorId tensor, Value computed);

  /// Puts what statement `s` reads into `values`, which hold what define() gave. Gives the tensors
  /// whose version is another than before.
  std::vector<TensorId> select(const Statement& s, std::vector<Value>& values);

  /// Puts what leaves regions into `values`.
  void restore(std::vector<Value>& values);

  void drop(TensorId tensor) { kept_[static_cast<size_t>(tensor)] = {}; }

 private:
  /// `either`: what is stored, with bounds that reach to what is not.
  enum class Version : uint8_t { stored, own, either };
  struct Kept {
    bool two = false;                ///< it has two versions
    Version seen = Version::stored;  ///< that the caller's values hold
    Value own, stored;
  };
  Version seen_by(const Statement& s, TensorId tensor) const;
  Value version(TensorId tensor, Version version) const;
  /// `either`: as far as bounds go, it may also be what was computed.
  Value as_stored(const Value& value, const Tensor& tensor, bool either) const;

  const Program& program_;
  bool bounds_;
  Watch& watch_;
  std::vector<Stored> stored_;
  std::vector<bool> maybe_stored_;  ///< ReferenceOptions::maybe_stored, by TensorId
  std::vector<Kept> kept_;
};

}  // namespace fuseflow::reference
