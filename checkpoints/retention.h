#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet::checkpoint {

/// Which committed checkpoints may go, ascending. `verified` is the step of one that is committed and known to be
/// whole; only what is older is named. Of `steps` up to `verified` the newest `keep_last` stay (at least 1: `verified`
/// itself), and every multiple of `keep_every` (0: none). Steps beyond `verified`, which a run leaves behind when it
/// falls back to an older checkpoint, are not touched and do not count.
std::vector<std::int64_t> steps_to_prune(std::span<const std::int64_t> steps, std::int64_t verified, int keep_last,
                                         std::int64_t keep_every);

/// Removes the committed checkpoint of that step: hidden from readers by a rename first, so that none sees half of it.
/// Throws internal_error with the path. One rank only; any thread.
void remove_checkpoint(const std::string& root, std::int64_t step);

/// Removes what unfinished writes and removals left in `root`: entries "step-*.tmp", nothing else. Returns how many.
/// One rank only, while nothing is being written there.
int remove_leftovers(const std::string& root);

}  // namespace octet::checkpoint
