#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/data/tokenizer_identity.h"
#include "src/run_config/run_config.h"

namespace octet {

/// What a run that is started now goes on with, as far as its newest checkpoint's manifest says it; which one is whole,
/// the run finds out.
struct NextStart {
  RunConfig config;          ///< with the extensions of its schedule and the history of its data
  std::string checkpoint{};  ///< its directory; empty: the run is new
  std::int64_t step = 0;     ///< of the checkpoint

  bool is_new() const { return checkpoint.empty(); }
};

/// Usage error for a manifest that cannot be read, for settings with which the run would refuse to go on, and for a
/// checkpoint that stands where the run would not find it: told here, they cost no time in a queue.
NextStart next_start(RunConfig config);

/// How the mixture changes, a text each; the files are not looked at. Usage error for changes that do not fit the
/// sources.
std::vector<std::string> mixture_texts(const NextStart& start);

/// "initial weights: ...", of a new run that begins with some, else empty; the folder is looked at. `data`: the
/// tokenizer of the data, where it is known. Throws as check_initial_weights.
std::string initial_weights_text(const NextStart& start, const std::optional<TokenizerIdentity>& data);

}  // namespace octet
