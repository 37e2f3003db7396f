// A token file that is cut off while a run reads it: the page that is gone is a signal, which says nothing by itself.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

TEST(CutOffData, IsToldWithItsFile) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    for (const char* end : {".bin", ".idx", ".data.json"}) {
      fs::copy_file(workplace() / ("data/text" + std::string(end)), workplace() / ("data/cut" + std::string(end)),
                    fs::copy_options::overwrite_existing);
    }
    const std::string directory = new_run_directory();
    write_bytes(workplace() / "cut.sh", fmt::format("{} & job=$!\n"
                                                    "until [[ -s {}/metrics.jsonl ]]; do sleep 0.05; done\n"
                                                    "truncate -s 10 data/cut.bin\n"
                                                    "wait $job\n",
                                                    launched(ranks, "run.yaml --run.dir " + directory +
                                                                        " --data.train data/cut --train.steps 1000000"),
                                                    directory));
    const CommandResult r = in_workplace("timeout 60 bash cut.sh", 90);
    EXPECT_EQ(r.exit_code, 70) << r.all();
    EXPECT_HAS(r.err, "data/cut.bin");
    EXPECT_EQ((TrainedRun{r, directory}).status()["state"], "failed");
    EXPECT_HAS(read_bytes(workplace() / (directory + "/failure.txt")), "data/cut.bin");
  }
}

}  // namespace
}  // namespace octet::test
