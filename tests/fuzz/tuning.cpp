// The tuning file that the plugin reads inside NCCL, and benchmark results.
#include "src/tuning/cost_model/nccl_release.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/tuning_file.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

const std::string fit = "tests/tuning/fit/";

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"tuning-file", [](const std::string& text) { parse_tuning_file(text, "input.json"); },
       files({"configs/tuning/aws-p5-efa.json"})},
      {"nccl-tests", [](const std::string& text) { read_nccl_tests_text("input.txt", text, {}); },
       files({fit + "v2.13-log.txt", fit + "v2.17.10-reduce_scatter.txt", fit + "v2.19.6-per-iteration.txt"})},
      {"nccl-tests-json", [](const std::string& text) { read_nccl_tests_json("input.json", text, {}); },
       files({fit + "v1.json", fit + "v3.json"})},
      {"commbench-json", [](const std::string& text) { read_commbench_json("input.json", text, {}); },
       files({fit + "commbench.json"})},
      {"nccl-version", [](const std::string& text) { parse_nccl_version(text); }, texts({"2.28.9", "2.27.5"})},
  };
  return all;
}

}  // namespace octet::fuzz
