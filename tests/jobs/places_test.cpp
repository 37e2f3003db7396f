#include <sys/stat.h>
#include <unistd.h>

#include "tests/jobs/job.h"

// Where the programs write, with which permissions, and through which names they do not.
namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// A place to work in, a home and a folder for temporary files, all empty, beside the folder of the outputs.
class Places : public testing::Test {
 protected:
  Places() {
    for (const char* name : {"here", "home", "tmp"}) fs::create_directory(folder_ / name);
  }

  CommandResult run(const std::string& command, const std::string& before = "umask 027") const {
    return run_command(fmt::format("{} && cd {}/here && export HOME={}/home TMPDIR={}/tmp OMP_NUM_THREADS=1 && exec {}",
                                   before, folder_.path(), folder_.path(), folder_.path(), command));
  }
  /// A run of two ranks with checkpoints and a profile, in `out/run`.
  CommandResult train(const std::string& arguments = "", const std::string& data = workplace() / "data/text") const {
    return run(launched(2, fmt::format("{0}/run.yaml --data.train {3} --run.dir {1}/out/run --train.steps 6 "
                                       "--checkpoint.interval 3 --train.profile 2-3 --comm.trace true {2}",
                                       workplace().path(), folder_.path(), arguments, data)));
  }
  void expect_nothing_elsewhere() const {
    for (const char* name : {"here", "home", "tmp"}) EXPECT_TRUE(fs::is_empty(folder_ / name)) << name;
  }
  /// As umask 027 leaves it: nothing for others, no writing for the group.
  void expect_permissions_of_the_umask(const fs::path& in) const {
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(in)) {
      struct stat info {};
      ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
      const mode_t mode = info.st_mode & 0777;
      EXPECT_TRUE(mode == (entry.is_directory() ? 0750U : 0640U) || (entry.is_regular_file() && mode == 0750U))
          << entry.path() << " has " << fmt::format("{:04o}", mode);
      ++files;
    }
    EXPECT_GT(files, 0);
  }

  TempFolder folder_;
};

TEST_F(Places, ARunWritesIntoItsDirectoryByTheUmask) {
  const CommandResult r = train();
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_TRUE(fs::exists(folder_ / "out/run/checkpoints"));
  expect_nothing_elsewhere();
  expect_permissions_of_the_umask(folder_ / "out");
}

TEST_F(Places, ARunWritesNothingBesideItsData) {
  write_bytes(folder_ / "small.yaml", std::string(tiny_model).replace(std::string(tiny_model).find("256"), 3, "200"));
  for (const char* end : {".bin", ".idx"}) {  // as they come from elsewhere: nothing is known of their ids
    write_bytes(folder_ / (std::string("data/text") + end), read_bytes(workplace() / "data/text" + end));
  }
  const CommandResult r = train("--model " + (folder_ / "small.yaml"), folder_ / "data/text");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.all(), "remembered in " + folder_.path() + "/out/run/token-ranges/");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "data"), {}), 2);
  expect_nothing_elsewhere();
  expect_permissions_of_the_umask(folder_ / "out");
}

TEST_F(Places, PrepareAndExportWriteWhatIsNamedByTheUmask) {
  const std::string octet = OCTET_BIN_DIR "/octet ";
  const std::string out = folder_.path() + "/out/";
  ASSERT_EQ(run(octet + "prepare --input " + (workplace() / "text") + " --output " + out + "data").exit_code, 0);
  ASSERT_EQ(train().exit_code, 0);
  const CommandResult exported = run(octet + "checkpoint export " + out + "run " + out + "hf");
  ASSERT_EQ(exported.exit_code, 0) << exported.all();
  expect_nothing_elsewhere();
  expect_permissions_of_the_umask(folder_ / "out");
}

TEST_F(Places, AFileOfARunIsNotWrittenThroughALink) {
  write_bytes(folder_ / "precious", "mine");
  for (const char* name : {"metrics.jsonl", "status.json", "config.yaml"}) {
    fs::remove_all(folder_ / "out");
    fs::create_directories(folder_ / "out/run");
    fs::create_symlink(folder_ / "precious", folder_ / (std::string("out/run/") + name));
    const CommandResult r = train();
    EXPECT_EQ(read_bytes(folder_ / "precious"), "mine") << name << "\n" << r.all();
  }
}

/// One that goes on adds to its metrics.
TEST_F(Places, ARunDoesNotGoOnThroughALink) {
  ASSERT_EQ(train().exit_code, 0);
  fs::rename(folder_ / "out/run/metrics.jsonl", folder_ / "precious");
  fs::create_symlink(folder_ / "precious", folder_ / "out/run/metrics.jsonl");
  const std::string before = read_bytes(folder_ / "precious");
  const CommandResult r = run(launched(2, fmt::format("{0}/run.yaml --data.train {0}/data/text --run.dir {1}/out/run "
                                                      "--train.steps 8 --checkpoint.interval 3 --comm.trace true",
                                                      workplace().path(), folder_.path())));
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_HAS(r.err, "/checkpoints/step-000006: step 6");
  EXPECT_HAS(r.err, "out/run/metrics.jsonl: cannot be written: a symbolic link is not followed");
  EXPECT_EQ(read_bytes(folder_ / "precious"), before);
}

TEST_F(Places, ALinkThatIsNotFollowedIsNamed) {
  write_bytes(folder_ / "precious", "mine");
  const std::string in_shared_memory = fmt::format("/dev/shm/octet-places-{}", ::getpid());
  for (const std::string& link : {folder_ / "trace.jsonl", in_shared_memory}) {
    fs::create_symlink(folder_ / "precious", link);
    const CommandResult r =
        run(fmt::format("{0} --dry-run --ranks 2 --trace {1} {2}/run.yaml --data.train {2}/data/text --run.dir {3}/run",
                        octet_train, link, workplace().path(), folder_.path()));
    fs::remove(link);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.all(), "a symbolic link is not followed");
    EXPECT_EQ(read_bytes(folder_ / "precious"), "mine");
  }
}

}  // namespace
}  // namespace octet::test
