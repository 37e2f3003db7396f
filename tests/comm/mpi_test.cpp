// What is special to the mpi backend.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "src/comm/mpi/host_reductions.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/mpi/mpi_runtime.h"

namespace octet {
namespace {

TEST(MpiBytes, BeyondAnIntIsOneElementOfTheSameSize) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{7}, std::int64_t{INT32_MAX}}) {
    const MpiBytes plain(bytes);
    EXPECT_EQ(plain.count(), bytes);
    EXPECT_EQ(plain.type(), MPI_BYTE);
  }
  for (const std::int64_t bytes : {std::int64_t{INT32_MAX} + 1, std::int64_t{5'000'000'001}, std::int64_t{1} << 40}) {
    const MpiBytes big(bytes);
    MPI_Count size = 0, lower = 0, extent = 0;
    MPI_Type_size_x(big.type(), &size);
    MPI_Type_get_extent_x(big.type(), &lower, &extent);
    EXPECT_EQ(big.count(), 1);
    EXPECT_EQ(size, bytes);
    EXPECT_EQ(extent, bytes) << "pieces of an all-gather must lie side by side";
    EXPECT_EQ(lower, 0);
  }
}

TEST(MpiBytes, TheMadeTypeCarriesAllBytesInPlace) {
  for (const std::int64_t bytes : {std::int64_t{9}, std::int64_t{10}, std::int64_t{23}, std::int64_t{1000}}) {
    const MpiBytes made(bytes, 8);
    ASSERT_EQ(made.count(), 1);
    std::vector<std::uint8_t> from(static_cast<std::size_t>(2 * bytes)), to(from.size(), 0xEE);
    std::iota(from.begin(), from.end(), std::uint8_t{1});
    MPI_Sendrecv(from.data(), 2, made.type(), 0, 0, to.data(), 2, made.type(), 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    EXPECT_EQ(to, from) << bytes;
  }
}

TEST(MpiCommunicator, MoreThanTwoGigabytesAPiece) {
  if (std::getenv("OCTET_TEST_LONG") == nullptr) GTEST_SKIP() << "needs 9 GB; set OCTET_TEST_LONG=1";
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  if (world->size() != 2) GTEST_SKIP() << "for two ranks";
  const std::int64_t count = std::int64_t{INT32_MAX} + 1001;
  const int peer = 1 - world->rank();
  const auto value = [](int rank, std::int64_t i) { return static_cast<std::uint8_t>(i % 251 + rank); };
  std::vector<std::uint8_t> all(static_cast<std::size_t>(2 * count));
  std::uint8_t* own = all.data() + world->rank() * count;
  for (std::int64_t i = 0; i < count; ++i) own[i] = value(world->rank(), i);
  const auto wrong = [&] {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < count; ++i) n += all[static_cast<std::size_t>(peer * count + i)] != value(peer, i);
    return n;
  };
  world->all_gather(own, all.data(), count, DType::u8);
  EXPECT_EQ(wrong(), 0);
  std::fill_n(all.begin() + peer * count, count, std::uint8_t{0});
  world->group_begin();
  world->send(own, count, DType::u8, peer);
  world->recv(all.data() + peer * count, count, DType::u8, peer);
  world->group_end();
  EXPECT_EQ(wrong(), 0);
}

TEST(RankOrder, FoldsFromTheLeft) {
  const float big = 1e8f, small = 3.0f;  // (1e8 + 3) + 3 is not 1e8 + (3 + 3)
  const float* from[] = {&big, &small, &small};
  float out = 0;
  sum_in_rank_order(from, &out, 1);
  EXPECT_EQ(out, (1e8f + 3.0f) + 3.0f);
  EXPECT_NE(out, 1e8f + (3.0f + 3.0f));
}

TEST(RankOrder, StartsWithTheFirstValueAndMayWriteOverAnyInput) {
  std::vector<float> a{-0.0f}, b{-0.0f};
  const float* from[] = {a.data(), b.data()};
  sum_in_rank_order(from, b.data(), 1);
  EXPECT_TRUE(std::signbit(b[0])) << "-0 + -0 is -0; a sum that starts with 0 gives +0";
  for (const std::size_t over : {0u, 1u, 2u}) {
    std::vector<std::vector<float>> x(3, std::vector<float>(3000));
    for (std::size_t r = 0; r < 3; ++r) std::iota(x[r].begin(), x[r].end(), static_cast<float>(r));
    const float* inputs[] = {x[0].data(), x[1].data(), x[2].data()};
    sum_in_rank_order(inputs, x[over].data(), 3000);
    for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(x[over][i], static_cast<float>(3 * i + 3));
  }
}

/// Calls of MPI from one point to another, and of its own reduction, since a test set them to 0.
int points = 0, reductions = 0;

/// What ranks agree on, all with all: with 512 of them, messages between all pairs are 261,632.
TEST(MpiCommunicator, ExactReductionsDoNotGoBetweenAllPairs) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  if (world->size() == 1) GTEST_SKIP() << "nothing goes anywhere";
  constexpr std::int64_t count = 100'000;  // far above what an all-gather would do
  const auto expect_one = [&](auto first, DType dtype, ReduceOp op, auto expected) {
    std::vector<decltype(first)> x(count, first);
    points = reductions = 0;
    world->all_reduce(x.data(), count, dtype, op);
    EXPECT_EQ(points, 0);
    EXPECT_EQ(reductions, 1);
    EXPECT_EQ(std::ranges::count(x, expected), count);
  };
  const int rank = world->rank(), last = world->size() - 1;
  expect_one(std::int32_t{rank}, DType::i32, ReduceOp::max, std::int32_t{last});
  expect_one(std::int32_t{rank}, DType::i32, ReduceOp::sum, std::int32_t{last * (last + 1) / 2});
  expect_one(static_cast<float>(rank), DType::f32, ReduceOp::max, static_cast<float>(last));
  // Integers wrap.
  std::int32_t x = rank == 0 ? INT32_MAX : rank == 1 ? 1 : 0;
  world->all_reduce(&x, 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(x, INT32_MIN);
}

/// The same bits on all ranks, whatever each began with.
TEST(MpiCommunicator, AMaximumHasTheSameBitsOnAllRanks) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  const int rank = world->rank();
  const auto nan = [](std::uint32_t payload) { return std::bit_cast<float>(0x7fc00000u + payload); };
  std::vector<float> x = {rank % 2 == 0 ? 0.0f : -0.0f, nan(static_cast<std::uint32_t>(rank)),
                          static_cast<float>(rank)};
  world->all_reduce(x.data(), 3, DType::f32, ReduceOp::max);
  std::vector<float> all(static_cast<std::size_t>(3 * world->size()));
  world->all_gather(x.data(), all.data(), 3, DType::f32);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(all[i]), std::bit_cast<std::uint32_t>(all[i % 3])) << i;
  }
  if (world->size() > 1) {
    EXPECT_FALSE(std::signbit(all[0]));
  }
  EXPECT_TRUE(std::isnan(all[1]));
}

EnvironmentReader environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

/// Whether a lone rank with these variables is refused.
bool is_refused(int mpi_size, std::map<std::string, std::string> variables) {
  return !launch_contradiction(mpi_size, environment(std::move(variables))).empty();
}

TEST(Singletons, AreToldFromShellsAndSingleRanks) {
  const std::string step = "SLURM_STEP_ID", tasks = "SLURM_NTASKS", of_step = "SLURM_STEP_NUM_TASKS";
  EXPECT_TRUE(is_refused(1, {{step, "0"}, {tasks, "8"}, {"SLURM_PROCID", "3"}}));
  EXPECT_TRUE(is_refused(1, {{step, "0"}, {tasks, "8"}, {of_step, "8"}}));
  EXPECT_TRUE(is_refused(1, {{step, "0"}, {tasks, "8"}, {"PMI_SIZE", "8"}})) << "another MPI's PMI";
  EXPECT_FALSE(is_refused(8, {{step, "0"}, {tasks, "8"}})) << "a real job";
  EXPECT_FALSE(is_refused(1, {})) << "no Slurm";
  EXPECT_FALSE(is_refused(1, {{tasks, "8"}, {"SLURM_PROCID", "0"}})) << "shell of sbatch or salloc";
  EXPECT_FALSE(is_refused(1, {{step, "0"}, {tasks, "1"}})) << "srun -n 1";
  EXPECT_FALSE(is_refused(1, {{step, "4294967290"}, {tasks, "8"}, {of_step, "1"}})) << "interactive";
  EXPECT_FALSE(is_refused(1, {{step, "0"}, {tasks, "2"}, {"PMI_SIZE", "1"}})) << "mpiexec -n 1";
}

TEST(Singletons, OfOtherLaunchersAreRefusedByName) {
  const auto why = [](std::map<std::string, std::string> variables) {
    return launch_contradiction(1, environment(std::move(variables)));
  };
  const std::string open_mpi = why({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}});
  for (const char* part : {"Open MPI's mpirun started 4 processes", "OMPI_COMM_WORLD_SIZE=4", "MPICH's mpiexec"}) {
    EXPECT_NE(open_mpi.find(part), std::string::npos) << open_mpi;
  }
  EXPECT_TRUE(is_refused(1, {{"PMI_SIZE", "2"}}));
  EXPECT_TRUE(is_refused(1, {{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "prterun-1"}}));
  EXPECT_FALSE(is_refused(1, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}})) << "mpirun -n 1";
  EXPECT_FALSE(is_refused(2, {{"PMIX_RANK", "1"}, {"PMI_SIZE", "2"}})) << "ranks that have found each other";
}

TEST(NodeName, IsSlurmsOnlyUnderSrunItself) {
  EXPECT_EQ(node_name("host", environment({})), "host");
  EXPECT_EQ(node_name("host", environment({{"SLURMD_NODENAME", "n1"}, {"SLURM_STEP_ID", "0"}})), "n1");
  EXPECT_EQ(node_name("host", environment({{"SLURMD_NODENAME", "n1"}})), "host");
  EXPECT_EQ(
      node_name("host", environment({{"SLURMD_NODENAME", "n1"}, {"SLURM_STEP_ID", "0"}, {"MPI_LOCALNRANKS", "2"}})),
      "host");
}

TEST(MpiCommunicator, RanksOfANodeAreThoseThatNameItAlike) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  const std::string name = world->rank() % 2 == 0 ? "even" : "odd";
  // As srun starts a rank; its own launcher says that all share a machine.
  const char* launcher = std::getenv("MPI_LOCALNRANKS");
  const std::string before = launcher == nullptr ? "" : launcher;
  unsetenv("MPI_LOCALNRANKS");
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURMD_NODENAME", name.c_str(), 1);
  const auto node = world->split_by_node("node");
  unsetenv("SLURM_STEP_ID");
  unsetenv("SLURMD_NODENAME");
  if (launcher != nullptr) setenv("MPI_LOCALNRANKS", before.c_str(), 1);
  EXPECT_EQ(node->rank(), world->rank() / 2);
  EXPECT_EQ(node->size(), (world->size() + (world->rank() % 2 == 0 ? 1 : 0)) / 2);
  float odd = static_cast<float>(world->rank() % 2);
  node->all_reduce(&odd, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(odd, name == "odd" ? static_cast<float>(node->size()) : 0);
}

}  // namespace
}  // namespace octet

// In place of MPI's own, which they call.
extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++octet::points;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  ++octet::points;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  ++octet::reductions;
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
}
