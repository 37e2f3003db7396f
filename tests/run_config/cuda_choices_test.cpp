// How the algorithms of a GPU's libraries are to be chosen: what is refused before there is a GPU.
#include <gtest/gtest.h>

#include "kernels/algorithm_choices.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/read_run_config.h"
#include "src/run_config/checks/validate.h"
#include "tests/data/support.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

RunConfig on_gpus() {
  Arguments arguments;
  arguments.file = OCTET_SOURCE_DIR "/configs/runs/llama-8b.yaml";
  Origins origins;
  return read_run_config(arguments, origins);
}

TEST(CudaChoices, WhatIsDeterministicIsNotTimed) {
  RunConfig c = on_gpus();
  c.cuda.gemm = c.cuda.attention = AlgorithmSearch::timed;
  EXPECT_NO_THROW(validate(c));
  c.cuda.deterministic = true;
  expect_parts(error_of([&] {
                 validate(c, {{"cuda.gemm", "a.yaml:4"}});
               }),
               {"a.yaml:4: cuda.gemm = timed", "not deterministic", "cuda.gemm_plans to replay"});
  c.cuda.gemm = AlgorithmSearch::automatic;
  expect_parts(error_of([&] { validate(c); }), {"cuda.attention = timed", "expected heuristic or auto"});
  c.cuda.attention = AlgorithmSearch::heuristic;
  EXPECT_NO_THROW(validate(c));
}

TEST(CudaChoices, AFileThatNothingWritesMustBeThere) {
  const test::TempFolder folder;
  RunConfig c = on_gpus();
  EXPECT_NO_THROW(check_algorithm_file(c, {}));
  c.cuda.gemm_plans = folder / "plans";
  EXPECT_NO_THROW(check_algorithm_file(c, {})) << "a run that may time writes it";
  c.cuda.deterministic = true;
  expect_parts(error_of([&] { check_algorithm_file(c, {}); }),
               {"cuda.gemm_plans = " + c.cuda.gemm_plans, "does not exist", "cuda.gemm = timed wrote"});
  c.cuda.deterministic = false;
  c.cuda.gemm = AlgorithmSearch::heuristic;
  expect_parts(error_of([&] { check_algorithm_file(c, {}); }), {"does not exist"});
  write_algorithm_choices(c.cuda.gemm_plans, {.platform = {AlgorithmKind::gemm, 1, "GPU"}});
  EXPECT_NO_THROW(check_algorithm_file(c, {}));
}

TEST(CudaChoices, AFileThatIsNoneOrCannotBeWrittenIsRefused) {
  const test::TempFolder folder;
  RunConfig c = on_gpus();
  c.cuda.gemm_plans = folder / "none/plans";
  expect_parts(error_of([&] { check_algorithm_file(c, {}); }), {"there is no folder " + (folder / "none")});
  c.cuda.gemm_plans = folder / "plans";
  test::write_bytes(c.cuda.gemm_plans, "lr: 3\n");
  expect_parts(error_of([&] { check_algorithm_file(c, {}); }),
               {c.cuda.gemm_plans + ":1: expected \"octet gemm plans, version 1\"; delete the file or name another"});
}

}  // namespace
}  // namespace octet
