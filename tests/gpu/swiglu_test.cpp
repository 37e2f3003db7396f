#include <array>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct Case {
  std::int64_t rows, columns;
  std::int64_t offset = 0;  ///< of every array from an aligned address, in elements
};
/// The last two have more tiles than there are blocks.
constexpr std::array<Case, 13> cases = {{{1, 1},
                                         {3, 5},
                                         {16, 32},
                                         {128, 64},
                                         {131, 72},
                                         {160, 264},
                                         {257, 33},
                                         {1024, 1408},
                                         {16, 32, 1},
                                         {144, 80, 8},
                                         {9, 1000, 3},
                                         {34000, 8},
                                         {34001, 9}}};

/// The statistics and float8 forms that a kernel left beside a tensor.
struct Beside {
  Beside(Stream& stream, std::int64_t n, DType fp8_format)
      : format(fp8_format),
        amax(stream, {0.0f}),
        non_finite(stream, {7}),
        scale(stream, {50.0f}),
        y(Both<std::uint8_t>::output(stream, n)),
        transposed(Both<std::uint8_t>::output(stream, n)) {}

  StatsOut stats() { return {amax.gpu(), non_finite.gpu()}; }
  Float8Out float8(Forms forms, std::int64_t offset) {
    return {.y = forms == Forms::none ? nullptr : y.gpu() + offset,
            .y_transposed = forms == Forms::transposed ? transposed.gpu() + offset : nullptr,
            .format = format,
            .scale = scale.gpu()};
  }

  /// They must be, bit by bit, what the CPU finds in the values that the kernel stored.
  template <typename T>
  void check(const std::vector<T>& stored, const Case& c, Forms forms, Stream& cpu_stream) {
    const auto n = c.rows * c.columns;
    cpu_kernels().stats(
        cpu_stream,
        {.x = stored.data() + c.offset, .dtype = dtype_of<T>::value, .n = n, .out = {amax.cpu(), non_finite.cpu()}});
    expect_same_bits(amax, "amax");
    expect_same_bits(non_finite, "non-finite");
    if (forms != Forms::none) {
      cpu_kernels().cast_to_float8(cpu_stream,
                                   {.x = stored.data() + c.offset,
                                    .from = dtype_of<T>::value,
                                    .y = y.cpu() + c.offset,
                                    .to = format,
                                    .n = n,
                                    .scale = scale.cpu(),
                                    .y_transposed = forms == Forms::transposed ? transposed.cpu() + c.offset : nullptr,
                                    .columns = c.columns});
    }
    expect_same_bits(y, "float8");
    expect_same_bits(transposed, "float8 transposed");
  }

  DType format;
  Both<float> amax;
  Both<std::uint32_t> non_finite;
  Both<float> scale;
  Both<std::uint8_t> y, transposed;
};

class GpuSwiglu : public GpuTest {
 protected:
  template <typename T>
  static constexpr double tolerance = std::is_same_v<T, float> ? 1e-6 : 0x1p-8;

  /// Gates far into both tails of the sigmoid among them.
  template <typename T>
  static std::vector<T> gates(std::int64_t n) {
    auto values = normal<T>(n, 11, 3.0);
    for (std::size_t i = 0; i < values.size(); i += 5) values[i] = T(static_cast<float>(values[i]) * 40.0f);
    return values;
  }

  template <typename T>
  void forward(const Case& c, Forms forms, bool spoiled = false) {
    const std::int64_t n = c.rows * c.columns, all = n + c.offset;
    Both<T> gate(*gpu_stream, gates<T>(all));
    auto values = normal<T>(all, 12);
    if (spoiled) values[static_cast<std::size_t>(c.offset + n / 2)] = T(INFINITY);
    Both<T> up(*gpu_stream, values);
    auto y = Both<T>::output(*gpu_stream, all);
    Beside beside(*gpu_stream, all, DType::e4m3);
    SwigluForward args{.gate = gate.cpu() + c.offset,
                       .up = up.cpu() + c.offset,
                       .y = y.cpu() + c.offset,
                       .dtype = dtype_of<T>::value,
                       .n = n,
                       .columns = c.columns,
                       .stats = {}};
    cpu.swiglu_forward(*cpu_stream, args);
    args.gate = gate.gpu() + c.offset, args.up = up.gpu() + c.offset, args.y = y.gpu() + c.offset;
    args.stats = beside.stats(), args.float8 = beside.float8(forms, c.offset);
    gpu().swiglu_forward(*gpu_stream, args);
    if (!spoiled) expect_close(y, tolerance<T>, "y");
    beside.check(y.download(), c, forms, *cpu_stream);
    if (forms == Forms::none) return;
    Beside alone(*gpu_stream, all, DType::e4m3);
    args.y = nullptr, args.stats = alone.stats(), args.float8 = alone.float8(forms, c.offset);
    gpu().swiglu_forward(*gpu_stream, args);
    alone.check(y.download(), c, forms, *cpu_stream);
  }

  template <typename T>
  void backward(const Case& c, Forms gate_forms, Forms up_forms, bool in_place) {
    const std::int64_t n = c.rows * c.columns, all = n + c.offset;
    Both<T> gate(*gpu_stream, gates<T>(all)), up(*gpu_stream, normal<T>(all, 12)), dy(*gpu_stream, normal<T>(all, 13));
    auto gate_output = Both<T>::output(*gpu_stream, all), up_output = Both<T>::output(*gpu_stream, all);
    Both<T>&d_gate = in_place ? gate : gate_output, &d_up = in_place ? up : up_output;
    Beside gate_beside(*gpu_stream, all, DType::e5m2), up_beside(*gpu_stream, all, DType::e4m3);
    SwigluBackward args{.gate = gate.cpu() + c.offset,
                        .up = up.cpu() + c.offset,
                        .dy = dy.cpu() + c.offset,
                        .d_gate = d_gate.cpu() + c.offset,
                        .d_up = d_up.cpu() + c.offset,
                        .dtype = dtype_of<T>::value,
                        .n = n,
                        .columns = c.columns,
                        .gate_stats = {},
                        .up_stats = {}};
    cpu.swiglu_backward(*cpu_stream, args);
    args.gate = gate.gpu() + c.offset, args.up = up.gpu() + c.offset, args.dy = dy.gpu() + c.offset;
    args.d_gate = d_gate.gpu() + c.offset, args.d_up = d_up.gpu() + c.offset;
    args.gate_stats = gate_beside.stats(), args.gate_float8 = gate_beside.float8(gate_forms, c.offset);
    args.up_stats = up_beside.stats(), args.up_float8 = up_beside.float8(up_forms, c.offset);
    gpu().swiglu_backward(*gpu_stream, args);
    expect_close(d_gate, tolerance<T>, "d_gate");
    expect_close(d_up, tolerance<T>, "d_up");
    gate_beside.check(d_gate.download(), c, gate_forms, *cpu_stream);
    up_beside.check(d_up.download(), c, up_forms, *cpu_stream);
    if (in_place) return;  // the operands are gone
    Beside gate_alone(*gpu_stream, all, DType::e5m2), up_alone(*gpu_stream, all, DType::e4m3);
    args.d_gate = args.d_up = nullptr;  // where there is no form either, they are only measured
    args.gate_stats = gate_alone.stats(), args.gate_float8 = gate_alone.float8(gate_forms, c.offset);
    args.up_stats = up_alone.stats(), args.up_float8 = up_alone.float8(up_forms, c.offset);
    gpu().swiglu_backward(*gpu_stream, args);
    gate_alone.check(d_gate.download(), c, gate_forms, *cpu_stream);
    up_alone.check(d_up.download(), c, up_forms, *cpu_stream);
  }
};

TEST_F(GpuSwiglu, Forward) {
  for (const Case& c : cases) {
    for (const Forms forms : {Forms::none, Forms::plain, Forms::transposed}) {
      SCOPED_TRACE(fmt::format("{} x {}, offset {}, forms {}", c.rows, c.columns, c.offset, static_cast<int>(forms)));
      forward<float>(c, forms);
      forward<bf16>(c, forms);
    }
  }
}

TEST_F(GpuSwiglu, ForwardCountsInfinity) {
  for (const Forms forms : {Forms::none, Forms::transposed}) {
    forward<float>({100, 48}, forms, true);
    forward<bf16>({100, 48}, forms, true);
  }
}

TEST_F(GpuSwiglu, Backward) {
  constexpr std::array<std::pair<Forms, Forms>, 4> both = {{{Forms::none, Forms::none},
                                                            {Forms::plain, Forms::plain},
                                                            {Forms::transposed, Forms::transposed},
                                                            {Forms::transposed, Forms::none}}};
  for (const Case& c : cases) {
    for (const auto& [gate, up] : both) {
      SCOPED_TRACE(fmt::format("{} x {}, offset {}, forms {} {}", c.rows, c.columns, c.offset, static_cast<int>(gate),
                               static_cast<int>(up)));
      for (const bool in_place : {false, true}) {
        backward<float>(c, gate, up, in_place);
        backward<bf16>(c, gate, up, in_place);
      }
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
