#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

// What the ranks tell each other about a checkpoint. Collective, from the main thread. Payloads go through memory of
// the stream's device, as every exchange.

/// The bytes of every rank, in the order of ranks. Their lengths may differ.
std::vector<std::string> gather_bytes(const std::string& mine, Communicator& world, Stream& stream);
/// The bytes of rank `root`; what the others pass is not read.
std::string broadcast_bytes(const std::string& of_root, int root, Communicator& world, Stream& stream);
std::int32_t largest(std::int32_t mine, Communicator& world, Stream& stream);

/// A failure of this rank that the others are to hear of.
struct Failure {
  ExitCode code = ExitCode::internal;
  std::string text;
};
/// Runs `work`, which must call nothing collective; what it threw, if it did.
std::optional<Failure> failure_of(const std::function<void()>& work);

/// When any rank passes a failure, every rank throws the same error: "WHAT: rank R: TEXT" of the lowest such rank (and
/// how many more). The ranks agree first, by one small all-reduce.
void agree(const std::string& what, const std::optional<Failure>& mine, Communicator& world, Stream& stream);

/// agree(what, failure_of(work)).
void together(const std::string& what, Communicator& world, Stream& stream, const std::function<void()>& work);

}  // namespace octet::checkpoint
