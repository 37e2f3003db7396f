#include "src/comm/nccl/nccl_ids.h"

#include <algorithm>
#include <cstdlib>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/comm/nccl/nccl_reason.h"

namespace octet {

namespace {

bool one_address_is_set() {
  return std::getenv("NCCL_COMM_ID") != nullptr;
}

}  // namespace

std::vector<int> id_makers(int ranks, int ranks_an_id) {
  const int ids = ranks <= 2 * ranks_an_id ? 1 : static_cast<int>(ceil_div(ranks, ranks_an_id));
  std::vector<int> makers;
  makers.reserve(static_cast<std::size_t>(ids));
  for (int i = 0; i < ids; ++i) makers.push_back(i * (ranks / ids) + std::min(i, ranks % ids));
  return makers;
}

std::vector<ncclUniqueId> common_ids(const NcclApi& api, Communicator& rendezvous) {
  std::vector<int> makers{0};
  if (api.comm_init_rank_scalable != nullptr) makers = id_makers(rendezvous.size(), api.ranks_an_id);
  if (makers.size() > 1 && one_address_is_set()) {
    throw usage_error("comm",
                      "NCCL_COMM_ID is set, by which one rank alone gives an id; expected it unset for {} ranks, which "
                      "meet at {} ids",
                      rendezvous.size(), makers.size());
  }
  ncclUniqueId mine{};
  if (std::find(makers.begin(), makers.end(), rendezvous.rank()) != makers.end()) {
    const ncclResult_t result = api.get_unique_id(&mine);
    if (result != ncclSuccess) throw internal_error("comm", "ncclGetUniqueId: {}", nccl_reason(api, result));
  }
  std::vector<ncclUniqueId> all(static_cast<std::size_t>(rendezvous.size())), ids;
  rendezvous.all_gather(&mine, all.data(), sizeof mine, DType::u8);
  for (const int maker : makers) ids.push_back(all[static_cast<std::size_t>(maker)]);
  return ids;
}

void require_one_meeting(const Communicator& part, int ranks) {
  if (part.size() == 1 || part.size() == ranks || !one_address_is_set()) return;
  throw usage_error("comm",
                    "NCCL_COMM_ID is set, an address at which one group can meet; expected it unset for {} ranks in "
                    "groups of {} ({}), which would all meet there",
                    ranks, part.size(), part.name());
}

}  // namespace octet
