#include "estimate/pass_costs.h"
#include "import/import.h"
#include "pass_tool.h"

int main(int argc, char** argv) {
  fuseflow::register_onnx_sources();  // estimates read patterns
  return fuseflow::run_pass_tool("place", argc, argv, fuseflow::estimated_costs());
}
