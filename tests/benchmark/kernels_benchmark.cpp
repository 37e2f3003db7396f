// Rates of the CPU kernels: GFLOP/s of products (causal FLOPs for attention), bytes/s of element-wise passes.
//   OMP_NUM_THREADS=2 build/cpu/bin/octet-benchmark-kernels --benchmark_filter=gemm
// With one thread the time is the thread's CPU time, which other programs on the machine disturb less.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/gemm/gemm_input.h"
#include "kernels/cpu/gemm/multiply.h"
#include "kernels/scale_layout.h"

namespace octet {
namespace {

Stream& stream() {
  static const std::unique_ptr<Stream> made = cpu_device().make_stream();
  return *made;
}

/// Device memory with small random values.
class Array {
 public:
  Array(DType dtype, std::int64_t n) : bytes_(std::max<std::int64_t>(n * size_of(dtype), 64)) {
    data_ = cpu_device().allocate(bytes_);
    std::memset(data_, 0, static_cast<std::size_t>(bytes_));
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> values(4099);
    for (float& v : values) v = uniform(random);
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = values[static_cast<std::size_t>(i % 4099)];
      if (dtype == DType::f32) static_cast<float*>(data_)[i] = v;
      if (dtype == DType::bf16) static_cast<bf16*>(data_)[i] = bf16(v);
      if (dtype == DType::e4m3) static_cast<e4m3*>(data_)[i] = e4m3(v);
      if (dtype == DType::e5m2) static_cast<e5m2*>(data_)[i] = e5m2(v);
    }
  }
  ~Array() { cpu_device().deallocate(data_, bytes_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  template <typename T = void>
  T* get() const {
    return static_cast<T*>(data_);
  }

 private:
  std::int64_t bytes_;
  void* data_;
};

void rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] = benchmark::Counter(per_iteration * static_cast<double>(state.iterations()),
                                            benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

/// Forward (x · Wᵀ), input gradient (dy · W) and weight gradient (dyᵀ · x, fp32 added to) of a linear.
enum class Product { forward, input_gradient, weight_gradient };

void gemm(benchmark::State& state, Product product, DType a, DType b, DType c, bool emulate_hopper) {
  const std::int64_t tokens = state.range(0), out = state.range(1), in = state.range(2);
  Gemm args;
  args.m = product == Product::weight_gradient ? out : tokens;
  args.n = product == Product::forward ? out : in;
  args.k = product == Product::forward ? in : product == Product::input_gradient ? out : tokens;
  const Array x(a, args.m * args.k), w(b, args.k * args.n), y(c, args.m * args.n);
  alignas(gemm_scale_alignment) const float one = 0.5f;
  args.a = {x.get(), a, product == Product::weight_gradient, &one};
  args.b = {w.get(), b, product == Product::forward, &one};
  args.c = y.get();
  args.c_dtype = c;
  args.beta = product == Product::weight_gradient ? 1.0f : 0.0f;
  args.fast_accumulate = product == Product::forward;
  args.emulate_hopper = emulate_hopper;
  const Array workspace(DType::u8, cpu::gemm_workspace(args));
  args.workspace = workspace.get();
  args.workspace_bytes = cpu::gemm_workspace(args);
  for (auto _ : state) cpu::gemm(stream(), args);
  rate(state, "FLOPS", 2.0 * static_cast<double>(args.m * args.n * args.k));
}

void register_gemm() {
  struct Kind {
    const char* name;
    DType x, w, dy;
    bool emulate_hopper = false;
  };
  const Kind kinds[] = {{"f32", DType::f32, DType::f32, DType::f32},
                        {"bf16", DType::bf16, DType::bf16, DType::bf16},
                        {"float8", DType::e4m3, DType::e4m3, DType::e5m2},
                        {"float8_hopper", DType::e4m3, DType::e4m3, DType::e5m2, true}};
  const std::int64_t shapes[][3] = {{4096, 768, 768},  {4096, 2048, 768}, {4096, 768, 2048}, {1024, 768, 768},
                                    {2048, 2048, 768}, {4096, 256, 256},  {4096, 704, 256},  {4096, 256, 704}};
  for (const auto& s : shapes) {
    for (const Kind& kind : kinds) {
      const DType y = kind.x == DType::f32 ? DType::f32 : DType::bf16;
      const auto add = [&](const char* what, Product product, DType a, DType b, DType c) {
        const std::string name = std::string("gemm/") + what + "/" + kind.name;
        auto* one = benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { gemm(state, product, a, b, c, kind.emulate_hopper); });
        one->Args({s[0], s[1], s[2]})->ArgNames({"tokens", "out", "in"});
        if (omp_get_max_threads() > 1) one->UseRealTime();
      };
      add("forward", Product::forward, kind.x, kind.w, y);
      add("input_gradient", Product::input_gradient, kind.dy, kind.w, y);
      add("weight_gradient", Product::weight_gradient, kind.dy, kind.x, DType::f32);
    }
  }
}

/// A token that is generated: the bytes of weights that are read a second.
void register_few_rows() {
  for (const DType dtype : {DType::f32, DType::bf16, DType::e4m3}) {
    const std::string name = "gemm/few_rows/" + std::string(name_of(dtype));
    auto* one = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      gemm(state, Product::forward, dtype, dtype, dtype == DType::f32 ? DType::f32 : DType::bf16, false);
      rate(state, "bytes", static_cast<double>(state.range(1) * state.range(2) * size_of(dtype)));
    });
    one->ArgNames({"tokens", "out", "in"})->Args({1, 32768, 2048})->Args({4, 32768, 2048})->Args({1, 768, 768});
    if (omp_get_max_threads() > 1) one->UseRealTime();
  }
}

/// Documents of `length` tokens, the last of a row as long as there is room for.
std::vector<std::int32_t> documents_of(const AttentionShape& s, std::int64_t length) {
  std::vector<std::int32_t> begin;
  for (std::int64_t t = 0; t < s.batch * s.seq; ++t) {
    begin.push_back(static_cast<std::int32_t>(t % s.seq / length * length));
  }
  return begin;
}

/// The two products of the forward (five of the backward) over the lower triangles of the documents.
double attention_flops(const AttentionShape& s, std::int64_t length, double products) {
  double of_row = 0;
  for (std::int64_t first = 0; first < s.seq; first += length) {
    const auto tokens = static_cast<double>(std::min(length, s.seq - first));
    of_row += tokens * (tokens + 1) / 2;
  }
  const double pairs = static_cast<double>(s.batch * s.heads) * of_row;
  return 2.0 * products * pairs * static_cast<double>(s.head_dim);
}

void attention(benchmark::State& state, DType dtype, bool with_backward) {
  AttentionShape s{state.range(0), state.range(1), state.range(2), state.range(3), state.range(4), 0.125f, dtype};
  const std::int64_t n_q = s.batch * s.seq * s.heads * s.head_dim, n_k = s.batch * s.seq * s.kv_heads * s.head_dim;
  const Array q(dtype, n_q), k(dtype, n_k), v(dtype, n_k), o(dtype, n_q), d_o(dtype, n_q), dq(dtype, n_q),
      dk(dtype, n_k), dv(dtype, n_k), sums(DType::f32, s.batch * s.heads * s.seq);
  AttentionForward forward{s, q.get(), k.get(), v.get(), o.get(), sums.get<float>(), nullptr};
  AttentionBackward backward{s,        q.get(),  k.get(),  v.get(), o.get(), d_o.get(), sums.get<float>(),
                             dq.get(), dk.get(), dv.get(), nullptr};
  const std::int64_t length = state.range(5) == 0 ? s.seq : state.range(5);
  const std::vector<std::int32_t> begin = documents_of(s, length);
  if (state.range(5) != 0) forward.documents.begin = backward.documents.begin = begin.data();
  const Array forward_space(DType::u8, cpu::attention_forward_workspace(forward)),
      backward_space(DType::u8, cpu::attention_backward_workspace(backward));
  forward.workspace = forward_space.get();
  backward.workspace = backward_space.get();
  cpu::attention_forward(stream(), forward);
  for (auto _ : state) {
    if (with_backward) {
      cpu::attention_backward(stream(), backward);
    } else {
      cpu::attention_forward(stream(), forward);
    }
  }
  rate(state, "FLOPS", attention_flops(s, length, with_backward ? 5.0 : 2.0));
}

/// `queries` behind a prefix of keys that all see, each with its own past behind that. One query and no past of its own
/// is a token that is generated: its rate is that of the bytes of keys and values.
void span_attention(benchmark::State& state, DType dtype) {
  const std::int64_t queries = state.range(0), prefix = state.range(1), own = queries > 1 ? queries : 0;
  const SpanAttentionShape s{queries, prefix + own, state.range(2), state.range(3), state.range(4), 0.125f, dtype};
  const std::int64_t n_q = queries * s.heads * s.head_dim, n_k = s.keys * s.kv_heads * s.head_dim;
  const Array q(dtype, n_q), k(dtype, n_k), v(dtype, n_k), o(dtype, n_q);
  std::vector<std::int32_t> spans;
  const auto end = static_cast<std::int32_t>(prefix);
  for (std::int32_t i = 0; i < queries; ++i) spans.insert(spans.end(), {0, end, end, own == 0 ? end : end + i + 1});
  SpanAttention args{s, q.get(), k.get(), v.get(), o.get(), spans.data(), s.keys, nullptr};
  const Array space(DType::u8, cpu::span_attention_workspace(args));
  args.workspace = space.get();
  for (auto _ : state) cpu::span_attention(stream(), args);
  double keys = static_cast<double>(prefix);
  if (own > 0) keys += static_cast<double>(own + 1) / 2;
  rate(state, "FLOPS", 4.0 * static_cast<double>(n_q) * keys);
  rate(state, "bytes", static_cast<double>(2 * n_k * size_of(dtype)));
}

void register_span_attention() {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::string name = "span_attention/" + std::string(name_of(dtype));
    auto* one =
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { span_attention(state, dtype); });
    one->ArgNames({"queries", "prefix", "heads", "kv_heads", "head_dim"});
    one->Args({1, 256, 12, 4, 64})->Args({1, 4096, 12, 4, 64})->Args({1, 8192, 32, 8, 128});
    one->Args({128, 1900, 12, 4, 64})->Args({128, 1900, 12, 12, 64});
    if (omp_get_max_threads() > 1) one->UseRealTime();
  }
}

void register_attention() {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool backward : {false, true}) {
      const std::string name =
          std::string("attention/") + (backward ? "backward/" : "forward/") + std::string(name_of(dtype));
      auto* one = benchmark::RegisterBenchmark(name.c_str(),
                                               [=](benchmark::State& state) { attention(state, dtype, backward); });
      one->ArgNames({"batch", "seq", "heads", "kv_heads", "head_dim", "documents"});
      one->Args({2, 1024, 12, 4, 64, 0})->Args({4, 512, 4, 4, 64, 0})->Args({1, 2048, 8, 2, 128, 0});
      one->Args({8, 128, 4, 2, 32, 0});
      for (const std::int64_t length : {4096, 2048, 1024, 512, 256, 128}) one->Args({1, 4096, 4, 2, 64, length});
      if (omp_get_max_threads() > 1) one->UseRealTime();
    }
  }
}

void cast(benchmark::State& state, DType from, DType to) {
  const std::int64_t n = state.range(0);
  const Array x(from, n), y(to, n);
  const float scale = 100.0f;
  for (auto _ : state) cpu::cast_to_float8(stream(), {x.get(), from, y.get(), to, n, &scale});
  rate(state, "bytes", static_cast<double>(n * (size_of(from) + size_of(to))));
}

void convert(benchmark::State& state, DType from, DType to) {
  const std::int64_t n = state.range(0);
  const Array x(from, n), y(to, n);
  for (auto _ : state) cpu::convert(stream(), {x.get(), from, y.get(), to, n});
  rate(state, "bytes", static_cast<double>(n * (size_of(from) + size_of(to))));
}

void stats(benchmark::State& state, DType dtype) {
  const std::int64_t n = state.range(0);
  const Array x(dtype, n);
  float amax = 0;
  std::uint32_t non_finite = 0;
  for (auto _ : state) cpu::stats(stream(), {x.get(), dtype, n, {&amax, &non_finite}});
  rate(state, "bytes", static_cast<double>(n * size_of(dtype)));
}

void register_passes() {
  const auto add = [](const char* name, auto run) {
    auto* one = benchmark::RegisterBenchmark(name, run)->Arg(1 << 20)->Arg(1 << 24);
    if (omp_get_max_threads() > 1) one->UseRealTime();
  };
  add("cast/bf16_e4m3", [](benchmark::State& state) { cast(state, DType::bf16, DType::e4m3); });
  add("cast/bf16_e5m2", [](benchmark::State& state) { cast(state, DType::bf16, DType::e5m2); });
  add("cast/f32_e4m3", [](benchmark::State& state) { cast(state, DType::f32, DType::e4m3); });
  add("convert/f32_bf16", [](benchmark::State& state) { convert(state, DType::f32, DType::bf16); });
  add("convert/bf16_f32", [](benchmark::State& state) { convert(state, DType::bf16, DType::f32); });
  add("stats/f32", [](benchmark::State& state) { stats(state, DType::f32); });
  add("stats/bf16", [](benchmark::State& state) { stats(state, DType::bf16); });
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::register_gemm();
  octet::register_few_rows();
  octet::register_attention();
  octet::register_span_attention();
  octet::register_passes();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  benchmark::AddCustomContext("threads", std::to_string(omp_get_max_threads()));
  benchmark::AddCustomContext("gemm input", octet::cpu::describe_gemm_input());
  benchmark::RunSpecifiedBenchmarks();
}
