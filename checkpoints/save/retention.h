#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/owner.h"

namespace octet::checkpoint {

/// Which committed checkpoints may go, ascending. `verified` is the step of one that is committed and known to be
/// whole; only what is older than `keep_last` whole ones (at least 1: `verified` itself) is named, and no multiple of
/// `keep_every` (0: none). `is_whole` is asked about those older than `verified`, newest first, while the answer
/// decides: one that is damaged does not count. Steps beyond `verified`, which a run leaves behind when it falls back
/// to an older checkpoint, are not touched and do not count.
std::vector<std::int64_t> steps_to_prune(std::span<const std::int64_t> steps, std::int64_t verified, int keep_last,
                                         std::int64_t keep_every, const std::function<bool(std::int64_t)>& is_whole);

/// Removes the committed checkpoint of that step: hidden from readers by a rename first, so that none sees half of it.
/// Throws internal_error with the path. One rank only; any thread.
void remove_checkpoint(const std::string& root, std::int64_t step, const Owner& owner = {});

/// Removes what unfinished writes and removals left in `root`, whoever's they are: entries "step-*.tmp", nothing else.
/// Returns how many. One rank only, of the owner.
int remove_leftovers(const std::string& root, const Owner& owner = {});

}  // namespace octet::checkpoint
