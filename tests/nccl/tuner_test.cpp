// The tuner plugin inside the real NCCL, two ranks on one GPU. NCCL loads a tuner once in the life of a process, when
// it makes its first communicator, so that this needs a process of its own: jobs/gpu/ranks.sh gives it one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/device/buffer.h"
#include "tests/nccl/one_gpu.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t pinned_bytes = std::size_t{1} << 20, other_bytes = std::size_t{4} << 20;

/// Pins all_reduce of 1 to 2 MiB between two nodes of one rank; every ring and tree starts a second later.
std::string tuning_file(int version) {
  std::string latencies;
  for (const char* algorithm : {"tree", "ring"}) {
    for (const char* protocol : {"ll", "ll128", "simple"}) {
      latencies += fmt::format(R"({}{{"algorithm": "{}", "protocol": "{}", "us": 1e6}})", latencies.empty() ? "" : ", ",
                               algorithm, protocol);
    }
  }
  return fmt::format(
      R"({{"octet_tuning": 1, "cluster": "test", "fabric": "none", "nccl": "2.{}",)"
      R"( "provenance": {{"created": "", "tool": ""}}, "constants": {{"base_latency": [{}]}},)"
      R"( "choices": [{{"collective": "all_reduce", "nodes": [2, 3], "ranks_per_node": 1, "bytes": [{}, {}],)"
      R"( "algorithm": "ring", "protocol": "simple", "reason": ""}}]}})",
      version / 100 % 100, latencies, pinned_bytes, 2 * pinned_bytes);
}

/// What ncclGroupSimulateEnd says of one all_reduce.
float estimated_us(ncclComm_t comm, void* data, std::size_t bytes, cudaStream_t stream) {
  void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  void* const inside = library != nullptr ? library : RTLD_DEFAULT;
  const auto simulate = reinterpret_cast<decltype(&::ncclGroupSimulateEnd)>(dlsym(inside, "ncclGroupSimulateEnd"));
  if (simulate == nullptr) throw std::runtime_error("this NCCL has no ncclGroupSimulateEnd");
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_EQ(nccl_api().group_start(), ncclSuccess);
  EXPECT_EQ(nccl_api().all_reduce(data, data, bytes / 4, ncclFloat, ncclSum, comm, stream), ncclSuccess);
  EXPECT_EQ(simulate(&info), ncclSuccess);
  return info.estimatedTime;
}

TEST(TunerInNccl, IsLoadedAndItsFileDecides) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  if (std::getenv("NCCL_TUNER_PLUGIN") == nullptr)
    GTEST_SKIP() << "NCCL_TUNER_PLUGIN is not set; jobs/gpu/ranks.sh does";
  const auto cpu_stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*cpu_stream, "control");
  if (control->size() != 2) GTEST_SKIP() << "for two ranks";
  share_one_gpu();  // two nodes of one rank
  const auto stream = cuda_device(0).make_stream();
  int version = 0;
  ASSERT_EQ(nccl_api().get_version(&version), ncclSuccess);

  const fs::path folder = fs::temp_directory_path() / fmt::format("octet-tuner-{}", ::getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "tuning.json") << tuning_file(version);
  setenv("OCTET_TUNING_FILE", (folder / "tuning.json").c_str(), 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
  setenv("NCCL_DEBUG_FILE", (folder / "nccl.log").c_str(), 1);

  ncclUniqueId id{};
  if (control->rank() == 0) {
    ASSERT_EQ(nccl_api().get_unique_id(&id), ncclSuccess);
  }
  control->broadcast(&id, sizeof id, DType::u8, 0);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(nccl_api().comm_init_rank_config(&comm, 2, id, control->rank(), &config), ncclSuccess);
  {
    const Buffer data(cuda_device(0), other_bytes, Purpose::workspace);
    const auto native = static_cast<cudaStream_t>(stream->native());
    EXPECT_EQ(estimated_us(comm, data.as<char>(), pinned_bytes, native), 0) << "what is pinned costs nothing";
    const float other = estimated_us(comm, data.as<char>(), other_bytes, native);
    EXPECT_GT(other, version >= NCCL_VERSION(2, 28, 0) ? 1e6F : 0.0F) << "the constants of the file, since tuner v5";
  }
  EXPECT_EQ(nccl_api().comm_destroy(comm), ncclSuccess);
  std::ifstream log(folder / "nccl.log");
  const std::string lines{std::istreambuf_iterator<char>(log), {}};
  EXPECT_NE(lines.find("and 1 choice(s) for 2 ranks on 2 node(s)"), std::string::npos) << lines;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace octet::test
