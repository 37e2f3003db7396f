#pragma once

#include <string_view>
#include <vector>

#include "src/cluster/doctor/examination.h"

namespace octet {

/// Every check of a node, once: CHECK(function, names...), with the names that its findings have (Finding::check). The
/// list declares the functions, and examine() runs what is in it, in this order. A check that is defined as the others
/// are, `Findings node_checks::check_x(...)`, and is not in the list does not compile. docs/doctor.md says of each name
/// what is looked at.
#define OCTET_DOCTOR_CHECKS(CHECK)                                                                                    \
  CHECK(check_gpus, "gpu.count", "gpu.memory", "gpu.mig", "gpu.ecc", "gpu.remapped_rows", "gpu.clocks", "gpu.fabric") \
  CHECK(check_xids, "gpu.xid")                                                                                        \
  CHECK(check_nvlinks, "gpu.nvlink")                                                                                  \
  CHECK(check_hcas, "hca.count", "hca.state", "hca.link_layer", "hca.rate", "hca.errors")                             \
  CHECK(check_retransmissions, "hca.retransmissions")                                                                 \
  CHECK(check_hca_links, "hca.link")                                                                                  \
  CHECK(check_frontend, "net.frontend")                                                                               \
  CHECK(check_pci, "pci.acs", "pci.gpu_direct")                                                                       \
  CHECK(check_versions, "versions.driver", "versions.cuda", "versions.nccl")                                          \
  CHECK(check_nccl_files, "nccl.files")                                                                               \
  CHECK(check_limits, "limits.locked_memory", "limits.stack", "limits.open_files", "limits.shared_memory")            \
  CHECK(check_host, "memory.size", "cpu.cores", "memory.huge_pages")                                                  \
  CHECK(check_near, "cpu.near_devices", "hca.near_gpus")                                                              \
  CHECK(check_clock, "clock")                                                                                         \
  CHECK(check_launch, "launch.mpi")                                                                                   \
  CHECK(check_storage, "storage.space", "storage.locks")

namespace node_checks {
#define OCTET_DECLARE_CHECK(function, ...) Findings function(const Examination& e);
OCTET_DOCTOR_CHECKS(OCTET_DECLARE_CHECK)
#undef OCTET_DECLARE_CHECK
}  // namespace node_checks

struct DoctorCheck {
  Findings (*look)(const Examination&);
  std::vector<std::string_view> names;
};

const std::vector<DoctorCheck>& doctor_checks();

/// What all of them find, in the order of the list. They run at the same time.
Findings examine(const Examination& e);

}  // namespace octet
