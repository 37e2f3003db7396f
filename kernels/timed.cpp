// The tables that call sites get: entries that tell the heartbeat of those of the plain one, or also time them. No call
// site knows.
#include <algorithm>

#include "kernels/bytes.h"
#include "kernels/table.h"
#include "src/base/heartbeat.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

/// An entry's name, as a template argument.
template <std::size_t size>
struct Name {
  consteval Name(const char (&from)[size]) { std::copy_n(from, size, text); }
  char text[size]{};
};

const KernelTable& plain_kernels(DeviceType device) {
  return device == DeviceType::cuda ? cuda_kernels() : cpu_kernels();
}

template <auto entry, Name name, SpanKind kind>
struct Entry;

template <typename Arguments, void (*KernelTable::*entry)(Stream&, const Arguments&), Name name, SpanKind kind>
struct Entry<entry, name, kind> {
  static void watched(Stream& stream, const Arguments& arguments) {
    heartbeat::begin(name.text);
    (plain_kernels(stream.device().type()).*entry)(stream, arguments);
  }
  static void timed(Stream& stream, const Arguments& arguments) {
    octet::timed(stream, {.name = name.text, .kind = kind, .bytes = bytes_moved(arguments)},
                 [&] { watched(stream, arguments); });
  }
};

template <auto entry, Name name, SpanKind kind = SpanKind::memory_bound>
void wrap(KernelTable& t, bool timed) {
  t.*entry = timed ? Entry<entry, name, kind>::timed : Entry<entry, name, kind>::watched;
}

KernelTable wrapped(DeviceType device, bool timed) {
  KernelTable t = plain_kernels(device);
  wrap<&KernelTable::stats, "stats">(t, timed);
  wrap<&KernelTable::compute_scales, "compute_scales">(t, timed);
  wrap<&KernelTable::record_amax, "record_amax">(t, timed);
  wrap<&KernelTable::delayed_scales, "delayed_scales">(t, timed);
  wrap<&KernelTable::cast_to_float8, "cast_to_float8">(t, timed);
  wrap<&KernelTable::transpose_float8, "transpose_float8">(t, timed);
  wrap<&KernelTable::convert, "convert">(t, timed);
  wrap<&KernelTable::quantize_rowwise, "quantize_rowwise">(t, timed);
  wrap<&KernelTable::gemm, "gemm", SpanKind::gemm>(t, timed);
  wrap<&KernelTable::embedding_forward, "embedding_forward">(t, timed);
  wrap<&KernelTable::embedding_backward, "embedding_backward">(t, timed);
  wrap<&KernelTable::add_rmsnorm_forward, "add_rmsnorm_forward">(t, timed);
  wrap<&KernelTable::rmsnorm_backward, "rmsnorm_backward">(t, timed);
  wrap<&KernelTable::rope, "rope">(t, timed);
  wrap<&KernelTable::attention_forward, "attention_forward", SpanKind::attention>(t, timed);
  wrap<&KernelTable::attention_backward, "attention_backward", SpanKind::attention>(t, timed);
  wrap<&KernelTable::swiglu_forward, "swiglu_forward">(t, timed);
  wrap<&KernelTable::swiglu_backward, "swiglu_backward">(t, timed);
  wrap<&KernelTable::cross_entropy, "cross_entropy">(t, timed);
  wrap<&KernelTable::cross_entropy_stats, "cross_entropy_stats">(t, timed);
  wrap<&KernelTable::cross_entropy_finish, "cross_entropy_finish">(t, timed);
  wrap<&KernelTable::adamw, "adamw">(t, timed);
  wrap<&KernelTable::sum, "sum">(t, timed);
  wrap<&KernelTable::sum_of_squares, "sum_of_squares">(t, timed);
  wrap<&KernelTable::accumulate, "accumulate">(t, timed);
  wrap<&KernelTable::sum_parts, "sum_parts">(t, timed);
  wrap<&KernelTable::clip_factor, "clip_factor">(t, timed);
  return t;
}

}  // namespace

const KernelTable& watched_kernels(DeviceType device) {
  if (device == DeviceType::cuda) {
    static const KernelTable cuda = wrapped(DeviceType::cuda, false);
    return cuda;
  }
  static const KernelTable cpu = wrapped(DeviceType::cpu, false);
  return cpu;
}

const KernelTable& timed_kernels(DeviceType device) {
  if (device == DeviceType::cuda) {
    static const KernelTable cuda = wrapped(DeviceType::cuda, true);
    return cuda;
  }
  static const KernelTable cpu = wrapped(DeviceType::cpu, true);
  return cpu;
}

}  // namespace octet
