#include "src/base/reason.h"

#include <system_error>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {

std::string reason_of(const std::exception& error) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr || system->code() != std::errc::resource_unavailable_try_again) return error.what();
  return fmt::format(
      "the system gives no thread ({}): too many processes and threads for ulimit -u, or for the pids "
      "limit of the job's cgroup or container",
      error.what());
}

int end_with_reason(std::string_view program, const std::function<int()>& main) {
  try {
    return main();
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log::error("[{}] {}", program, reason_of(error));
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace octet
