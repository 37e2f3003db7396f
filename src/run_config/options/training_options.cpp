#include "src/base/options/text.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/optim/schedule.h"
#include "src/run_config/options/sections.h"

namespace octet {

void declare_init(Schema& schema, InitConfig& c) {
  schema.section("init", "What a new run begins with.");
  schema.add("from", c.from)
      .help(
          "A folder of weights: of Hugging Face (LlamaForCausalLM, safetensors), a checkpoint, or a run, whose newest "
          "whole checkpoint counts. The weights alone are taken, into any layout; the moments are zero, the step is 0. "
          "A run that goes on from its own checkpoints does not read it. Empty: random weights, by run.seed.");
}

void declare_train(Schema& schema, TrainConfig& c) {
  schema.section("train", "Length and size of the training.");
  schema.add("steps", c.steps).unit("steps").between(1, most_steps).help("Optimizer steps.");
  schema.add("seq_len", c.seq_len).unit("tokens").between(1, most_sequences).help("Length of a training sequence.");
  schema.add("global_batch", c.global_batch)
      .unit("sequences")
      .between(1, most_sequences)
      .help("Sequences a step over all ranks. A multiple of micro_batch x dp_replicate x dp_shard.");
  schema.add("micro_batch", c.micro_batch)
      .unit("sequences")
      .between(1, most_sequences)
      .help("Sequences a forward pass of one data-parallel rank; what is left of global_batch is accumulated.");
  schema.add("validate_every", c.validate_every)
      .unit("steps")
      .between(0, most_steps)
      .help("Steps between validations. 0: only at the end.");
  schema.add("validation_batches", c.validation_batches)
      .unit("global batches")
      .between(0, most_steps)
      .help("Length of a validation. 0: the whole validation split.");
  schema.add("log_every", c.log_every).unit("steps").between(1, most_steps).help("Steps between log lines.");
  schema.add("profile", c.profile)
      .unit("steps")
      .help(
          "off, or A-B: where the time of steps A to B goes is recorded, printed as a table and written to "
          "profile.json and, as a trace that Perfetto opens, profile-rankN.json in the run's folder. At most 20 "
          "steps.");
  schema.add("slow_rank_every", c.slow_rank_every)
      .unit("steps")
      .between(0, most_steps)
      .help(
          "Steps between comparisons of how long each rank waits in collectives. A rank that hardly waits while the "
          "others do is the one that they wait for: the log names it with its node. 0: never.");
  schema.add("slow_rank_factor", c.slow_rank_factor)
      .above(1)
      .help(
          "A rank is named if it makes the steps at least so many times as long as they would be if it were as fast as "
          "the others.");
  schema.add("health_seconds", c.health_seconds)
      .unit("seconds")
      .between(0, 86400)
      .help(
          "Time between two readings of each rank's GPU by NVML, beside the steps: Xids, ECC errors, remapped rows, "
          "slowdowns and clocks are logged when they change. 0: never. On cuda only.");
  schema.add_choice("late_results", c.late_results)
      .help(
          "Read the loss and norm of a step when the next has been launched, so that a GPU never waits for the host; a "
          "stop, a validation, a checkpoint and the last step wait for it. No number changes. auto: true on cuda.");
  schema.add("max_wall_time", c.max_wall_time)
      .unit("minutes, or H:MM:SS")
      .help(
          "Time that the run may take, counted from the start of the program. The run stops while there is still time "
          "for one more step, as long as the longest so far, and for a checkpoint; then it saves and ends with exit "
          "code 75. 0: no limit.");
}

void declare_data(Schema& schema, DataConfig& c) {
  schema.section("data", "Token files in Megatron's format, as `octet prepare` writes them.");
  schema
      .add_list<DataSource>("train", c.train,
                            [](Schema& item, DataSource& source) {
                              item.add("path", source.path).required().help("PATH of PATH.bin and PATH.idx.");
                              item.add("weight", source.weight)
                                  .at_least(0)
                                  .help(
                                      "Share in the mixture. 0: the source is not read until data.changes gives it a "
                                      "weight.");
                            })
      .required()
      .help(
          "PATH of the pair PATH.bin, PATH.idx, relative to the current directory; or a list of them, mixed in "
          "proportion to their weights (default 1). To a run that goes on, sources can be added at the end of the "
          "list, with checkpoint.allow_changes data.train.");
  schema
      .add_list<WeightChange>(
          "changes", c.changes,
          [](Schema& item, WeightChange& change) {
            item.add("step", change.step)
                .between(2, most_steps)
                .required()
                .help("The first step that has these weights.");
            item.add("weights", change.weights)
                .required()
                .help("Shares in the mixture, in the order of data.train. 0: nothing is read of that source.");
          })
      .help(
          "Weights that replace those of data.train from a step on, by rising step: [{step: 9000, weights: [1, 4]}, "
          "...]. Each source goes on from the sample that it had come to. When a run goes on from a checkpoint, the "
          "changes at steps that are still to come may differ from those before, with checkpoint.allow_changes "
          "data.changes.");
  schema.add("validation_fraction", c.validation_fraction)
      .at_least(0)
      .below(1)
      .help("Part of the samples of each source that is set apart for validation.");
  schema.add("document_mask", c.document_mask)
      .help(
          "Each token attends to its own document alone, and positions count from the document's beginning; the index "
          "of the token files says where documents end. Attention that is masked is not computed. If a sample begins "
          "inside a document, the rest of that document counts as a document of its own.");
  schema.add("loss_on_first", c.loss_on_first)
      .help(
          "With document_mask: whether the first token of a document counts as a target. The tokens before it in the "
          "sample are of another document and do not help to predict it.");
  schema.add("max_passes", c.max_passes)
      .above(0)
      .help(
          "The most passes over the training samples of a source without a warning. If the steps of a run ask for "
          "more, octet submit and the start of the run warn, with the tokens that the source has and those that are "
          "asked for; the run goes on.");
}

void declare_optimizer(Schema& schema, OptimizerConfig& c) {
  schema.section("optimizer", "AdamW with clipping by the global norm.");
  schema.add("lr", c.lr).between(0, 1e30).help("Peak learning rate.");
  schema.add("beta1", c.beta1).at_least(0).below(1).help("Decay of the first moment.");
  schema.add("beta2", c.beta2).at_least(0).below(1).help("Decay of the second moment.");
  schema.add("eps", c.eps).between(1e-30, 1).help("Added to the root of the second moment.");
  schema.add("weight_decay", c.weight_decay)
      .at_least(0)
      .help("Decoupled weight decay, multiplied by the learning rate.");
  schema.add("clip_norm", c.clip_norm)
      .at_least(0)
      .help("Largest global gradient norm. 0: no clipping; else at least 1e-30, which fp32 can tell from 0.");
  schema.add("no_decay", c.no_decay)
      .help("Parameters without weight decay, by any part of their names. Empty: all decay, as in torchtitan.");
  schema.add_choice("beside_forward", c.beside_forward)
      .help(fmt::format(
          "Update the weights during the forward pass of the next step, unit by unit in the order of that pass, on "
          "part of the GPU. Not possible if the ranks that share a weight exchange its scale after the update "
          "(float8.recipe {} with several shards or tp). true: on, and no CUDA graphs are made. auto: on with "
          "device cuda, unless it is not possible or passes run as CUDA graphs (cuda.graphs). The bits are the same, "
          "except on a GPU where beside_gemms is, or auto takes, free. The default is false, since it saves little "
          "where the GPU is at its power limit.",
          alternatives(float8_recipes_where(&Recipe::scales_of_updated_weights))));
  schema.add("beside_multiprocessors", c.beside_multiprocessors)
      .between(0, 1024)
      .help(
          "With beside_forward: multiprocessors of the GPU, in pairs, that the update takes whole while the others "
          "compute the forward pass. 0: 16 of an H100's 132, and the same share of another GPU's.");
  schema.add_choice("beside_gemms", c.beside_gemms)
      .help(
          "With beside_forward: for which multiprocessors the GEMMs that run beside the update are chosen. free: those "
          "that the update leaves. all: all of the GPU, as without an update; such a GEMM may need a second round of "
          "blocks while the update takes some multiprocessors, and up to twice its time. GEMMs chosen for fewer "
          "multiprocessors may round otherwise. auto: free if beside_forward is true and a rank updates whole weights "
          "(one shard), else all, since the update of several shards is short.");
}

void declare_schedule(Schema& schema, ScheduleConfig& c) {
  schema.section("schedule", "Learning rate over the steps: a linear warm-up, then the kind's own shape.");
  schema.add_choice("kind", c.kind).help(schedule_kinds_help());
  schema.add("warmup_steps", c.warmup_steps).unit("steps").between(0, most_steps).help("Length of the linear warm-up.");
  schema.add("decay_steps", c.decay_steps)
      .unit("steps")
      .between(0, most_steps)
      .help(fmt::format("Length of the final decay of {}; 0 for the other kinds.", kinds_with(Decay::last_steps)));
  schema.add("min_lr_ratio", c.min_lr_ratio)
      .between(0, 1)
      .help(fmt::format(
          "Learning rate that the decay leads to, as a part of the peak; it would be reached one step after the last. "
          "0 for {}.",
          kinds_with(Decay::never)));
  schema.add_choice("extend", c.extend)
      .help(
          "What follows the old end of the schedule when a run goes on with more train.steps, if a step that is done "
          "has a learning rate that depends on train.steps (a cosine past its warm-up, wsd once its decay has begun). "
          "refuse: the run does not start. constant: the last learning rate is held. rewarm: a warm-up from the last "
          "learning rate to the peak and then the kind's decay, over the added steps. Checkpoints record the "
          "extension. If no step that is done depends on train.steps, the schedule is simply longer, without this "
          "option.");
}

}  // namespace octet
