#include "src/cluster/container.h"

#include <gtest/gtest.h>

#include "tests/data/support.h"

namespace octet {
namespace {

using Words = std::vector<std::string>;

const ContainerUse use{.folders = {"/data/english", "/home/me", "/home/me/configs", "/scratch/runs/a", "/tmp"},
                       .workdir = "/home/me"};

ContainerProfile container(ContainerRuntime runtime) {
  return {.image = "/images/octet.img",
          .runtime = runtime,
          .mounts = {"/scratch:/scratch", "/opt/nccl:/nccl:ro"},
          .workdir = "",
          .programs = "/opt/octet/bin",
          .options = {}};
}

TEST(Container, MountsWhatAJobNeedsOnce) {
  // /home/me/configs is within /home/me, and /scratch/runs/a below what the profile mounts.
  EXPECT_EQ(container_mounts(container(ContainerRuntime::pyxis), use),
            (Words{"/scratch:/scratch", "/opt/nccl:/nccl:ro", "/data/english:/data/english", "/home/me:/home/me",
                   "/tmp:/tmp"}));
  ContainerProfile elsewhere = container(ContainerRuntime::pyxis);
  elsewhere.mounts = {"/scratch:/work", "/tmpfs:/tmpx"};  // under other names they hold nothing of it
  EXPECT_EQ(container_mounts(elsewhere, use).size(), 6U);
}

TEST(Container, OfPyxisIsOptionsOfSrun) {
  ContainerProfile c = container(ContainerRuntime::pyxis);
  c.workdir = "/work";
  c.options = {"--container-writable"};
  EXPECT_EQ(pyxis_options(c, {.folders = {"/home/me"}, .workdir = "/home/me"}),
            (Words{"--container-image=/images/octet.img",
                   "--container-mounts=/scratch:/scratch,/opt/nccl:/nccl:ro,/home/me:/home/me",
                   "--container-workdir=/work", "--container-writable"}));
  EXPECT_TRUE(pyxis_options(container(ContainerRuntime::apptainer), use).empty());
  EXPECT_TRUE(pyxis_options({}, use).empty());
}

TEST(Container, OfApptainerIsWordsBeforeTheProgram) {
  ContainerProfile c = container(ContainerRuntime::apptainer);
  c.mounts.clear();
  c.options = {"--cleanenv"};
  const ContainerUse home{.folders = {"/home/me"}, .workdir = "/home/me"};
  EXPECT_EQ(apptainer_words(c, home, true), (Words{"apptainer", "exec", "--nv", "--bind", "/home/me:/home/me", "--pwd",
                                                   "/home/me", "--cleanenv", "/images/octet.img"}));
  EXPECT_EQ(apptainer_words(c, home, false)[2], "--bind");
  EXPECT_EQ(program_in(c, "octet-train"), "/opt/octet/bin/octet-train");
  EXPECT_EQ(program_in({}, "octet"), "octet");
}

TEST(Container, OctetIsAScriptOnTheHost) {
  ContainerProfile c = container(ContainerRuntime::apptainer);
  c.mounts = {"/my data:/data"};
  const ContainerUse home{.folders = {}, .workdir = "/home/me"};
  EXPECT_TRUE(container_octet(c, home, false)
                  .ends_with("\nexec apptainer exec --bind '/my data:/data' --pwd /home/me /images/octet.img "
                             "/opt/octet/bin/octet \"$@\"\n"));
  c.runtime = ContainerRuntime::pyxis;
  const std::string step = container_octet(c, home, false);
  for (const char* part : {"exec srun --overlap --nodes=1 --ntasks=1", "--nodelist=\"$SLURMD_NODENAME\"",
                           "--input=none", "'--container-mounts=/my data:/data'", " /opt/octet/bin/octet \"$@\"\n"}) {
    EXPECT_NE(step.find(part), std::string::npos) << part << "\n" << step;
  }
}

TEST(Container, MountsAndOptionsThatCannotBeAreTold) {
  for (const char* good : {"/a:/b", "/a:/b:ro"}) EXPECT_EQ(mount_problem(good), "") << good;
  for (const char* bad : {"", "/a", "a:/b", "/a:b", "/a:/b:ro:x", "/a,b:/c"}) EXPECT_NE(mount_problem(bad), "") << bad;
  using enum ContainerRuntime;
  for (const char* good : {"--container-writable", "--no-container-mount-home", "--container-name=octet"}) {
    EXPECT_EQ(container_option_problem(good, pyxis), "") << good;
  }
  for (const char* bad : {"", "--container-image=x", "--container-mounts=/a:/b", "--container-workdir=/a", "--mem=0"}) {
    EXPECT_NE(container_option_problem(bad, pyxis), "") << bad;
  }
  EXPECT_EQ(container_option_problem("--cleanenv", apptainer), "");
}

}  // namespace
}  // namespace octet
