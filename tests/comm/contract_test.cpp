#include "tests/comm/contract.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/trace.h"

namespace octet {
namespace {

std::unique_ptr<Communicator> make_reversed(Stream& stream) {
  const auto world = make_mpi_communicator(stream, "world");
  return world->split(0, -world->rank(), "reversed");
}

std::unique_ptr<Communicator> make_with_trace(Stream& stream) {
  static CommTrace trace;
  return make_traced(make_mpi_communicator(stream, "world"), &trace);
}

INSTANTIATE_TEST_SUITE_P(Backends, Contract,
                         testing::Values(Backend{"self", [](Stream& s) { return make_self_communicator(s, "self"); }},
                                         Backend{"mpi", [](Stream& s) { return make_mpi_communicator(s, "world"); }},
                                         Backend{"reversed", make_reversed}, Backend{"traced", make_with_trace}),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace octet
