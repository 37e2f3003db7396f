#include "src/evaluate/expect_same.h"

#include <fmt/format.h>

#include <optional>

#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"

namespace octet {

void expect_same(const std::string& what, const std::string& mine, Communicator& control) {
  const std::string first = broadcast_bytes(mine, 0, control);
  std::optional<Failure> other;
  if (mine != first) {
    other = Failure{ExitCode::usage,
                    fmt::format("has {}, and rank 0 {}; expected the same files and tokenizer on every node "
                                "(docs/problems.md, \"The ranks do not have the same command or files\")",
                                mine, first)};
  }
  agree("evaluate", what, other, control);
}

}  // namespace octet
