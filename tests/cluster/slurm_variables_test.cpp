#include "src/cluster/slurm_variables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "src/cluster/profile.h"
#include "src/cluster/slurm_options.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

using test::run_command;

std::set<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> out;
  for (std::string word; in >> word;) out.insert(word);
  return out;
}

/// INPUT ENVIRONMENT VARIABLES of man sbatch, Slurm 22.05.8, but for SLURM_*.
const std::string of_man_sbatch =
    "SBATCH_ACCOUNT SBATCH_ACCTG_FREQ SBATCH_ARRAY_INX SBATCH_BATCH SBATCH_CLUSTERS SBATCH_CONSTRAINT SBATCH_CONTAINER "
    "SBATCH_CORE_SPEC SBATCH_CPUS_PER_GPU SBATCH_DEBUG SBATCH_DELAY_BOOT SBATCH_DISTRIBUTION SBATCH_ERROR "
    "SBATCH_EXCLUSIVE SBATCH_EXPORT SBATCH_GET_USER_ENV SBATCH_GPU_BIND SBATCH_GPU_FREQ SBATCH_GPUS "
    "SBATCH_GPUS_PER_NODE SBATCH_GPUS_PER_TASK SBATCH_GRES SBATCH_GRES_FLAGS SBATCH_HINT SBATCH_IGNORE_PBS "
    "SBATCH_INPUT SBATCH_JOB_NAME SBATCH_MEM_BIND SBATCH_MEM_PER_CPU SBATCH_MEM_PER_GPU SBATCH_MEM_PER_NODE "
    "SBATCH_NETWORK SBATCH_NO_KILL SBATCH_NO_REQUEUE SBATCH_OPEN_MODE SBATCH_OUTPUT SBATCH_OVERCOMMIT SBATCH_PARTITION "
    "SBATCH_POWER SBATCH_PROFILE SBATCH_QOS SBATCH_REQ_SWITCH SBATCH_REQUEUE SBATCH_RESERVATION SBATCH_SIGNAL "
    "SBATCH_SPREAD_JOB SBATCH_THREAD_SPEC SBATCH_THREADS_PER_CORE SBATCH_TIMELIMIT SBATCH_USE_MIN_NODES SBATCH_WAIT "
    "SBATCH_WAIT_ALL_NODES SBATCH_WAIT4SWITCH SBATCH_WCKEY";
/// And of man srun, but for SRUN_*, all of which go.
const std::string of_man_srun =
    "SLURM_ACCOUNT SLURM_ACCTG_FREQ SLURM_BCAST SLURM_BCAST_EXCLUDE SLURM_BURST_BUFFER SLURM_CLUSTERS SLURM_COMPRESS "
    "SLURM_CONF SLURM_CONSTRAINT SLURM_CORE_SPEC SLURM_CPU_BIND SLURM_CPU_FREQ_REQ SLURM_CPUS_PER_GPU SLURM_DEBUG "
    "SLURM_DEBUG_FLAGS SLURM_DELAY_BOOT SLURM_DEPENDENCY SLURM_DISABLE_STATUS SLURM_DIST_PLANESIZE SLURM_DISTRIBUTION "
    "SLURM_EPILOG SLURM_EXACT SLURM_EXCLUSIVE SLURM_EXIT_ERROR SLURM_EXIT_IMMEDIATE SLURM_EXPORT_ENV SLURM_GPU_BIND "
    "SLURM_GPU_FREQ SLURM_GPUS SLURM_GPUS_PER_NODE SLURM_GPUS_PER_TASK SLURM_GRES SLURM_GRES_FLAGS SLURM_HINT "
    "SLURM_IMMEDIATE SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NUM_NODES SLURM_KILL_BAD_EXIT SLURM_LABELIO SLURM_MEM_BIND "
    "SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE SLURM_MPI_TYPE SLURM_NETWORK SLURM_NNODES SLURM_NO_KILL "
    "SLURM_NPROCS SLURM_NTASKS SLURM_NTASKS_PER_CORE SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_NODE "
    "SLURM_NTASKS_PER_SOCKET SLURM_OPEN_MODE SLURM_OVERCOMMIT SLURM_OVERLAP SLURM_PARTITION SLURM_PMI_KVS_NO_DUP_KEYS "
    "SLURM_POWER SLURM_PROFILE SLURM_PROLOG SLURM_QOS SLURM_REMOTE_CWD SLURM_REQ_SWITCH SLURM_RESERVATION "
    "SLURM_RESV_PORTS SLURM_SEND_LIBS SLURM_SIGNAL SLURM_SPREAD_JOB SLURM_SRUN_REDUCE_TASK_EXIT_MSG SLURM_STDERRMODE "
    "SLURM_STDINMODE SLURM_STDOUTMODE SLURM_STEP_GRES SLURM_STEP_KILLED_MSG_NODE_ID SLURM_TASK_EPILOG "
    "SLURM_TASK_PROLOG SLURM_TEST_EXEC SLURM_THREAD_SPEC SLURM_THREADS SLURM_THREADS_PER_CORE SLURM_TIMELIMIT "
    "SLURM_UMASK SLURM_UNBUFFEREDIO SLURM_USE_MIN_NODES SLURM_WAIT SLURM_WAIT4SWITCH SLURM_WCKEY SLURM_WORKING_DIR";

TEST(SlurmVariables, EveryOneOfTheManualsHasARowWithItsReason) {
  for (const std::string& names : {of_man_sbatch, of_man_srun}) {
    for (const std::string& name : words_of(names)) EXPECT_NE(find_slurm_variable(name), nullptr) << name;
  }
  std::set<std::string_view> seen;
  for (const auto table : {sbatch_variables(), srun_variables()}) {
    for (const SlurmVariable& v : table) {
      EXPECT_TRUE(seen.insert(v.name).second) << v.name;
      const bool acts = v.kind == ShellVariable::fights || v.kind == ShellVariable::choice;
      EXPECT_EQ(acts, !v.why.empty()) << v.name;
    }
  }
}

TEST(SlurmVariables, WhatTheJobMustNotInheritIsLeftOut) {
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_OF_A_LATER_SLURM", "SLURM_CPU_BIND", "SLURM_NTASKS", "SRUN_ANY",
                           "PMI_FD", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SQUEUE_PARTITION"}) {
    EXPECT_TRUE(is_left_out(name)) << name;
  }
  for (const char* name : {"SBATCH_ACCOUNT", "SBATCH_DEBUG", "SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "PATH",
                           "NCCL_DEBUG", "SACCT_FORMAT"}) {
    EXPECT_FALSE(is_left_out(name)) << name;
  }
}

ClusterProfile with_options(std::vector<std::string> options) {
  ClusterProfile p = read_profile("local");
  p.slurm.options = std::move(options);
  return p;
}

TEST(SlurmVariables, TheScriptUnsetsThem) {
  const std::string leaked =
      "SLURM_CPU_BIND=map_cpu:0 SLURM_EXPORT_ENV=NONE SLURM_HINT=x SRUN_CPUS_PER_TASK=7 PMI_SIZE=9 SQUEUE_STATES=F "
      "SLURM_GPUS_PER_NODE=8 SLURM_JOB_ID=5 SLURMD_NODENAME=v1 SLURM_NETWORK=x";
  const auto after = [&](const ClusterProfile& p) {
    const test::TempFolder folder;
    test::write_bytes(folder / "s.sh", unset_lines(p) + "env\n");
    return words_of(run_command("env -i PATH=/usr/bin:/bin " + leaked + " bash -u " + (folder / "s.sh")).out);
  };
  const auto plain = after(with_options({}));
  for (const char* kept : {"SLURM_JOB_ID=5", "SLURMD_NODENAME=v1"}) EXPECT_TRUE(plain.contains(kept)) << kept;
  for (const std::string& word : plain) {
    EXPECT_FALSE(word.starts_with("SRUN_") || word.starts_with("PMI_") || word.starts_with("SQUEUE_")) << word;
    EXPECT_TRUE(!word.starts_with("SLURM_") || word == "SLURM_JOB_ID=5") << word;
  }
  EXPECT_TRUE(after(with_options({"--network=sn_all"})).contains("SLURM_NETWORK=x")) << "Slurm's own, by slurm.options";
}

TEST(SlurmVariables, AJobWhoseSbatchWasToldSomethingElseIsRefusedByName) {
  const test::TempFolder folder;
  SlurmProfile profile;
  profile.partition = "main";
  test::write_bytes(folder / "s.sh",
                    "refuse() { echo \"$1\"; exit 64; }\n" + refusing_lines(profile) + "echo goes on\n");
  const auto with = [&](const std::string& variables) {
    return run_command("env -i PATH=/usr/bin:/bin " + variables + " bash -u " + (folder / "s.sh"));
  };
  EXPECT_EQ(with("SBATCH_ACCOUNT=a SBATCH_DEBUG=1").out, "goes on\n");
  const auto array = with("SBATCH_ARRAY_INX=1-4");
  EXPECT_EQ(array.exit_code, 64);
  EXPECT_NE(array.out.find("sbatch took SBATCH_ARRAY_INX=1-4 before what this script says"), std::string::npos)
      << array.all();
  EXPECT_EQ(with("SBATCH_OF_A_LATER_SLURM=").exit_code, 64);
  EXPECT_EQ(with("SBATCH_PARTITION=main").out, "goes on\n") << "it is what the script says";
  const auto partition = with("SBATCH_PARTITION=low");
  EXPECT_EQ(partition.exit_code, 64);
  EXPECT_NE(partition.out.find("sbatch took SBATCH_PARTITION=low before"), std::string::npos) << partition.all();
}

TEST(SlurmOptions, AreReadAsSbatchReadsThem) {
  const auto line = [](const std::string& text) { return sbatch_line(parse_slurm_option(text)); };
  EXPECT_EQ(line("--comment=my comment"), "--comment=\"my comment\"");
  EXPECT_EQ(line("--comment my comment"), "--comment=\"my comment\"");
  EXPECT_EQ(line("--comment='my comment'"), "--comment=\"my comment\"");
  EXPECT_EQ(line("--comment=\"a # b\""), "--comment=\"a # b\"");
  EXPECT_EQ(line("-L one"), "--licenses=one");
  EXPECT_EQ(line("-Lone"), "--licenses=one");
  EXPECT_EQ(line("-Z 5"), "-Z 5");
  EXPECT_EQ(line("--reboot"), "--reboot");
  for (const char* bad : {"comment", "-", "--", "--a\nb", "- a"}) EXPECT_THROW(parse_slurm_option(bad), Error) << bad;
  EXPECT_EQ(line("--comment=a \"b\" c"), R"(--comment="a \"b\" c")");
  EXPECT_EQ(argument_of(parse_slurm_option("--slurmd-debug verbose")), "--slurmd-debug=verbose");
}

TEST(SlurmOptions, ThatFightTheJobAreNamedWithWhatToUse) {
  const auto why = [](const std::string& text) { return sbatch_option_problem(parse_slurm_option(text), true); };
  const std::vector<std::pair<std::string, std::string>> table = {
      {"--nodes=4", "--nodes"},
      {"-N4", "--nodes"},
      {"-N 4", "--nodes"},
      {"--array=1-4", "--chain"},
      {"-a1", "--chain"},
      {"--arr=1-4", "--chain"},
      {"--ntasks=8", "launcher.ranks_per_node"},
      {"-n 8", "launcher.ranks_per_node"},
      {"--job-name=x", "run.dir"},
      {"--output=x", "RUN/job-ID.out"},
      {"--signal=USR1@9", "launcher.min_lead_seconds"},
      {"--requeue", "the script has it"},
      {"--no-requeue", "--chain"},
      {"--dependency=singleton", "--after"},
      {"--cpus-per-task=2", "cpu.cores"},
      {"--gpus=8", "gpus.per_node"},
      {"-G8", "gpus.per_node"},
      {"--gres=gpu:8", "gpus.request"},
      {"--mem=4G", "slurm.exclusive"},
      {"--time=5", "slurm.time"},
      {"-p main", "slurm.partition"},
      {"--exclusive", "slurm.exclusive"},
      {"-s", "slurm.exclusive"},
      {"-S2", "cpu.cores"},
      {"-B 2:8:1", "cpu.cores"},
      {"-W", "octet submit status"},
      {"-Q", "octet submit reads"},
      {"-h", "no option of a job"},
      {"-V", "no option of a job"},
  };
  for (const auto& [option, use] : table) {
    EXPECT_NE(why(option).find(use), std::string::npos) << option << ": " << why(option);
  }
  for (const char* fine : {"--comment=x", "--mail-type=END", "--nice=5", "-L lic", "--licenses=a", "--begin=now"}) {
    EXPECT_EQ(why(fine), "") << fine;
  }
  EXPECT_EQ(sbatch_option_problem(parse_slurm_option("--mem=4G"), false), "");
}

TEST(SlurmOptions, ThatFightTheLaunchAreNamedWithWhatToUse) {
  const auto why = [](const std::string& text) { return srun_option_problem(parse_slurm_option(text)); };
  const std::vector<std::pair<std::string, std::string>> table = {
      {"-l", "what its ranks say"},
      {"-K0", "the script has it"},
      {"-W 5", "the script has it"},
      {"-Q", "what srun says"},
      {"-S 1", "cpu.cores"},
      {"-B 2:8:1", "cpu.cores"},
      {"-s", "share cores"},
      {"-h", "nothing would run"},
      {"-V", "nothing would run"},
      {"--open-mode=truncate", "the job's log"},
      {"--mem-per-cpu=2G", "slurm.exclusive"},
      {"--mem-per-gpu=2G", "slurm.exclusive"},
      {"--task-prolog=/site/prolog.sh", "environment.variables"},
      {"--hint=nomultithread", "cpu.threads_per_core"},
      {"--threads-per-core=1", "cpu.threads_per_core"},
      {"--thread-spec=2", "cpu.cores"},
  };
  for (const auto& [option, use] : table) {
    EXPECT_NE(why(option).find(use), std::string::npos) << option << ": " << why(option);
  }
  for (const char* fine : {"--network=job_vni", "--slurmd-debug=verbose", "-v", "--cpu-freq=high", "--profile=task"}) {
    EXPECT_EQ(why(fine), "") << fine;
  }
}

}  // namespace
}  // namespace octet
