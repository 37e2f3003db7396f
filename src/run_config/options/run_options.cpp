#include "src/run_config/options/run_options.h"

#include "src/base/options/document.h"
#include "src/base/options/yaml.h"
#include "src/run_config/options/model_file.h"
#include "src/run_config/options/sections.h"

namespace octet {
namespace {

void declare_top(Schema& schema, RunConfig& c) {
  schema.add("model", c.model_name)
      .required()
      .help("Name of a file under configs/models, or path of such a file (see \"Model files\").");
  schema.add_choice("precision", c.precision)
      .help(
          "What the model computes in. float8 is bf16 with 8-bit GEMMs in the seven linears of every block. Master "
          "weights, optimizer states and reduced gradients are fp32 in all of them.");
  schema.add_choice("device", c.device).help("Where the model computes.");
}

void declare_run(Schema& schema, RunConfig& c) {
  schema.section("run", "The run as a whole.");
  schema.add("dir", c.run_dir)
      .help(
          "Folder for logs, metrics and the resolved configuration. Empty: runs/NAME-DATE, with the name of the file.");
  schema.add("tensorboard", c.tensorboard)
      .help("Write event files for TensorBoard to the folder tensorboard, beside metrics.jsonl.");
  schema.add("seed", c.seed).help("Decides the initial weights and the order of the data.");
}

}  // namespace

void declare_options(Schema& schema, RunConfig& config) {
  declare_top(schema, config);
  declare_run(schema, config);
  declare_init(schema, config.init);
  declare_train(schema, config.train);
  declare_data(schema, config.data);
  declare_optimizer(schema, config.optimizer);
  declare_schedule(schema, config.schedule);
  declare_parallel(schema, config.parallel);
  declare_float8(schema, config.float8);
  declare_recompute(schema, config.recompute);
  declare_checkpoint(schema, config.checkpoint);
  declare_machine(schema, config);
  declare_cuda(schema, config);
  declare_nccl(schema, config.nccl);
}

void declare_stored_options(Schema& schema, RunConfig& config) {
  declare_options(schema, config);
  schema.section("model_shape", "The keys of the model's file.");
  declare_model_options(schema, config.model);
  schema.section(schedule_history, "What became of the schedule in the run so far.");
  schema
      .add_list<ScheduleExtension>("extensions", config.schedule.extensions,
                                   [](Schema& item, ScheduleExtension& e) {
                                     item.add_choice("kind", e.kind).required().help("What the added steps do.");
                                     item.add("after", e.after).at_least(1).required().help("The old last step.");
                                   })
      .help("Steps that were added, as schedule.extend has it.");
  schema.section(data_history, "What became of the data in the run so far.");
  schema.add("order", config.data.history.order)
      .between(1, newest_data_order)
      .help("Version of the order of the data; 1 where nothing is said.");
  schema
      .add_list<AddedSource>("added", config.data.history.added,
                             [](Schema& item, AddedSource& added) {
                               item.add("source", added.source).at_least(1).required().help("Place in data.train.");
                               item.add("after", added.after).at_least(1).required().help("The last step without it.");
                             })
      .help("Sources that were added to the run after it had begun.");
  schema.add("tokenizer", config.data.history.tokenizer).help("Which one made the data; empty where it is not known.");
}

void read_stored_options(Schema& schema, RunConfig& config, const std::string& text, const std::string& directory) {
  declare_stored_options(schema, config);
  std::vector<std::string> unknown;
  const std::string source = directory + " (configuration)";
  read_yaml_known(schema, text, source, unknown);
  if (!schema.find("model_shape.dim")->is_set()) {
    throw usage_error("config", "{}: has no section model_shape", source);
  }
  config.model.name = config.model_name.empty() ? "of the checkpoint" : config.model_name;
  config.model.finish();
}

std::string stored_yaml(RunConfig config) {
  Schema schema;
  declare_stored_options(schema, config);
  return to_yaml(schema);
}

std::string to_yaml(RunConfig config) {
  Schema schema;
  declare_options(schema, config);
  return to_yaml(schema);
}

std::string reference_page() {
  RunConfig config;
  Schema run;
  declare_options(run, config);
  ModelConfig shape;
  Schema model;
  declare_model_options(model, shape);
  return fmt::format(R"(# Configuration

<!-- Written by `octet-train --print-reference`; a test compares. Change src/run_config instead. -->

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
