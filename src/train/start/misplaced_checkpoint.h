#pragma once

#include <string>

namespace octet {

/// For a run that finds no checkpoint to go on from. Throws a usage error that names a folder which holds one where no
/// run looks for it, and where that would be: under another name than step-NNNNNN in RUN/checkpoints, in RUN itself, or
/// beside RUN/checkpoints. Such a run would begin anew in silence. What Octet itself leaves under other names
/// (unfinished, removed and damaged ones), hidden folders, lost+found, and the one that init.from names are passed
/// over. Throws files::ReadError where a folder, or a manifest in it, cannot be read: it may hold one; a usage error
/// where the user lacks the right to. `run`: the run's folder, whose checkpoints are to be in `checkpoints`.
void refuse_misplaced_checkpoint(const std::string& run, const std::string& checkpoints, const std::string& init_from);

}  // namespace octet
