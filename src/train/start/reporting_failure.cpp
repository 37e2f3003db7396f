#include "src/train/start/reporting_failure.h"

#include <exception>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/comm/failure.h"

namespace octet {

int run_reporting_failure(const FailureContext& context, const std::function<int()>& work,
                          const std::function<void()>& after_report) {
  try {
    return work();
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    const ExitCode code = error == nullptr ? ExitCode::internal : error->code();
    tell_failure(code, reason_of(e), error != nullptr && error->agreed());
    try {
      if (after_report) after_report();
    } catch (const std::exception& more) {
      log::error("{}", more.what());
    }
    if (context.lease != nullptr) context.lease->give_back();
    if (context.control.size() > 1 || context.on_gpu) context.control.abort(static_cast<int>(code));
    throw;
  }
}

}  // namespace octet
