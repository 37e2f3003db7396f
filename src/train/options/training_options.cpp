#include "src/train/options/sections.h"

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
          "Steps between comparisons of how long each rank waits in collectives: who hardly waits while the others do "
          "holds them up, and is named with its node. 0: never.");
  schema.add("slow_rank_factor", c.slow_rank_factor)
      .above(1)
      .help("By how much a rank must make the steps longer to be named.");
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
          "Time since the program began in which the run should have ended: it stops after the last step that leaves "
          "room for another one of the longest kind and a checkpoint, saves and ends with exit code 75. 0: none.");
}

void declare_data(Schema& schema, DataConfig& c) {
  schema.section("data", "Token files in Megatron's format, as `octet prepare` writes them.");
  schema
      .add_list<DataSource>("train", c.train,
                            [](Schema& item, DataSource& source) {
                              item.add("path", source.path).required().help("PATH of PATH.bin and PATH.idx.");
                              item.add("weight", source.weight)
                                  .at_least(0)
                                  .help("Share in the mixture. 0: nothing is read before a change gives it one.");
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
            item.add("step", change.step).between(2, most_steps).required().help("The first step with them.");
            item.add("weights", change.weights)
                .required()
                .help("Shares in the mixture, in the order of data.train. 0: nothing is read of that source.");
          })
      .help(
          "Other weights from a step on: [{step: 9000, weights: [1, 4]}, ...], by rising step. A source goes on where "
          "it stood. What is to come can be changed in a run that goes on, with checkpoint.allow_changes "
          "data.changes.");
  schema.add("validation_fraction", c.validation_fraction)
      .at_least(0)
      .below(1)
      .help("Part of the samples of each source that is set apart for validation.");
  schema.add("document_mask", c.document_mask)
      .help(
          "Keep attention within documents, as the index of the token files has them, and count positions from each "
          "one's beginning; work on what is masked is skipped. A sample that begins inside a document begins one "
          "there.");
  schema.add("loss_on_first", c.loss_on_first)
      .help(
          "With document_mask: whether the first token of a document counts as a target, which what stands before it "
          "in the sample cannot know.");
  schema.add("max_passes", c.max_passes)
      .above(0)
      .help(
          "Passes over the training samples of a source. A run whose steps ask for more is warned at submit and at its "
          "start, with the tokens that are there and those that are asked for.");
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
      .help(
          "Update the weights beside the forward pass of the next step, unit by unit in its order, on part of the GPU. "
          "Not where the ranks that share a weight exchange its scale after the update (float8.recipe tensorwise, "
          "several "
          "shards or tp). auto: true on cuda, but there and where passes are graphs (cuda.graphs); true leaves graphs "
          "out. No number changes, but on a GPU by beside_gemms free. false by default: it saves little where the GPU "
          "is at its power limit.");
  schema.add("beside_multiprocessors", c.beside_multiprocessors)
      .between(0, 1024)
      .help(
          "With beside_forward: multiprocessors of the GPU that the update takes whole while others compute the "
          "forward "
          "pass, in pairs. 0: 16 of 132, and as many in proportion of others.");
  schema.add_choice("beside_gemms", c.beside_gemms)
      .help(
          "With beside_forward: which multiprocessors of the GPU the GEMMs beside the update are chosen for, those "
          "that "
          "it leaves free, or all. One that is chosen for all may need a second round of blocks where some are taken, "
          "up "
          "to twice its time; one that is chosen for others may round otherwise. auto: free where beside_forward is "
          "true "
          "and a rank updates whole weights (one shard), else all: the update of several shards is short.");
}

void declare_schedule(Schema& schema, ScheduleConfig& c) {
  schema.section("schedule", "Learning rate over the steps: a linear warm-up, then the kind's own shape.");
  schema.add_choice("kind", c.kind)
      .help("wsd: stable, then a linear decay over the last decay_steps. cosine: decays from the warm-up to the end.");
  schema.add("warmup_steps", c.warmup_steps).unit("steps").between(0, most_steps).help("Length of the linear warm-up.");
  schema.add("decay_steps", c.decay_steps)
      .unit("steps")
      .between(0, most_steps)
      .help("Length of the final decay of wsd; 0 for the other kinds.");
  schema.add("min_lr_ratio", c.min_lr_ratio)
      .between(0, 1)
      .help(
          "Learning rate that the decay leads to, as a part of the peak; it would be reached one step after the last. "
          "0 for constant.");
  schema.add_choice("extend", c.extend)
      .help(
          "Of a run that goes on with more train.steps, where a step that is done has a learning rate which depends on "
          "their number (a cosine, wsd once its decay has begun): what follows the old end of the schedule. constant: "
          "the last learning rate. rewarm: from it a warm-up to the peak and the kind's decay, over the added steps. "
          "Checkpoints keep what was added. A schedule that can be longer without that just is.");
}

}  // namespace octet
