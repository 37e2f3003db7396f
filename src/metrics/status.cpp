#include "src/metrics/status.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/replace_file.h"
#include "src/base/utc_now.h"

namespace octet {
namespace {

/// Replaces the file as a whole. On a full disk it is overwritten in place, which needs no more room than it has
/// already: why a run ended is worth more than that the old text stays whole. False, with errno; where there is no file
/// to overwrite, the full disk stays the reason.
bool put(const std::string& path, const std::string& text) {
  if (replace_file(path, text)) return true;
  const int full = errno;
  if (full != ENOSPC && full != EDQUOT) return false;
  FileHandle file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  // Ranks that fail may write at once; one that holds the lock and hangs must not keep the others from ending.
  for (int i = 0; file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (file && write_all(file.get(), text) && ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0 &&
      close_file(file)) {
    return true;
  }
  errno = full;
  return false;
}

/// The way back from within_run, for the run whose status is at `status`.
std::string in_run_of(const std::string& status, const std::string& checkpoint) {
  const std::filesystem::path kept = within_run(checkpoint);
  if (checkpoint.empty() || kept.is_absolute()) return checkpoint;
  return std::filesystem::path(status).parent_path() / kept;
}

}  // namespace

std::string within_run(const std::string& checkpoint) {
  const std::filesystem::path path(checkpoint);
  const std::filesystem::path folder = path.parent_path().filename();
  return folder == "checkpoints" ? folder / path.filename() : path;
}

void write_status(const std::string& path, const RunStatus& status) {
  nlohmann::ordered_json json;
  json["state"] = status.state;
  json["reason"] = status.reason;
  json["exit_code"] = status.exit_code;
  json["step"] = status.step;
  json["steps"] = status.steps;
  json["restarts"] = status.restarts;
  if (!status.checkpoint.empty()) json["checkpoint"] = within_run(status.checkpoint);
  if (status.checkpoint_seconds > 0) json["checkpoint_seconds"] = status.checkpoint_seconds;
  json["time"] = utc_now();
  // A message may quote any bytes, of a path or of another program.
  const std::string text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!put(path, text)) throw internal_error("metrics", "{}: cannot be written: {}", path, std::strerror(errno));
}

std::optional<RunStatus> read_status(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path, longest_status);
  if (!text) return std::nullopt;
  try {
    const auto json = parse_json(*text, "metrics", path, "the status of a run");
    const JsonReader status(json, "metrics", path);
    return RunStatus{
        .state = status.text("state"),
        .reason = status.text("reason"),
        .exit_code = static_cast<int>(status.integer("exit_code", INT32_MIN, INT32_MAX)),
        .step = status.integer("step"),
        .steps = status.integer("steps"),
        .restarts = status.contains("restarts") ? status.integer("restarts") : 0,
        .checkpoint = status.contains("checkpoint") ? in_run_of(path, status.text("checkpoint")) : "",
        .checkpoint_seconds = status.contains("checkpoint_seconds") ? status.number("checkpoint_seconds") : 0,
        .time = status.contains("time") ? status.text("time") : ""};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace octet
