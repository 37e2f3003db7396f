#include "src/tuning/fit/benchmark_file.h"

#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/hex_text.h"
#include "src/tuning/tuning_file.h"

namespace octet {

BenchmarkFile read_measurements(const std::string& path, const ReadOptions& options) {
  const std::string text = given_text("tuning", path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw usage_error("tuning", "{}: the file is empty", path);
  if (text[first] == '{' && text.find("\"octet_tuning\"") != std::string::npos) {
    throw usage_error("tuning", "{}: is a tuning file, expected the output of nccl-tests or octet-commbench", path);
  }
  BenchmarkFile file = text[first] != '{' ? read_nccl_tests_text(path, text, options)
                       : text.find("\"octet_commbench\"") != std::string::npos
                           ? read_commbench_json(path, text, options)
                           : read_nccl_tests_json(path, text, options);
  file.hash = hex_text(content_hash(text));
  if (file.rows.empty() && file.findings.empty() && file.notes.empty()) {
    throw usage_error("tuning", "{}: no rows of measurements; expected the output of nccl-tests or octet-commbench",
                      path);
  }
  return file;
}

}  // namespace octet
