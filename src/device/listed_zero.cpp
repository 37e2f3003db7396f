#include "src/device/listed_zero.h"

#include "src/device/work_list.h"

namespace octet {
namespace {

struct Zeroing {
  void* memory;
  std::int64_t bytes;
  bool operator==(const Zeroing&) const = default;
};

void give_zero(Stream& stream, const Zeroing& z) {
  stream.device().zero(z.memory, z.bytes, stream);
}
Work zeroing(const Zeroing& z) {
  return {.name = "zero", .bytes = z.bytes};
}

}  // namespace

bool lists_zero(void* memory, std::int64_t bytes, const Stream& stream) {
  WorkList* list = Listing::of(stream);
  if (list != nullptr) list->add<&give_zero, &zeroing>(Zeroing{memory, bytes});
  return list != nullptr;
}

}  // namespace octet
