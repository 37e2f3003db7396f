#include "src/metrics/event_writer.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/host_name.h"
#include "src/metrics/event_record.h"

namespace octet {
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Makes the folder; a name of its own in it. TensorBoard reads files in the order of their names: by time, then by the
/// last number, which counts writers of one process and second.
std::string make_path(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw usage_error("metrics", "{}: cannot be made: {}", folder, error.message());
  const std::string host = host_name();
  for (int n = 0;; ++n) {
    std::string path =
        fmt::format("{}/events.out.tfevents.{:010.0f}.{}.{}.{}", folder, std::floor(wall_time()), host, getpid(), n);
    if (!std::filesystem::exists(path, error)) return path;
  }
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, std::int64_t first_step) : file_(make_path(folder)) {
  file_.add(version_record(wall_time()) + start_record(wall_time(), first_step));
}

void EventWriter::write(const StepMetrics& m) {
  std::vector<Scalar> scalars = {{"loss", m.loss},     {"grad_norm", m.grad_norm},
                                 {"lr", m.lr},         {"tokens_per_second", m.tokens_per_second},
                                 {"tflops", m.tflops}, {"memory", static_cast<double>(m.memory_bytes) / 0x1p30}};
  if (m.validation_loss) scalars.push_back({"validation_loss", *m.validation_loss});
  if (m.mfu) scalars.push_back({"mfu", *m.mfu});
  file_.add(scalars_record(wall_time(), m.step, scalars));
}

}  // namespace octet
