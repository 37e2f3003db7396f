// main of the MPI test programs: a test has passed only when it passed on every rank; rank 0 reports.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>

#include <cstdio>

namespace {

class AgreeOnFailures : public testing::EmptyTestEventListener {
  // Rank 0 has the usual printer; of the others only what failed is worth reading.
  void OnTestPartResult(const testing::TestPartResult& part) override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 || !part.failed()) return;
    std::fprintf(stderr, "[rank %d] %s:%d: Failure\n%s\n", rank, part.file_name() ? part.file_name() : "?",
                 part.line_number(), part.message());
  }

  void OnTestEnd(const testing::TestInfo& info) override {
    int failed = info.result()->Failed() ? 1 : 0, any = 0;
    // Polled, since MPICH's blocking calls spin, which takes long with more ranks than cores.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0; sched_yield()) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (any != 0 && failed == 0) ADD_FAILURE() << "failed on another rank";
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  testing::InitGoogleTest(&argc, argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    GTEST_FLAG_SET(output, "");
    delete listeners.Release(listeners.default_xml_generator());
  }
  auto* printer = listeners.default_result_printer();
  if (rank != 0) delete listeners.Release(printer);
  listeners.Append(new AgreeOnFailures);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
