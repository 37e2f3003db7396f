// octet checkpoint: looks at checkpoints, checks and changes them; one subcommand a file.
#include <array>

#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"

namespace octet {
namespace {

constexpr std::array table{
    Command{"list", "the checkpoints of a run: step, time, size, loss, state", tool::run_list},
    Command{"show", "what a checkpoint holds: state, layout, tensors, files, configuration", tool::run_show},
    Command{"verify", "read every byte and compare it with the manifest", tool::run_verify},
    Command{"diff", "compare two checkpoints tensor by tensor", tool::run_diff},
    Command{"reshard", "copy a checkpoint for another number of writers", tool::run_reshard},
    Command{"prune", "remove old checkpoints of a run", tool::run_prune},
    Command{"export", "weights to a Hugging Face Llama directory", tool::run_export},
    Command{"import", "a checkpoint of step 0 from a Hugging Face Llama directory", tool::run_import},
    Command{"view", "write view.h5, which shows tensors whole to h5py and HDFView", tool::run_view},
};

}  // namespace

int run_checkpoint(const std::vector<std::string>& arguments) {
  return run_group("checkpoint", table, "Where a CHECKPOINT is asked for, a run's folder\nstands for its newest one.",
                   arguments);
}

}  // namespace octet
