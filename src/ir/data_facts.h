// Facts of bound data: the one place that reads tensors' data for what is known of their values,
// and writes it into the program. ir-spec/language.md ("Facts") says which tools do so and when.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// Finite, in a range that is less than all finite numbers.
bool is_bounded(const Facts& facts);

/// Known not to be -inf by its range alone.
bool is_above_minus_inf(const Facts& facts);

/// Whether the data of a tensor may prove more than it states: it has a source, and is no constant
/// of a model with facts, of which the importer has found all that there are.
bool may_tell_more(const Tensor& given);

/// The stored data of an input or constant, or null where it cannot be read.
using TensorReader = std::function<std::shared_ptr<const Storage>(TensorId)>;

/// What was read on the way, by TensorId: while it is held, no other loader of this process reads
/// it again (load_shared).
using DataRead = std::vector<std::shared_ptr<const Storage>>;

/// Where a statement lacks a fact (missing_facts.h), reads the data of the tensors concerned, and
/// of its other operands without facts, and writes the facts found. Of intermediates that lack a
/// fact, what follows from the data of what they are computed from. Regions with a graph are left
/// alone. Facts only become stronger. Counts the entries (`nnz=`) of sparse data that regions keep
/// on chip. Data that cannot be read are ignored: code that needs them reports it.
DataRead find_data_facts(Program& program);

/// What the data of inputs and constants prove, by TensorId; nothing of others, and of data that
/// `may_read` is not for or that cannot be read.
std::vector<Facts> read_facts(const Program& program,
                              const std::function<bool(const Tensor&)>& may_read);

/// Tensors of the program, without their sources, with all that is known of their values: what they
/// state, `read` (of the first tensors), and what statements prove of intermediates from that.
std::vector<Tensor> proved_tensors(const Program& program, const std::vector<Facts>& read = {});

/// A reader of the sources of `program`, which must outlive it.
TensorReader source_reader(const Program& program);

}  // namespace fuseflow
