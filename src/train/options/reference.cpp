#include "src/base/options/document.h"
#include "src/train/options/run_options.h"

namespace octet {

std::string reference_page() {
  RunConfig config;
  Schema run;
  declare_options(run, config);
  ModelConfig shape;
  Schema model;
  declare_model_options(model, shape);
  return fmt::format(R"(# Configuration

<!-- Written by `octet-train --print-reference`; a test compares. Change src/train/options instead. -->

A run is described by a YAML file with the sections below, such as
[configs/runs/english-5m.yaml](../configs/runs/english-5m.yaml). Every option can be given or overridden on the command
line:

    octet-train configs/runs/english-5m.yaml --optimizer.lr 1e-3 --run.dir=runs/try

The command line overrides the file, the file the defaults. Lists are written in YAML's flow style:
`--optimizer.no_decay '[norm, tok_embeddings]'`. Unknown and repeated keys, wrong types and impossible combinations are errors.
Integers are plain decimals (no 1_000, no 1e3); numbers may have an exponent (3e-4) and must be finite; booleans are
`true` and `false`. `octet-train --print-config FILE` prints the configuration that results.

## At the top of the file
{0}
## Model files

`model` is a name or a path. A name is looked up as NAME.yaml in `../models` from the folder of the run's file, in
`configs/models` of the current directory, in `share/octet/configs/models` of the installation, and in `configs/models`
of the source tree. A value with a slash or the extension .yaml or .yml is a path, relative to the folder of the run's
file or else to the current directory. The file has these keys at its top:
{1})",
                     markdown(run), markdown(model));
}

}  // namespace octet
