// What a program computes and who reads it, for those who look for forms in its statements; and a
// part of it as a program.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/program.h"

namespace fuseflow::cluster {

/// Valid for as long as the program does not change.
class StatementTable {
 public:
  explicit StatementTable(const Program& program);
  /// As if the program had no other region.
  StatementTable(const Program& program, const Region& region);
  const Program& program() const { return program_; }
  /// The statement of a tensor; null where it is given.
  const Statement* defining(TensorId tensor) const;
  /// The statement of a temporary, which may stay on the core; null for other tensors.
  const Statement* of(TensorId tensor) const;
  /// Results of the statements that read it.
  const std::set<TensorId>& readers(TensorId tensor) const;
  /// Does another statement than that of one of `members` read it?
  bool read_beside(TensorId tensor, const std::set<TensorId>& members) const;
  /// Every statement that reads it is one of `members`, or gives a temporary that nothing reads
  /// (as those that only state an assumption).
  bool read_only_by(TensorId tensor, const std::set<TensorId>& members) const;
  /// Temporaries that nothing reads, of statements that read one of `members`.
  std::set<TensorId> unread_beside(const std::set<TensorId>& members) const;

 private:
  void add(const Region& region);
  bool unread(TensorId tensor) const;
  const Program& program_;
  std::map<TensorId, const Statement*> defined_;
  std::map<TensorId, std::set<TensorId>> users_;
};

bool reduces(const Statement& statement);

/// What the statements of a region compute, in their order.
std::vector<TensorId> results_of(const Region& region);
/// ... and those of regions [first, end).
std::vector<TensorId> results_of(const Program& program, size_t first, size_t end);

/// The program with the statements of these tensors alone, in their regions, for those who plan no
/// more than that. What other statements read of them is stored.
Program part_of(const Program& program, const std::set<TensorId>& members);

}  // namespace fuseflow::cluster
