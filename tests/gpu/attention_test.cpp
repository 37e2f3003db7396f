#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/attention_timing.h"
#include "kernels/cuda_settings.h"
#include "src/base/log.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

AttentionShape shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t kv_heads,
                     std::int64_t head_dim, DType dtype = DType::bf16) {
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  return {batch, seq, heads, kv_heads, head_dim, scale, dtype};
}

/// One attention on both devices; outputs and workspaces are poisoned.
template <typename T>
class Attention {
 public:
  /// `begin`: where the documents of the tokens begin, or nothing.
  Attention(Stream& gpu_stream, const AttentionShape& s, const std::vector<std::int32_t>& begin = {})
      : gpu_stream_(gpu_stream),
        s_(s),
        begin_(gpu_stream, begin),
        starts_(gpu_stream, starts_of(begin)),
        q_(gpu_stream, normal<T>(queries(), 1)),
        k_(gpu_stream, normal<T>(keys(), 2)),
        v_(gpu_stream, normal<T>(keys(), 3)),
        d_o_(gpu_stream, normal<T>(queries(), 4)) {}

  void forward_cpu(const KernelTable& table, Stream& stream) {
    AttentionForward args = {s_,      q_.cpu(),          k_.cpu(), v_.cpu(),
                             o.cpu(), log_sum_exp.cpu(), nullptr,  documents(begin_.cpu(), starts_.cpu())};
    const Buffer space = workspace(table.attention_forward_workspace(args));
    args.workspace = space.data();
    table.attention_forward(stream, args);
  }
  void backward_cpu(const KernelTable& table, Stream& stream) {
    AttentionBackward args{s_,       q_.cpu(),   k_.cpu(),          v_.cpu(),
                           o.cpu(),  d_o_.cpu(), log_sum_exp.cpu(), dq.cpu(),
                           dk.cpu(), dv.cpu(),   nullptr,           documents(begin_.cpu(), starts_.cpu())};
    const Buffer space = workspace(table.attention_backward_workspace(args));
    args.workspace = space.data();
    table.attention_backward(stream, args);
  }
  /// Plans and workspaces; before a capture.
  void prepare_gpu(const KernelTable& table) {
    forward_.emplace(Both<unsigned char>::output(gpu_stream_, table.attention_forward_workspace(forward_args())));
    backward_.emplace(Both<unsigned char>::output(gpu_stream_, table.attention_backward_workspace(backward_args())));
  }
  void run_gpu(const KernelTable& table, Stream& stream) {
    AttentionForward forward = forward_args();
    forward.workspace = forward_->gpu();
    table.attention_forward(stream, forward);
    AttentionBackward backward = backward_args();
    backward.workspace = backward_->gpu();
    table.attention_backward(stream, backward);
  }
  /// Nothing is written outside the workspaces and the outputs.
  void check_guards() {
    forward_->download();
    backward_->download();
  }
  void expect_close_to_cpu(double output, double gradients, double log_sums) {
    expect_close(o, output, "o");
    expect_close(log_sum_exp, log_sums, "log_sum_exp");
    expect_close(dq, gradients, "dq");
    expect_close(dk, gradients, "dk");
    expect_close(dv, gradients, "dv");
  }
  /// Why Octet's own kernels serve for its documents, in one pass or the other; empty where cuDNN does.
  std::string why_not_by_cudnn() {
    const PackedDocuments of = documents(begin_.gpu(), starts_.gpu());
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
      std::string why = why_no_document_plan(gpu_stream_, {s_, pass}, of.places, of.longest);
      if (!why.empty()) return why;
    }
    return "";
  }
  /// Poisons the device's outputs again.
  void poison(Stream& stream) {
    for (const auto& [data, bytes] : outputs()) {
      ASSERT_EQ(cudaMemsetAsync(data, 0xFF, bytes, static_cast<cudaStream_t>(stream.native())), cudaSuccess);
    }
  }
  /// The bytes of all outputs on the device.
  std::vector<unsigned char> bytes() {
    std::vector<unsigned char> all;
    const auto add = [&](auto& array) {
      const auto values = array.download();
      const auto* first = reinterpret_cast<const unsigned char*>(values.data());
      all.insert(all.end(), first, first + values.size() * sizeof(values[0]));
    };
    add(o), add(log_sum_exp), add(dq), add(dk), add(dv);
    return all;
  }

 private:
  /// Aligned as the CPU's kernels want it.
  static Buffer workspace(std::int64_t bytes) {
    return Buffer(cpu_device(), std::max<std::int64_t>(bytes, 1), Purpose::workspace);
  }
  std::int64_t queries() const { return s_.batch * s_.seq * s_.heads * s_.head_dim; }
  std::int64_t keys() const { return s_.batch * s_.seq * s_.kv_heads * s_.head_dim; }
  PackedDocuments documents(const std::int32_t* begin, const std::int32_t* starts) {
    if (begin_.host().empty()) return {};
    return {begin, starts, static_cast<std::int64_t>(starts_.host().size()) - 1, document_length(longest_, s_.seq)};
  }
  /// PackedDocuments::starts, of as many places as there are documents or a few more.
  std::vector<std::int32_t> starts_of(const std::vector<std::int32_t>& begin) {
    std::vector<std::int32_t> starts;
    for (std::size_t t = 0; t < begin.size(); ++t) {
      const auto in_row = static_cast<std::int64_t>(t) % s_.seq;
      if (begin[t] == in_row) starts.push_back(static_cast<std::int32_t>(t));
      longest_ = std::max(longest_, in_row - begin[t] + 1);
    }
    if (!starts.empty()) {
      const std::int64_t places = document_places(static_cast<std::int64_t>(starts.size()));
      starts.resize(static_cast<std::size_t>(places + 1), static_cast<std::int32_t>(begin.size()));
    }
    return starts;
  }
  AttentionForward forward_args() {
    return {s_,      q_.gpu(),          k_.gpu(), v_.gpu(),
            o.gpu(), log_sum_exp.gpu(), nullptr,  documents(begin_.gpu(), starts_.gpu())};
  }
  AttentionBackward backward_args() {
    return {s_,       q_.gpu(),   k_.gpu(),          v_.gpu(),
            o.gpu(),  d_o_.gpu(), log_sum_exp.gpu(), dq.gpu(),
            dk.gpu(), dv.gpu(),   nullptr,           documents(begin_.gpu(), starts_.gpu())};
  }
  std::vector<std::pair<void*, std::size_t>> outputs() {
    const auto extent = [](auto& array) {
      return std::pair<void*, std::size_t>(array.gpu(), array.host().size() * sizeof(array.host()[0]));
    };
    return {extent(o), extent(log_sum_exp), extent(dq), extent(dk), extent(dv)};
  }

  Stream& gpu_stream_;
  AttentionShape s_;
  std::int64_t longest_ = 0;  ///< document
  Both<std::int32_t> begin_, starts_;
  Both<T> q_, k_, v_, d_o_;
  std::optional<Both<unsigned char>> forward_, backward_;

 public:
  Both<T> o = Both<T>::output(gpu_stream_, queries());
  Both<float> log_sum_exp = Both<float>::output(gpu_stream_, s_.batch* s_.heads* s_.seq);
  Both<T> dq = Both<T>::output(gpu_stream_, queries());
  Both<T> dk = Both<T>::output(gpu_stream_, keys());
  Both<T> dv = Both<T>::output(gpu_stream_, keys());
};

class GpuAttention : public GpuTest {
 protected:
  void TearDown() override {
    set_cuda_settings({});
    if (gpu_stream != nullptr) use_attention_choices({});
  }
  static void be_deterministic() {
    CudaSettings settings;
    settings.deterministic = true;
    set_cuda_settings(settings);
  }

  /// Both passes, again and again.
  void expect_same_bits(Attention<bf16>& attention) {
    attention.prepare_gpu(gpu());
    attention.run_gpu(gpu(), *gpu_stream);
    const std::vector<unsigned char> first = attention.bytes();
    for (int repetition = 0; repetition < 3; ++repetition) {
      attention.poison(*gpu_stream);
      attention.run_gpu(gpu(), *gpu_stream);
      EXPECT_EQ(attention.bytes(), first);
    }
  }

  template <typename T>
  void compare(const AttentionShape& s, double output, double gradients, double log_sums,
               const std::vector<std::int32_t>& begin = {}) {
    SCOPED_TRACE(testing::Message() << "batch " << s.batch << " seq " << s.seq << " heads " << s.heads << "/"
                                    << s.kv_heads << " dim " << s.head_dim);
    Attention<T> attention(*gpu_stream, s, begin);
    attention.forward_cpu(cpu, *cpu_stream);
    attention.backward_cpu(cpu, *cpu_stream);
    attention.prepare_gpu(gpu());
    attention.run_gpu(gpu(), *gpu_stream);
    attention.expect_close_to_cpu(output, gradients, log_sums);
    attention.check_guards();
  }
  /// cuDNN rounds the probabilities and their gradients to bf16 before it multiplies with them; the CPU does not.
  void compare_bf16(const AttentionShape& s) { compare<bf16>(s, 0x1p-7, 0x1p-6, 1e-4); }
};

TEST_F(GpuAttention, AgreesWithTheCpu) {
  compare_bf16(shape(1, 128, 4, 4, 64));    // every query head its own keys
  compare_bf16(shape(2, 256, 12, 4, 64));   // the 160M's
  compare_bf16(shape(1, 512, 8, 2, 128));   // groups of four
  compare_bf16(shape(1, 384, 16, 1, 128));  // one key head: groups of sixteen, as the 405B on four GPUs
  compare_bf16(shape(3, 2048, 2, 1, 128));  // many tiles
  compare_bf16(shape(1, 1000, 4, 2, 64));   // no multiple of a tile
  compare_bf16(shape(2, 67, 3, 1, 96));     // backward by the fallback: cuDNN's workspace would be aligned to 8 bytes
}

/// The beginnings of documents of these lengths, again and again until the row is full; each row is shifted by one.
std::vector<std::int32_t> documents_of(const AttentionShape& s, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> begin;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    auto next = static_cast<std::size_t>(b);
    for (std::int64_t t = 0; t < s.seq; ++next) {
      const std::int64_t end = std::min(s.seq, t + lengths[next % lengths.size()]), first = t;
      for (; t < end; ++t) begin.push_back(static_cast<std::int32_t>(first));
    }
  }
  return begin;
}

TEST_F(GpuAttention, StaysWithinItsDocumentsByOurKernels) {
  set_cuda_settings({.document_attention = DocumentAttention::own});
  for (const std::vector<std::int64_t>& lengths :
       std::vector<std::vector<std::int64_t>>{{2, 3, 70, 1, 7}, {64}, {63, 65}, {500, 1}, {100, 900, 31}}) {
    for (const AttentionShape& s : {shape(2, 256, 12, 4, 64), shape(1, 1000, 8, 2, 128), shape(2, 67, 3, 1, 96)}) {
      compare<bf16>(s, 0x1p-7, 0x1p-6, 1e-4, documents_of(s, lengths));
    }
    const AttentionShape s = shape(2, 200, 4, 2, 64, DType::f32);
    compare<float>(s, 1e-5, 1e-5, 1e-6, documents_of(s, lengths));
  }
}

/// By cuDNN, whose log-sum-exps lie otherwise: they are for its backward pass alone. With as many heads of keys as of
/// queries, too.
TEST_F(GpuAttention, StaysWithinItsDocumentsByCudnn) {
  for (const std::vector<std::int64_t>& lengths :
       std::vector<std::vector<std::int64_t>>{{2, 3, 70, 1, 7}, {64}, {63, 65}, {500, 1}, {100, 900, 31}}) {
    for (const AttentionShape& s : {shape(2, 256, 12, 4, 64), shape(1, 1000, 8, 2, 128), shape(4, 512, 4, 4, 64)}) {
      Attention<bf16> attention(*gpu_stream, s, documents_of(s, lengths));
      if (attention_platform(*gpu_stream).library_version == 0) GTEST_SKIP() << attention.why_not_by_cudnn();
      ASSERT_EQ(attention.why_not_by_cudnn(), "");
      attention.forward_cpu(cpu, *cpu_stream);
      attention.backward_cpu(cpu, *cpu_stream);
      attention.prepare_gpu(gpu());
      attention.run_gpu(gpu(), *gpu_stream);
      expect_close(attention.o, 0x1p-7, "o");
      expect_close(attention.dq, 0x1p-6, "dq");
      expect_close(attention.dk, 0x1p-6, "dk");
      expect_close(attention.dv, 0x1p-6, "dv");
      attention.check_guards();
    }
  }
}

TEST_F(GpuAttention, OfDocumentsOfOneTokenIsTheirValues) {
  const AttentionShape s = shape(1, 130, 2, 2, 64);
  Attention<bf16> attention(*gpu_stream, s, documents_of(s, {1}));
  attention.forward_cpu(cpu, *cpu_stream);
  attention.backward_cpu(cpu, *cpu_stream);
  attention.prepare_gpu(gpu());
  attention.run_gpu(gpu(), *gpu_stream);
  expect_close(attention.o, 0x1p-7, "o");
  expect_close(attention.dv, 0x1p-7, "dv");
}

TEST_F(GpuAttention, OfOneTokenIsItsValue) {  // cuDNN has no backward of it
  Attention<bf16> attention(*gpu_stream, shape(2, 1, 4, 2, 64));
  attention.forward_cpu(cpu, *cpu_stream);
  attention.backward_cpu(cpu, *cpu_stream);
  attention.prepare_gpu(gpu());
  attention.run_gpu(gpu(), *gpu_stream);
  expect_close(attention.o, 0x1p-7, "o");
  expect_close(attention.log_sum_exp, 1e-4, "log_sum_exp");
  expect_close(attention.dv, 0x1p-7, "dv");
  for (Both<bf16>* gradient : {&attention.dq, &attention.dk}) {  // there is nothing to choose from
    for (const bf16 x : gradient->download()) EXPECT_LE(std::abs(static_cast<float>(x)), 1e-4f);
  }
  attention.check_guards();
}

TEST_F(GpuAttention, Float32AgreesWithTheCpu) {
  compare<float>(shape(2, 200, 4, 2, 64, DType::f32), 1e-5, 1e-5, 1e-6);
  compare<float>(shape(1, 129, 4, 4, 128, DType::f32), 1e-5, 1e-5, 1e-6);
}

TEST_F(GpuAttention, DeterministicModeAgreesWithTheCpu) {
  be_deterministic();
  compare_bf16(shape(2, 256, 12, 4, 64));
  compare_bf16(shape(1, 1000, 8, 2, 128));
}

TEST_F(GpuAttention, DeterministicModeGivesTheSameBitsTwice) {
  be_deterministic();
  Attention<bf16> attention(*gpu_stream, shape(2, is_emulated() ? 256 : 2048, 8, 2, 128));
  expect_same_bits(attention);
}

/// Our own kernels leave no order of summation to chance, with cuda.deterministic or without.
TEST_F(GpuAttention, GivesTheSameBitsTwiceWithinDocumentsByOurKernels) {
  set_cuda_settings({.document_attention = DocumentAttention::own});
  const AttentionShape s = shape(2, is_emulated() ? 512 : 1024, 8, 2, 128);
  Attention<bf16> attention(*gpu_stream, s, documents_of(s, {3, 1, 70, 300, 64}));
  ASSERT_NE(attention.why_not_by_cudnn(), "");
  expect_same_bits(attention);
}

/// Every pass of a run is timed on operands of its own; what was chosen gives the CPU's results, in workspaces of the
/// size that was planned before, and is taken again from its text.
TEST_F(GpuAttention, TimedChoicesAreReplayed) {
  const AttentionShape s = shape(2, 1024, 8, 2, 128);
  const std::vector<AttentionProblem> problems = {{s, AttentionPass::forward}, {s, AttentionPass::backward}};
  for (const AttentionProblem& problem : problems) {
    if (!has_attention_plan(*gpu_stream, problem)) GTEST_SKIP() << "cuDNN has no plan for " << text_of(problem);
  }
  const std::int64_t planned = gpu().attention_backward_workspace({.shape = s});
  const AlgorithmChoices choices = time_attention(*gpu_stream, problems);
  EXPECT_EQ(choices.platform, attention_platform(*gpu_stream));
  EXPECT_GT(choices.platform.library_version, 0u);
  ASSERT_EQ(choices.by_problem.size(), 2u);
  for (const AttentionProblem& problem : problems) {
    const AlgorithmChoice& choice = choices.by_problem.at(text_of(problem));
    EXPECT_FALSE(choice.algorithm.empty());
    EXPECT_GT(choice.microseconds, 0);
  }
  const log::SharedWarnings shared;
  for (int repetition = 0; repetition < 2; ++repetition) {
    use_attention_choices(parse_algorithm_choices(AlgorithmKind::attention, text_of(choices), "the text"));
    EXPECT_EQ(gpu().attention_backward_workspace({.shape = s}), planned);
    compare_bf16(s);
    use_attention_choices({});
    EXPECT_EQ(gpu().attention_backward_workspace({.shape = s}), planned);
  }
  EXPECT_TRUE(log::SharedWarnings::take().empty());
}

TEST_F(GpuAttention, CanBeCapturedInAGraph) {
  be_deterministic();
  Attention<bf16> attention(*gpu_stream, shape(1, 512, 8, 2, 128));
  attention.prepare_gpu(gpu());
  attention.run_gpu(gpu(), *gpu_stream);  // what is loaded at the first launch is loaded before the capture
  const std::vector<unsigned char> eager = attention.bytes();
  attention.poison(*gpu_stream);
  ASSERT_NE(attention.bytes(), eager);

  const auto stream = static_cast<cudaStream_t>(gpu_stream->native());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  attention.run_gpu(gpu(), *gpu_stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int replay = 0; replay < 2; ++replay) {
    attention.poison(*gpu_stream);
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(attention.bytes(), eager);
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
}  // namespace octet::gpu_test
