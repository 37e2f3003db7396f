// The second table of a device: entries that time those of the first. No call site knows.
#include <algorithm>

#include "kernels/bytes.h"
#include "kernels/table.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

/// An entry's name, as a template argument.
template <std::size_t size>
struct Name {
  consteval Name(const char (&from)[size]) { std::copy_n(from, size, text); }
  char text[size]{};
};

template <auto entry, Name name, SpanKind kind>
struct TimedEntry;

template <typename Arguments, void (*KernelTable::*entry)(Stream&, const Arguments&), Name name, SpanKind kind>
struct TimedEntry<entry, name, kind> {
  static void run(Stream& stream, const Arguments& arguments) {
    const KernelTable& plain = stream.device().type() == DeviceType::cuda ? cuda_kernels() : cpu_kernels();
    timed(stream, {.name = name.text, .kind = kind, .bytes = bytes_moved(arguments)},
          [&] { (plain.*entry)(stream, arguments); });
  }
};

template <auto entry, Name name, SpanKind kind = SpanKind::memory_bound>
void wrap(KernelTable& t) {
  t.*entry = TimedEntry<entry, name, kind>::run;
}

KernelTable wrapped(const KernelTable& plain) {
  KernelTable t = plain;
  wrap<&KernelTable::stats, "stats">(t);
  wrap<&KernelTable::compute_scales, "compute_scales">(t);
  wrap<&KernelTable::record_amax, "record_amax">(t);
  wrap<&KernelTable::delayed_scales, "delayed_scales">(t);
  wrap<&KernelTable::cast_to_float8, "cast_to_float8">(t);
  wrap<&KernelTable::transpose_float8, "transpose_float8">(t);
  wrap<&KernelTable::convert, "convert">(t);
  wrap<&KernelTable::quantize_rowwise, "quantize_rowwise">(t);
  wrap<&KernelTable::gemm, "gemm", SpanKind::gemm>(t);
  wrap<&KernelTable::embedding_forward, "embedding_forward">(t);
  wrap<&KernelTable::embedding_backward, "embedding_backward">(t);
  wrap<&KernelTable::add_rmsnorm_forward, "add_rmsnorm_forward">(t);
  wrap<&KernelTable::rmsnorm_backward, "rmsnorm_backward">(t);
  wrap<&KernelTable::rope, "rope">(t);
  wrap<&KernelTable::attention_forward, "attention_forward", SpanKind::attention>(t);
  wrap<&KernelTable::attention_backward, "attention_backward", SpanKind::attention>(t);
  wrap<&KernelTable::swiglu_forward, "swiglu_forward">(t);
  wrap<&KernelTable::swiglu_backward, "swiglu_backward">(t);
  wrap<&KernelTable::cross_entropy, "cross_entropy">(t);
  wrap<&KernelTable::cross_entropy_stats, "cross_entropy_stats">(t);
  wrap<&KernelTable::cross_entropy_finish, "cross_entropy_finish">(t);
  wrap<&KernelTable::adamw, "adamw">(t);
  wrap<&KernelTable::sum, "sum">(t);
  wrap<&KernelTable::sum_of_squares, "sum_of_squares">(t);
  wrap<&KernelTable::accumulate, "accumulate">(t);
  wrap<&KernelTable::sum_parts, "sum_parts">(t);
  wrap<&KernelTable::clip_factor, "clip_factor">(t);
  return t;
}

}  // namespace

const KernelTable& timed_kernels(DeviceType device) {
  if (device == DeviceType::cuda) {
    static const KernelTable cuda = wrapped(cuda_kernels());
    return cuda;
  }
  static const KernelTable cpu = wrapped(cpu_kernels());
  return cpu;
}

}  // namespace octet
