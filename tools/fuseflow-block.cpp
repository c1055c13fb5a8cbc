#include "pass_tool.h"

int main(int argc, char** argv) {
  return fuseflow::run_pass_tool("block", argc, argv);
}
