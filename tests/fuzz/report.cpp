// What octet report reads of a run directory, and who owns it.
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/owner/record.h"
#include "src/report/run_files.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

std::string metrics() {
  std::string lines;
  for (int step = 1; step <= 3; ++step) {
    StepMetrics m;
    m.step = step;
    m.loss = 5.5 - step;
    m.tokens_per_second = 100;
    m.step_seconds = 2;
    lines += to_json(m) + "\n";
  }
  return lines;
}

const std::string profile =
    R"({"steps": [3, 5], "ranks": [{"rank": 0, "node": "n1", "wall": 2.5, "seconds": {"gemm": 1, "attention": 1, )"
    R"("memory_bound": 0.25, "exposed_communication": 0.25, "host": 0, "idle": 0, "overlapped_communication": 0.5}}], )"
    R"("kernels": [{"name": "gemm", "kind": "gemm", "phase": "forward", "calls": 3, "seconds": 1, "bytes": 24}]})";

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"metrics", [](const std::string& text) { read_metrics(put("metrics.jsonl", text)); },
       [] { return std::vector{metrics()}; }},
      {"discarded-metrics",
       [](const std::string& text) { read_discarded_metrics(put("metrics.discarded.jsonl", text)); },
       [] { return std::vector{metrics()}; }},
      {"profile-json", [](const std::string& text) { read_profile(put("profile.json", text)); }, texts({profile})},
      {"status", [](const std::string& text) { read_status(put("status.json", text)); },
       texts(
           {R"({"state":"running","reason":"","exit_code":0,"step":3,"steps":9,"restarts":0,"checkpoint":"step-000003",)"
            R"("checkpoint_seconds":0.5,"time":"2026-11-22T09:54:53Z"})"})},
      {"owner", [](const std::string& text) { parse_owner(text); },
       [] { return std::vector{to_json(this_process())}; }},
  };
  return all;
}

}  // namespace octet::fuzz
