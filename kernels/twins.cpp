// The tables that call sites get: entries that tell the heartbeat of those of the plain one, that also time them, or
// that do nothing. Where the stream's work is listed, they put it into the list. No call site knows.
#include "kernels/table.h"
#include "src/base/heartbeat.h"
#include "src/device/work_list.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

const KernelTable& plain_kernels(DeviceType device) {
  return device == DeviceType::cuda ? cuda_kernels() : cpu_kernels();
}

template <typename Arguments>
Work work_of(const char* name, const Arguments& a) {
  Work work{.name = name, .bytes = a.bytes_moved(), .arguments = &a};
  if constexpr (requires { a.flops(); }) {
    work.flops = a.flops();
    work.multiplied = a.multiplied();
  }
  return work;
}

/// What a real kernel would refuse, a dry one refuses too.
template <typename Arguments>
void refuse_as_real(const Arguments& a) {
  if constexpr (requires { check_operands(a); }) check_operands(a);
}

enum class Twin { watched, timed, dry };

#define OCTET_TWIN(entry, Arguments, kind_of_span)                                                             \
  struct entry##_twin {                                                                                        \
    static Work work(const Arguments& arguments) { return work_of(#entry, arguments); }                        \
    static void watched(Stream& stream, const Arguments& arguments) {                                          \
      if (WorkList* list = Listing::of(stream)) return list->add<&watched, &work>(arguments);                  \
      heartbeat::begin(#entry);                                                                                \
      plain_kernels(stream.device().type()).entry(stream, arguments);                                          \
    }                                                                                                          \
    static void timed(Stream& stream, const Arguments& arguments) {                                            \
      octet::timed(stream, {.name = #entry, .kind = SpanKind::kind_of_span, .bytes = arguments.bytes_moved()}, \
                   [&] { watched(stream, arguments); });                                                       \
    }                                                                                                          \
    static void dry(Stream& stream, const Arguments& arguments) {                                              \
      refuse_as_real(arguments);                                                                               \
      if (WorkList* list = Listing::of(stream)) return list->add<&dry, &work>(arguments);                      \
      stream.skip(work(arguments));                                                                            \
    }                                                                                                          \
  };
OCTET_OPERATIONS(OCTET_TWIN, OCTET_TWIN)
#undef OCTET_TWIN

/// The same table with every launch replaced; sizes of workspaces stay.
KernelTable twin_of(const KernelTable& plain, Twin which) {
  KernelTable t = plain;
#define OCTET_REPLACE(entry, Arguments, kind)              \
  t.entry = which == Twin::watched ? entry##_twin::watched \
            : which == Twin::timed ? entry##_twin::timed   \
                                   : entry##_twin::dry;
  OCTET_OPERATIONS(OCTET_REPLACE, OCTET_REPLACE)
#undef OCTET_REPLACE
  return t;
}

template <Twin which>
const KernelTable& twin(DeviceType device) {
  if (device == DeviceType::cuda) {
    static const KernelTable cuda = twin_of(cuda_kernels(), which);
    return cuda;
  }
  static const KernelTable cpu = twin_of(cpu_kernels(), which);
  return cpu;
}

}  // namespace

const KernelTable& watched_kernels(DeviceType device) {
  return twin<Twin::watched>(device);
}

const KernelTable& timed_kernels(DeviceType device) {
  return twin<Twin::timed>(device);
}

const KernelTable& dry_kernels(DeviceType device, DeviceType workspaces) {
  if (device == workspaces) return twin<Twin::dry>(device);
  static const KernelTable cuda_anywhere = [] {
    KernelTable t = twin_of(cpu_kernels(), Twin::dry);
    t.float8_gemm_k_major = float8_gemm_k_major_on(DeviceType::cuda);
    t.logits_bytes = logits_bytes_on(DeviceType::cuda);
    return t;
  }();
  if (device == DeviceType::cuda) return cuda_anywhere;
  throw internal_error("kernels", "a device of the CPU with the workspaces of CUDA's kernels");
}

KernelTable dry_twin_of(const KernelTable& kernels) {
  return twin_of(kernels, Twin::dry);
}

}  // namespace octet
