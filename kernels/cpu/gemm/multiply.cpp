#include "kernels/cpu/gemm/multiply.h"

#include <omp.h>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <unordered_map>

#include "kernels/cpu/gemm/matmul_primitive.h"
#include "src/base/error.h"

namespace octet::cpu {
namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::data_type type_of(DType t) {
  return t == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc describe(const MultiplyOperand& x, DType dtype, std::int64_t rows, std::int64_t columns) {
  const memory::dims strides = x.transposed ? memory::dims{1, x.stride} : memory::dims{x.stride, 1};
  return {memory::dims{rows, columns}, type_of(dtype), strides};
}

/// One fp32 that multiplies the sums. oneDNN 2.6 has no AMX kernel for an output scale that is given with the call, but
/// one for a product with a tensor: 1.4 to 10 times as fast in bf16.
memory::desc scalar() {
  return {{1, 1}, memory::data_type::f32, memory::format_tag::ab};
}

/// A matmul primitive takes some 100 µs to build and a training step repeats a few dozen shapes. What a call multiplies
/// is put into `operands`, which are kept since small products would take longer to describe than to compute.
struct CachedMatmul {
  dnnl::matmul primitive;
  std::unordered_map<int, memory> operands;

  void run(dnnl::stream& stream, const Multiply& args) {
    float scale = args.scale;
    const auto set = [&](int which, const void* data) { operands.at(which).set_data_handle(const_cast<void*>(data)); };
    set(DNNL_ARG_SRC, args.a.data);
    set(DNNL_ARG_WEIGHTS, args.b.data);
    set(DNNL_ARG_DST, args.c);
    set(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &scale);
    primitive.execute(stream, operands);
    stream.wait();
  }
};

/// With the threads for which a primitive was made (OneThreadProducts).
using Key = std::tuple<int, DType, DType, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, bool, bool, bool>;

CachedMatmul build(const Multiply& args) {
  const memory::desc a = describe(args.a, args.input, args.m, args.k), b = describe(args.b, args.input, args.k, args.n);
  const memory::desc c = describe({args.c, args.c_stride, false}, args.c_dtype, args.m, args.n);
  dnnl::post_ops finish;
  finish.append_binary(dnnl::algorithm::binary_mul, scalar());
  if (args.beta != 0.0f) finish.append_sum(1.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(finish);
  const auto nowhere = [](const memory::desc& desc) { return memory(desc, engine(), DNNL_MEMORY_NONE); };
  return {matmul_primitive(a, b, c, attributes, engine()),
          {{DNNL_ARG_SRC, nowhere(a)},
           {DNNL_ARG_WEIGHTS, nowhere(b)},
           {DNNL_ARG_DST, nowhere(c)},
           {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, nowhere(scalar())}}};
}

CachedMatmul& find_or_build(const Multiply& args) {
  thread_local std::map<Key, CachedMatmul> cache;
  const Key key{omp_get_max_threads(),
                args.input,
                args.c_dtype,
                args.m,
                args.n,
                args.k,
                args.a.stride,
                args.b.stride,
                args.c_stride,
                args.a.transposed,
                args.b.transposed,
                args.beta != 0.0f};
  auto found = cache.find(key);
  if (found == cache.end()) found = cache.emplace(key, build(args)).first;
  return found->second;
}

}  // namespace

void multiply_by_primitive(const Multiply& args) try {
  thread_local dnnl::stream stream(engine());
  find_or_build(args).run(stream, args);
} catch (const dnnl::error& failure) {
  throw internal_error("kernels", "oneDNN could not multiply m {} n {} k {} in {}: {}", args.m, args.n, args.k,
                       name_of(args.input), failure.message);
}

void multiply(const Multiply& args) {
  if (args.input == DType::bf16) return multiply_by_primitive(args);
  const auto letter = [](bool transposed) { return transposed ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(args.a.transposed), letter(args.b.transposed), args.m, args.n, args.k, args.scale,
                 static_cast<const float*>(args.a.data), args.a.stride, static_cast<const float*>(args.b.data),
                 args.b.stride, args.beta, static_cast<float*>(args.c), args.c_stride);
  if (status != dnnl_success) {
    throw internal_error("kernels", "oneDNN could not multiply m {} n {} k {} in f32: status {}", args.m, args.n,
                         args.k, static_cast<int>(status));
  }
}

OneThreadProducts::OneThreadProducts() : threads_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

OneThreadProducts::~OneThreadProducts() {
  omp_set_num_threads(threads_);
}

}  // namespace octet::cpu
