#include "src/train/plan/nccl_variables.h"

#include <limits>
#include <string>

#include "src/base/environment.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/value_check.h"
#include "src/comm/nccl_communicator.h"

namespace octet {
namespace {

constexpr int connects_when_used_since = 22200;

/// NCCL does not hold its variables to a range, and with such a size it could not work. -2 stands for its default.
std::int64_t size(const std::string& text, std::int64_t otherwise) {
  const std::int64_t bytes = read_as_nccl(text).value.value_or(otherwise);
  return bytes < 1 || bytes > std::numeric_limits<int>::max() ? otherwise : bytes;
}

/// A text is read as NCCL reads it: an empty one and a number beyond 64 bits are left out, what begins with no digit is
/// 0, and 4M is 4.
NcclVariables variables_of(const VariableReader& value_of) {
  const bool asked_for = read_as_nccl(value_of("NCCL_RUNTIME_CONNECT")).value.value_or(1) != 0;
  // Only where memory comes by cuMem calls (runtimeConn in src/init.cc); -2: where they are supported, as on all H100s.
  const std::int64_t by_cumem = read_as_nccl(value_of("NCCL_CUMEM_ENABLE")).value.value_or(-2);
  NcclVariables v;
  v.connects_when_used = asked_for && (by_cumem > 0 || by_cumem == -2);
  v.buffer = size(value_of("NCCL_BUFFSIZE"), v.buffer);
  v.nvls_chunk = size(value_of("NCCL_NVLS_CHUNKSIZE"), v.nvls_chunk);
  v.message_chunk = size(value_of("NCCL_P2P_NET_CHUNKSIZE"), v.message_chunk);
  return v;
}

}  // namespace

NcclVariables nccl_variables() {
  NcclVariables v = variables_of(environment_variable);
  const int version = nccl_in_use();
  if (version != 0 && version < connects_when_used_since) v.connects_when_used = false;
  return v;
}

NcclVariables nccl_variables(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment) {
  return variables_of([&](const char* name) { return value_in_job(profile, environment, name); });
}

}  // namespace octet
