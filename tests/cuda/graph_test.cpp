// How a CUDA graph is made of what a stream is given, and what is left behind where that fails: with a stand-in for
// CUDA's functions, which has their rules.
#include "src/device/cuda/cuda_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/base/error.h"

namespace octet::cuda {
namespace {

/// Calls in their order, and what they answer.
struct FakeGraphs {
  std::string calls;
  cudaError_t begin = cudaSuccess, end = cudaSuccess, instantiate = cudaSuccess, upload = cudaSuccess,
              launch = cudaSuccess;
  bool capturing = false;
  int graphs = 0, executables = 0;  ///< that are alive
  cudaError_t last = cudaSuccess;

  static FakeGraphs& get() {
    static FakeGraphs instance;
    return instance;
  }
  cudaError_t called(const char* name, cudaError_t status) {
    calls += std::string(calls.empty() ? "" : " ") + name;
    if (status != cudaSuccess) last = status;
    return status;
  }
};

int place;  // what handles point at

GraphApi fake_api() {
  GraphApi api;
  api.begin = [](cudaStream_t) {
    FakeGraphs& f = FakeGraphs::get();
    f.capturing = f.begin == cudaSuccess;
    return f.called("begin", f.begin);
  };
  api.end = [](cudaStream_t, cudaGraph_t* graph) {
    FakeGraphs& f = FakeGraphs::get();
    EXPECT_TRUE(f.capturing) << "a capture that was not begun is ended";
    f.capturing = false;
    *graph = nullptr;  // of a capture that was invalidated
    if (f.end == cudaSuccess) {
      *graph = reinterpret_cast<cudaGraph_t>(&place);
      ++f.graphs;
    }
    return f.called("end", f.end);
  };
  api.instantiate = [](cudaGraphExec_t* executable, cudaGraph_t graph) {
    FakeGraphs& f = FakeGraphs::get();
    EXPECT_NE(graph, nullptr);
    if (f.instantiate == cudaSuccess) {
      *executable = reinterpret_cast<cudaGraphExec_t>(&place);
      ++f.executables;
    }
    return f.called("instantiate", f.instantiate);
  };
  api.upload = [](cudaGraphExec_t, cudaStream_t) {
    return FakeGraphs::get().called("upload", FakeGraphs::get().upload);
  };
  api.launch = [](cudaGraphExec_t, cudaStream_t) {
    return FakeGraphs::get().called("launch", FakeGraphs::get().launch);
  };
  api.wait = [] { return FakeGraphs::get().called("wait", cudaSuccess); };
  api.destroy = [](cudaGraph_t) {
    --FakeGraphs::get().graphs;
    return FakeGraphs::get().called("destroy", cudaSuccess);
  };
  api.destroy_executable = [](cudaGraphExec_t) {
    --FakeGraphs::get().executables;
    return FakeGraphs::get().called("destroy_executable", cudaSuccess);
  };
  api.forget_error = [] { return std::exchange(FakeGraphs::get().last, cudaSuccess); };
  return api;
}

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  void expect_nothing_left() const {
    EXPECT_FALSE(fake.capturing);
    EXPECT_EQ(fake.graphs, 0);
    EXPECT_EQ(fake.executables, 0);
    EXPECT_EQ(fake.last, cudaSuccess) << "the next launch would report it";
  }
  std::unique_ptr<Graph> make() {
    return make_graph(
        *stream_, [this] { EXPECT_TRUE(fake.capturing) << "work outside the capture is done"; }, api_);
  }

  FakeGraphs& fake = FakeGraphs::get();
  GraphApi api_ = fake_api();
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
};

TEST_F(CudaGraphs, AreCapturedUploadedAndLaunched) {
  auto graph = make();
  EXPECT_EQ(fake.calls, "begin end instantiate destroy upload");
  EXPECT_EQ(fake.executables, 1);
  fake.calls.clear();
  graph->launch(*stream_);
  graph->launch(*stream_);
  graph.reset();
  EXPECT_EQ(fake.calls, "launch launch wait destroy_executable") << "one under way may not end";
  expect_nothing_left();
}

TEST_F(CudaGraphs, OfWorkThatThrowsAreNone) {
  EXPECT_THROW(make_graph(
                   *stream_, [] { throw internal_error("tests", "refused"); }, api_),
               Error);
  EXPECT_EQ(fake.calls, "begin end destroy");
  expect_nothing_left();
}

/// As CUDA refuses a wait, memory that is taken, or a stream that was forked and not joined.
TEST_F(CudaGraphs, OfACaptureThatBrokeARuleAreNone) {
  fake.end = cudaErrorStreamCaptureUnjoined;
  try {
    make();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cudaErrorStreamCaptureUnjoined"), std::string::npos) << error.what();
  }
  EXPECT_EQ(fake.calls, "begin end");
  expect_nothing_left();
}

TEST_F(CudaGraphs, ThatCannotBeMadeLeaveNothing) {
  fake.begin = cudaErrorStreamCaptureUnsupported;
  EXPECT_THROW(make(), Error);
  EXPECT_EQ(fake.calls, "begin");
  expect_nothing_left();
  fake = {};
  fake.instantiate = cudaErrorMemoryAllocation;
  EXPECT_THROW(make(), Error);
  EXPECT_EQ(fake.calls, "begin end instantiate destroy");
  expect_nothing_left();
  fake = {};
  fake.upload = cudaErrorMemoryAllocation;
  EXPECT_THROW(make(), Error);
  EXPECT_EQ(fake.calls, "begin end instantiate destroy upload destroy_executable");
  expect_nothing_left();
}

/// The device may hang, which is no reason for the end of the process to.
TEST_F(CudaGraphs, AreNotWaitedForWhereAnErrorIsOnItsWay) {
  try {
    const auto graph = make();
    fake.calls.clear();
    throw internal_error("tests", "a peer is lost");
  } catch (const Error&) {
  }
  EXPECT_EQ(fake.calls, "");
}

TEST_F(CudaGraphs, TellOfALaunchThatFails) {
  const auto graph = make();
  fake.launch = cudaErrorLaunchFailure;
  EXPECT_THROW(graph->launch(*stream_), Error);
}

}  // namespace
}  // namespace octet::cuda
