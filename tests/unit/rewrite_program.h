// What tests of rewrites share: those that a program has, and the program that one of them makes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "rewrite/rewrite.h"

namespace fuseflow {

inline std::vector<Rewrite> rewrites(const Program& program) {
  return find_rewrites(program, proved_tensors(program));
}

inline std::vector<Rewrite> of_kind(const Program& program, RewriteKind kind) {
  std::vector<Rewrite> found = rewrites(program);
  std::erase_if(found, [&](const Rewrite& r) { return r.kind != kind; });
  return found;
}

/// The program after the rewrite, which is right and is read as it is printed.
inline Program applied(const Program& program, const Rewrite& rewrite) {
  std::vector<std::string> notes;
  Program result = apply_rewrite(program, rewrite, notes);
  verify(result);
  EXPECT_EQ(print_program(parse_program({"again.ff", print_program(result)})),
            print_program(result));
  return result;
}

}  // namespace fuseflow
