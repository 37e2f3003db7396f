#include "checkpoints/save/file_wait.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "src/base/log.h"
#include "src/comm/control_exchange.h"

namespace octet::checkpoint {

void check_answer(const OperationScope& operation, const std::string& path) {
  operation.check_deadline(fmt::format("the file system of {} does not answer for {}", log::host(), path));
}

void wait_for_files(const char* what, const std::string& path, Communicator& control,
                    const std::function<bool()>& is_done) {
  const OperationScope operation(what);
  for (bool mine = false; largest((mine = is_done()) ? 0 : 1, control) != 0;) {
    if (!mine) check_answer(operation, path);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace octet::checkpoint
