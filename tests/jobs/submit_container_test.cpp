// Jobs whose program is in a container.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

TEST_F(Submit, StartsTheProgramInItsContainer) {
  ASSERT_EQ(
      submit_run("--cluster.software.container '[echo, in, \"my image\"]' --cluster.software.container_program train")
          .exit_code,
      0);
  expect_in("octet_train=" + file("octet-train.sh") + "\n", read("job-101.sh"));
  EXPECT_EQ(run_command(file("octet-train.sh") + " a 'b c'").out, "in my image train a b c\n");
}

TEST_F(Submit, FindsItsProgramsInTheContainerAlone) {
  write_bytes(fake / "octet.sif", "");
  const std::string image = " --cluster.container.image " + (fake / "octet.sif");
  ASSERT_EQ(submit_run(image + " --cluster.container.programs /opt/octet").exit_code, 0);
  const std::string script = read("job-101.sh");
  expect_in("octet=" + file("octet.sh") + "\n", script);
  expect_in("octet_train=" + file("octet-train.sh") + "\n", script);
  expect_in("octet_in_step=" + file("octet.sh") + "\ncontainer_options=()\n", script);
  for (const auto& [name, program] : {std::pair("octet.sh", "octet"), std::pair("octet-train.sh", "octet-train")}) {
    const std::string text = read_bytes(file(name));
    expect_in(" " + (fake / "octet.sif") + " /opt/octet/" + program + " \"$@\"\n", text);
    expect_in(" --bind ", text);
    expect_in(" --pwd " + workplace().path() + " ", text);
  }
  expect_in("\"/no:where/run\": cannot be mounted in the container",
            submit("run.yaml --cluster local --nodes 2 --run.dir /no:where/run" + image).err);
  expect_in("container.image = /nowhere.sif: is not there", submit_run("--cluster.container.image /nowhere.sif").err);
}

TEST_F(Submit, MountsTheFoldersOfWeightsAndPlansInTheContainer) {
  write_bytes(fake / "octet.sif", "");
  const CommandResult r = submit(
      fmt::format("run.yaml --cluster ibm-roce --nodes 1 --device cuda --train.global_batch 16 --run.dir {} --dry-run "
                  "--cluster.container.image {}/octet.sif --init.from /usr/share --nccl.tuning_file /etc/a.conf "
                  "--cuda.gemm_plans /var/lib/gemm",
                  directory, fake.path()));
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const std::string octet = printed_file(r.out, "octet.sh");
  for (const char* folder : {"/usr/share", "/etc", "/var/lib"}) {  // /tmp is mounted anyway
    expect_in(fmt::format(" --bind {}:{} ", folder, folder), octet);
  }
}

TEST_F(Submit, StartsStepsInAContainerOfPyxis) {
  ASSERT_EQ(
      submit_run("--cluster.container.image registry#octet --cluster.container.runtime pyxis "
                 "--cluster.container.options '[--container-writable]' --cluster.launcher.srun_options '[--network=x]'")
          .exit_code,
      0);
  const std::string script = read("job-101.sh");
  expect_in("octet_train=octet-train\n", script);
  expect_in("octet_in_step=octet\ncontainer_options=('--container-image=registry#octet' --container-mounts=", script);
  expect_in(" --container-writable)\nsrun_options=(--network=x)\n", script);
  expect_in("exec srun --overlap", read_bytes(file("octet.sh")));
  EXPECT_FALSE(std::filesystem::exists(file("octet-train.sh")));
}

}  // namespace
}  // namespace octet::test
