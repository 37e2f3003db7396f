#include "src/base/size_limit.h"

#include <csignal>

namespace octet {

void take_size_limits_as_errors() {
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace octet
