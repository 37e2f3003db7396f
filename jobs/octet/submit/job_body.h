#pragma once

#include <string>

namespace octet::submit {

/// What a job's script has below its settings: the parts in slurm/train-body, one after the other by their names, each
/// without the line that is for shellcheck. The script has them whole, so that a job needs no file but its own. Usage
/// error where they are not there.
std::string job_body();

}  // namespace octet::submit
