#include "passes/storage_choice.h"

#include "ir/data_facts.h"
#include "passes/choose.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"
#include "passes/storage_search.h"

namespace fuseflow {

namespace {

/// What is known of values once what is stored dense may be stored otherwise: where nothing is
/// absent, lowering asks for no facts.
void learn_facts(Program& program, const std::vector<TensorId>& sparse) {
  Program probe = program;
  for (const TensorId id : sparse) {
    Format& format = probe.tensors[static_cast<size_t>(id)].format;
    if (format.all_dense()) format = sparse_format(format.rank());
  }
  static_cast<void>(find_data_facts(probe));
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    const Facts facts = joined(tensor.facts, probe.tensors[t].facts);
    if (tensor.format.all_dense() || satisfies(tensor.fill, facts)) tensor.facts = facts;
  }
}

/// `chosen` with those copies alone, beside the tensors of `given`, that it reads.
Program without_unread(const Program& given, const Program& chosen) {
  Program result = given;
  for (size_t t = 0; t < given.tensors.size(); ++t) {
    if (given.tensors[t].role == Role::temporary) {
      result.tensors[t].format = chosen.tensors[t].format;
    }
  }
  for (size_t r = 0; r < given.regions.size(); ++r) {
    result.regions[r].schedule.order = chosen.regions[r].schedule.order;
  }
  for (const TensorId tensor : stored_tensors_read(given)) {
    for (const StoredUse& use : uses_of(given, tensor)) {
      const Statement& statement = chosen.regions[use.region].statements[use.statement];
      const auto read = static_cast<size_t>(statement.nodes[use.node].tensor);
      store_as(result, tensor, chosen.tensors[read].format, {use});
    }
  }
  return result;
}

}  // namespace

std::optional<Program> choose_storage(const Program& program, StorageOf which, CostModel& costs,
                                      bool verbose, PassLog& log) {
  std::vector<TensorId> tensors = stored_tensors_read(program);
  if (which == StorageOf::all) {
    const std::vector<TensorId> passed = passed_intermediates(program);
    tensors.insert(tensors.end(), passed.begin(), passed.end());
  }
  TensorForms forms;
  std::vector<TensorId> sparse;
  for (const TensorId tensor : tensors) {
    std::vector<Format> found = forms_of(program, tensor);
    if (found.empty()) continue;
    sparse.push_back(tensor);
    forms.emplace_back(tensor, std::move(found));
  }
  if (forms.empty()) return std::nullopt;
  Program chosen = program;
  learn_facts(chosen, sparse);
  PassLog notes;
  if (!costs.learn(chosen)) return std::nullopt;
  const Program given = chosen;
  const bool changed = search_storage(chosen, forms, costs, verbose, notes);
  if (changed) chosen = without_unread(given, chosen);
  const bool wins = changed && better(costs.of_program(chosen), costs.of_program(program));
  for (const std::string& line : notes.lines()) {
    if (wins || verbose) log.note(line);
  }
  if (wins) return chosen;
  if (changed && verbose) log.note("formats stay as given: the program as a whole gains nothing");
  return std::nullopt;
}

}  // namespace fuseflow
