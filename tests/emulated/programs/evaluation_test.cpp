// octet-evaluate, octet generate and octet-commbench on the emulated GPU: the numbers and the text of the CPU.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

/// A GPU whose first kernel breaks it ends a program that uses it.
void expect_kernels(const std::string& program) {
  const CommandResult r = in_workplace("env OCTET_EMULATED_BREAKS_AT=1 " + program);
  EXPECT_EQ(r.exit_code, 70) << r.all();
}

std::string evaluate_on(const char* device, const std::string& precision, const std::string& folder) {
  return octet_evaluate + saved_run().directory + " --device " + device + " --precision " + precision +
         " --text held-out.txt --row-tokens 256 --output " + folder;
}
double loss_on(const char* device, const std::string& precision) {
  const std::string folder = fmt::format("evaluated/{}-{}", device, precision);
  const CommandResult r = in_workplace(evaluate_on(device, precision, folder));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  return nlohmann::json::parse(read_bytes(workplace() / (folder + "/results.json")))["results"]["text"]["loss"];
}

TEST(EvaluationOnTheGpu, HasTheLossOfTheCpu) {
  write_bytes(workplace() / "held-out.txt", simple_text().substr(0, 500));
  for (const auto& [precision, tolerance] : {std::pair{"fp32", 1e-4}, {"bf16", 1e-2}, {"float8", 1e-2}}) {
    const double cpu = loss_on("cpu", precision);
    EXPECT_NEAR(loss_on("cuda", precision), cpu, cpu * tolerance) << precision;
  }
  expect_kernels(evaluate_on("cuda", "fp32", "evaluated/broken"));
}

TEST(EvaluationOnTheGpu, WritesTheTextOfTheCpu) {
  const std::string generate =
      octet_tool + "generate " + saved_run().directory + " --precision fp32 --prompt 'the water' --tokens 12 --device ";
  const CommandResult cpu = in_workplace(generate + "cpu"), gpu = in_workplace(generate + "cuda");
  EXPECT_EQ(gpu.exit_code, 0) << gpu.all();
  EXPECT_EQ(gpu.out, cpu.out);
  expect_kernels(generate + "cuda");
}

/// CUDA and its libraries are left all memory that this device has.
TEST(EvaluationOnTheGpu, RefusesAModelForWhichTheDeviceIsTooSmall) {
  write_bytes(workplace() / "held-out.txt", simple_text().substr(0, 500));
  const auto refused = [](const std::string& command, const char* ways) {
    const CommandResult r = in_workplace("env OCTET_EMULATED_MIB=1024 " + command);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "this run needs ");
    EXPECT_HAS(r.err, " and the device has 0.0 MiB free; use octet-evaluate on more ranks with a larger --tp");
    EXPECT_HAS(r.err, ways);
  };
  refused(evaluate_on("cuda", "bf16", "evaluated/small"), "--tp, --precision float8 --float8.recipe tensorwise or ");
  refused(octet_tool + "generate " + saved_run().directory + " --precision float8 --prompt 'the water' --device cuda",
          "--tp or fewer --tokens");
}

TEST(CommbenchOnTheGpu, FindsEveryByteWhereItBelongs) {
  setenv("OCTET_EMULATED_DEVICES", "2", 1);
  const CommandResult r = in_workplace("mpiexec -n 2 " OCTET_BIN_DIR
                                       "/octet-commbench --device cuda --sweep --max 64K --factor 16 --row-seconds "
                                       "0.05 --timeout 30 --json commbench.json");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(nlohmann::json::parse(read_bytes(workplace() / "commbench.json"))["provenance"]["backend"], "NCCL");
  EXPECT_HAS(r.out, "# Out of bounds values : 0 OK");
}

}  // namespace
}  // namespace octet::test
