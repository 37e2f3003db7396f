#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "kernels/cuda/attention/attention_fallback.h"
#include "kernels/cuda/attention/attention_plan.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "kernels/cuda/host/libraries.h"
#include "src/base/log.h"
#include "src/run_config/options/model_file.h"

namespace octet::cuda {
namespace {

/// What cuDNN's support check asks of a device, of an H100.
const DeviceDescription h100{.sm = 90, .properties = R"({"version": 1, "deviceVer": 900, "multiProcessorCount": 132,
    "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
    "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "regsPerBlock": 65536, "totalGlobalMem": 84942979072, "smClockRateKHz": 1980000,
    "l2CacheSize": 52428800, "maxBlockSize": [1024, 1024, 64], "memClockRateKHz": 2619000,
    "maxGridSize": [2147483647, 65535, 65535], "supportCoopLaunch": 1, "pciDeviceId": 0, "isTccDriver": 0,
    "cudaDeviceId": 0, "driverVer": 13000, "deviceName": "NVIDIA H100 80GB HBM3"})"};

AttentionPlanKey key_of(std::int64_t seq, std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim,
                        AttentionPass pass = AttentionPass::forward, bool deterministic = false) {
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  return {{1, seq, heads, kv_heads, head_dim, scale, DType::bf16}, pass, deterministic};
}

/// cuDNN without a device. Plans of one device, kept from test to test: each takes cuDNN about a second.
class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cudnn_library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (!why_no_nvrtc().empty()) GTEST_SKIP() << why_no_nvrtc();
    // The program's own run time looks for a driver first, so that the stand-in is cuDNN's alone.
    static const std::string before = why_no_cuda();
    static void* const driver = [] {
      void* real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
      return real != nullptr ? real : dlopen(OCTET_STAND_IN_DRIVER, RTLD_NOW | RTLD_GLOBAL);
    }();
    ASSERT_NE(driver, nullptr) << dlerror();
    ASSERT_EQ(why_no_cuda(), before);
  }

  static AttentionPlans& plans() {
    static auto& instance = *new AttentionPlans(h100);
    return instance;
  }

  static void expect_plan(const AttentionPlanKey& key) {
    const AttentionPlanResult& found = plans().find(key);
    const AttentionShape& s = key.shape;
    EXPECT_NE(found.plan, nullptr) << found.why_not << "\nsequence " << s.seq << ", heads " << s.heads << "/"
                                   << s.kv_heads << ", head dimension " << s.head_dim;
    const std::int64_t bytes = found.plan == nullptr ? 0 : found.plan->workspace();
    EXPECT_LE(bytes, attention_workspace_bound(key)) << text_of(key.problem());
  }
  static std::int64_t workspace(const AttentionPlanKey& key) {
    const AttentionPlanResult& found = plans().find(key);
    EXPECT_NE(found.plan, nullptr) << found.why_not;
    return found.plan == nullptr ? -1 : found.plan->workspace();
  }
};

/// heads, kv_heads, head_dim of every model in configs/models, and of the 405B on four GPUs.
std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> configured_shapes() {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> shapes;
  for (const auto& file : std::filesystem::directory_iterator(OCTET_SOURCE_DIR "/configs/models")) {
    const ModelConfig model = read_model(file.path().string());
    shapes.emplace_back(model.heads, model.kv_heads, model.head_dim);
    if (model.name == "405b") shapes.emplace_back(model.heads / 4, model.kv_heads / 4, model.head_dim);
  }
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  return shapes;
}

/// Its kernels are NVRTC's work: of the CUDA that this build is for, whatever other copies there are.
TEST_F(CudnnPlans, NvrtcTellsItsVersion) {
  EXPECT_EQ(nvrtc_version() / 10000, static_cast<std::size_t>(cuda_major));
}

TEST_F(CudnnPlans, EveryConfiguredModelHasThemOnAnH100) {
  const bool all = std::getenv("OCTET_TEST_LONG") != nullptr;  // a minute and a half instead of half of one
  const auto shapes = configured_shapes();
  ASSERT_GE(shapes.size(), 9u);
  ASSERT_NE(std::find(shapes.begin(), shapes.end(), std::tuple(32, 2, 128)), shapes.end());
  for (const auto& [heads, kv_heads, head_dim] : shapes) {
    for (const std::int64_t seq : {8192, 4096, 2048, 1024}) {
      expect_plan(key_of(seq, heads, kv_heads, head_dim));
      expect_plan(key_of(seq, heads, kv_heads, head_dim, AttentionPass::backward));
      if (!all && heads / kv_heads != 3) break;  // one of each head dimension at every length: 160M and 3.2B
    }
  }
}

/// Beside dq in fp32, 4 bytes, cuDNN keeps dk and dv of each query head in 16 bits, 2 + 2 bytes.
TEST_F(CudnnPlans, BackwardTakesMemoryInProportionToTheSequence) {
  for (const std::int64_t seq : {4096, 8192}) {
    const std::int64_t bytes = workspace(key_of(seq, 32, 8, 128, AttentionPass::backward));
    EXPECT_GE(bytes, 8 * 32 * seq * 128);
    EXPECT_LE(bytes, 9 * 32 * seq * 128);
  }
  EXPECT_LE(workspace(key_of(8192, 32, 8, 128)), 4096);  // forward: next to none
}

/// The price of the mode, which the memory plan must hold: the gradient of every score in 16 bits.
TEST_F(CudnnPlans, DeterministicBackwardTakesMemoryInProportionToItsSquare) {
  for (const auto& [seq, heads, kv_heads] : {std::tuple{4096, 32, 8}, {8192, 32, 8}, {8192, 64, 8}, {8192, 32, 2}}) {
    const std::int64_t scores = std::int64_t{2} * heads * seq * seq;
    const std::int64_t bytes = workspace(key_of(seq, heads, kv_heads, 128, AttentionPass::backward, true));
    EXPECT_GE(bytes, scores);
    EXPECT_LE(bytes, scores + std::int64_t{8} * heads * seq * 128);
    EXPECT_LE(bytes, attention_workspace_bound(key_of(seq, heads, kv_heads, 128, AttentionPass::backward, true)));
  }
}

/// There is something to choose from, and the gate of the memory plan is not shut by a few bytes: of an 8B block's
/// backward pass both proposals keep to it, of a long sequence's the first alone.
TEST_F(CudnnPlans, SeveralAreProposed) {
  const auto fit = [](const AttentionPlanKey& key) {
    const AttentionGraphResult made = make_attention_graph(key, &h100);
    std::vector<bool> all;
    if (made.graph == nullptr) return all;
    for (std::size_t i = 0; i < made.graph->proposals().size(); ++i) {
      all.push_back(made.graph->build(i)->workspace() <= attention_workspace_bound(key));
    }
    return all;
  };
  const std::vector<bool> forward = fit(key_of(8192, 32, 8, 128));
  EXPECT_GE(forward.size(), 2u);
  EXPECT_EQ(std::ranges::count(forward, false), 0);
  const std::vector<bool> backward = fit(key_of(8192, 32, 8, 128, AttentionPass::backward));
  EXPECT_GE(backward.size(), 2u);
  EXPECT_EQ(std::ranges::count(backward, false), 0);
  const std::vector<bool> longer = fit(key_of(32768, 32, 8, 128, AttentionPass::backward));
  ASSERT_FALSE(longer.empty());
  EXPECT_TRUE(longer.front());
}

/// Rows of several documents, forward and backward, within what is planned for them.
TEST_F(CudnnPlans, DocumentsHaveThemToo) {
  const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> models = {
      {32, 8, 128}, {12, 4, 64}, {16, 16, 64}};
  for (const auto& [heads, kv_heads, head_dim] : models) {
    for (const auto& [documents, longest] : {std::pair{4, 8192}, {64, 2048}, {1024, 512}}) {
      for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
        AttentionPlanKey key = key_of(8192, heads, kv_heads, head_dim, pass);
        key.documents = documents;
        key.longest = longest;
        const AttentionPlanResult& found = plans().find(key);
        ASSERT_NE(found.plan, nullptr) << found.why_not;
        EXPECT_LE(found.plan->workspace(), document_workspace_bound(key.problem(), documents))
            << text_of(key.problem()) << ", " << documents << " documents";
      }
      if (heads != 32) break;
    }
  }
}

TEST(CudaAttention, OfDocumentsNothingIsPlannedThatCudnnCannotUse) {
  const std::int32_t begin = 0;
  const auto planned = [&](const AttentionShape& shape) {
    return attention_forward_workspace({.shape = shape, .documents = {.begin = &begin}});
  };
  AttentionShape shape = key_of(256, 4, 2, 64).shape;
  EXPECT_GT(planned(shape), 0);
  shape.dtype = DType::f32;
  EXPECT_EQ(planned(shape), 0);
  EXPECT_EQ(planned(key_of(256, 4, 2, 72).shape), 0);
}

TEST(CudaAttention, DocumentsOfAnOddHeadDimensionGoToOurKernels) {
  AttentionPlans plans(h100);
  AttentionPlanKey key = key_of(256, 4, 2, 72);
  key.documents = 4;
  key.longest = 256;
  const log::SharedWarnings shared;
  EXPECT_EQ(plans.find(key).plan, nullptr);
  EXPECT_NE(plans.find(key).why_not.find("multiple of 16"), std::string::npos);
}

TEST(CudaAttention, ListsOfDocumentsHaveFewSizes) {
  EXPECT_EQ(document_places(1), 4);
  EXPECT_EQ(document_places(4), 4);
  EXPECT_EQ(document_places(5), 16);
  EXPECT_EQ(document_places(1025), 4096);
  EXPECT_EQ(document_length(8192, 8192), 8192);
  EXPECT_EQ(document_length(2048, 8192), 2048);
  EXPECT_EQ(document_length(2049, 8192), 8192);
  EXPECT_EQ(document_length(100, 8192), 512);
  EXPECT_EQ(document_length(1, 3), 3);
}

TEST_F(CudnnPlans, AChoiceIsFoundByItsName) {
  const AttentionPlanKey key = key_of(1024, 4, 2, 64);
  const AttentionGraphResult made = make_attention_graph(key, &h100);
  ASSERT_NE(made.graph, nullptr) << made.why_not;
  const std::string last = made.graph->proposals().back();
  AttentionPlans fresh(h100);
  EXPECT_EQ(fresh.find(key).plan->engine(), made.graph->proposals().front());
  fresh.use({.platform = {}, .by_problem = {{text_of(key.problem()), {last, 1}}}});
  EXPECT_EQ(fresh.find(key).plan->engine(), last);
}

TEST_F(CudnnPlans, AreBuiltOnce) {
  AttentionPlans fresh(h100);
  const AttentionPlanResult* first = &fresh.find(key_of(1024, 4, 2, 64));
  EXPECT_EQ(&fresh.find(key_of(1024, 4, 2, 64, AttentionPass::forward, true)), first) << "forward has one mode";
  EXPECT_EQ(fresh.size(), 1u);
  const AttentionPlanResult* backward = &fresh.find(key_of(1024, 4, 2, 64, AttentionPass::backward));
  const AttentionPlanResult* other_mode = &fresh.find(key_of(1024, 4, 2, 64, AttentionPass::backward, true));
  EXPECT_NE(backward, other_mode);
  EXPECT_EQ(fresh.size(), 3u);
  EXPECT_NE(first->plan, nullptr) << first->why_not;
}

TEST_F(CudnnPlans, AreNotForThisDevice) {
  const AttentionPlanResult& found = plans().find(key_of(8192, 32, 8, 128));
  ASSERT_NE(found.plan, nullptr);
  EXPECT_THROW(found.plan->execute(nullptr, std::vector<void*>(5), nullptr), Error);
}

TEST_F(CudnnPlans, BackwardOfALargeHeadGoesToTheFallback) {
  const AttentionPlanResult& found = plans().find(key_of(4096, 8, 8, 512, AttentionPass::backward));
  EXPECT_EQ(found.plan, nullptr);
  EXPECT_NE(found.why_not.find("256"), std::string::npos) << found.why_not;
}

/// Without a look at cuDNN, so this is the same on every machine.
TEST(CudaAttention, Float32GoesToTheFallbackWithOneMessage) {
  AttentionPlans plans(h100);
  AttentionPlanKey key = key_of(256, 4, 2, 64);
  key.shape.dtype = DType::f32;
  const log::SharedWarnings shared;  // every rank of a run has it
  testing::internal::CaptureStderr();
  EXPECT_EQ(plans.find(key).plan, nullptr);
  key.shape.seq = 512;
  key.pass = AttentionPass::backward;
  EXPECT_EQ(plans.find(key).plan, nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::vector<std::string> said = log::SharedWarnings::take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("f32"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("tensor cores"), std::string::npos) << said[0];

  EXPECT_EQ(attention_forward_workspace({.shape = key.shape}), 0);
  EXPECT_EQ(attention_backward_workspace({.shape = key.shape}), fallback_attention_backward_workspace(key.shape));
}

/// What the memory plan keeps where no GPU can be asked.
TEST(CudaAttention, WithoutAGpuItsWorkspaceIsTheBound) {
  if (why_no_cuda().empty()) GTEST_SKIP() << "this machine has a GPU";
  const AttentionPlanKey forward = key_of(4096, 32, 8, 128),
                         backward = key_of(4096, 32, 8, 128, AttentionPass::backward);
  EXPECT_EQ(attention_forward_workspace({.shape = forward.shape}), attention_workspace_bound(forward));
  EXPECT_EQ(attention_backward_workspace({.shape = backward.shape}), attention_workspace_bound(backward));
  EXPECT_GE(attention_workspace_bound(backward), 8 * 32 * 4096 * 128);
  AttentionShape odd = backward.shape;  // for which cuDNN is not asked at all
  odd.heads = odd.kv_heads = 1, odd.seq = 67;
  EXPECT_EQ(attention_backward_workspace({.shape = odd}), fallback_attention_backward_workspace(odd));
}

/// The run time that cudnn-frontend asks for is the one of this program, whatever lies on the machine.
TEST(CudaAttention, FrontendUsesTheLinkedRunTime) {
  void* const run_time = open_for_cudnn(fmt::format("libcudart.so.{}", cuda_major).c_str(), RTLD_NOW);
  EXPECT_EQ(symbol_for_cudnn(run_time, "cudaGetLastError"), reinterpret_cast<void*>(&cudaGetLastError));
  EXPECT_EQ(symbol_for_cudnn(run_time, "cudaNoSuchFunction"), nullptr);
  EXPECT_EQ(open_for_cudnn(fmt::format("libcudart.so.{}", cuda_major - 1).c_str(), RTLD_NOW), nullptr)
      << "two would be a warning";
  void* const maths = open_for_cudnn("libm.so.6", RTLD_NOW);
  ASSERT_NE(maths, nullptr);
  EXPECT_NE(symbol_for_cudnn(maths, "cos"), nullptr);
}

}  // namespace
}  // namespace octet::cuda
