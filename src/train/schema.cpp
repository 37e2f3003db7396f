#include "src/train/schema.h"

#include "src/base/options/document.h"
#include "src/ops/recipe.h"

namespace octet {
namespace {

constexpr double most_steps = 1e9;
constexpr double most_sequences = 1 << 24;
constexpr double most_ranks = 1 << 20;
constexpr double most_ctas = 64;  // NCCL's MAXCHANNELS

void declare_top(Schema& schema, RunConfig& c) {
  schema.add("model", c.model_name)
      .required()
      .help("Name of a file under configs/models, or path of such a file (see \"Model files\").");
  schema
      .add_choice<Precision>("precision", c.precision,
                             {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}, {"float8", Precision::float8}})
      .help(
          "What the model computes in. float8 is bf16 with 8-bit GEMMs in the seven linears of every block. Master "
          "weights, optimizer states and reduced gradients are fp32 in all of them.");
  schema.add_choice("device", c.device, {"cpu", "cuda"}).help("Where the model computes.");
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

void declare_train(Schema& schema, TrainConfig& c) {
  schema.section("train", "Length and size of the training.");
  schema.add("steps", c.steps).unit("steps").at_least(1).at_most(most_steps).help("Optimizer steps.");
  schema.add("seq_len", c.seq_len)
      .unit("tokens")
      .at_least(1)
      .at_most(most_sequences)
      .help("Length of a training sequence.");
  schema.add("global_batch", c.global_batch)
      .unit("sequences")
      .at_least(1)
      .at_most(most_sequences)
      .help("Sequences a step over all ranks. A multiple of micro_batch x dp_replicate x dp_shard.");
  schema.add("micro_batch", c.micro_batch)
      .unit("sequences")
      .at_least(1)
      .at_most(most_sequences)
      .help("Sequences a forward pass of one data-parallel rank; what is left of global_batch is accumulated.");
  schema.add("validate_every", c.validate_every)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help("Steps between validations. 0: only at the end.");
  schema.add("validation_batches", c.validation_batches)
      .unit("global batches")
      .at_least(0)
      .at_most(most_steps)
      .help("Length of a validation. 0: the whole validation split.");
  schema.add("log_every", c.log_every).unit("steps").at_least(1).at_most(most_steps).help("Steps between log lines.");
  schema.add("profile", c.profile)
      .unit("steps")
      .help(
          "off, or A-B: where the time of steps A to B goes is recorded, printed as a table and written to "
          "profile.json "
          "and, as a trace that Perfetto opens, profile-rankN.json in the run's folder. At most 20 steps.");
  schema.add("slow_rank_every", c.slow_rank_every)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help(
          "Steps between comparisons of how long each rank waits in collectives: who hardly waits while the others do "
          "holds them up, and is named with its node. 0: never.");
  schema.add("slow_rank_factor", c.slow_rank_factor)
      .above(1)
      .help("By how much a rank must make the steps longer to be named.");
  schema.add("health_seconds", c.health_seconds)
      .unit("seconds")
      .at_least(0)
      .at_most(86400)
      .help(
          "Time between two readings of each rank's GPU by NVML, beside the steps: Xids, ECC errors, remapped rows, "
          "slowdowns and clocks are logged when they change. 0: never. On cuda only.");
  schema.add_choice("late_results", c.late_results, {"auto", "true", "false"})
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
                              item.add("weight", source.weight).above(0).help("Share in the mixture.");
                            })
      .required()
      .help(
          "PATH of the pair PATH.bin, PATH.idx, relative to the current directory; or a list of them, mixed in "
          "proportion to their weights (default 1).");
  schema.add("validation_fraction", c.validation_fraction)
      .at_least(0)
      .below(1)
      .help("Part of the samples of each source that is set apart for validation.");
}

void declare_optimizer(Schema& schema, OptimizerConfig& c) {
  schema.section("optimizer", "AdamW with clipping by the global norm.");
  schema.add("lr", c.lr).at_least(0).at_most(1e30).help("Peak learning rate.");
  schema.add("beta1", c.beta1).at_least(0).below(1).help("Decay of the first moment.");
  schema.add("beta2", c.beta2).at_least(0).below(1).help("Decay of the second moment.");
  schema.add("eps", c.eps).at_least(1e-30).at_most(1).help("Added to the root of the second moment.");
  schema.add("weight_decay", c.weight_decay)
      .at_least(0)
      .help("Decoupled weight decay, multiplied by the learning rate.");
  schema.add("clip_norm", c.clip_norm).at_least(0).help("Largest global gradient norm. 0: no clipping.");
  schema.add("no_decay", c.no_decay)
      .help("Parameters without weight decay, by any part of their names. Empty: all decay, as in torchtitan.");
}

void declare_schedule(Schema& schema, ScheduleConfig& c) {
  schema.section("schedule", "Learning rate over the steps: a linear warm-up, then the kind's own shape.");
  schema.add_choice("kind", c.kind, {"constant", "wsd", "cosine"})
      .help("wsd: stable, then a linear decay over the last decay_steps. cosine: decays from the warm-up to the end.");
  schema.add("warmup_steps", c.warmup_steps)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help("Length of the linear warm-up.");
  schema.add("decay_steps", c.decay_steps)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help("Length of the final decay of wsd; 0 for the other kinds.");
  schema.add("min_lr_ratio", c.min_lr_ratio)
      .at_least(0)
      .at_most(1)
      .help("Learning rate at the end of the decay, as a part of the peak; 0 for constant.");
}

void declare_parallel(Schema& schema, ParallelConfig& c) {
  schema.section("parallel", "Mesh of ranks, outermost dimension first: pp, dp_replicate, dp_shard, cp, tp.");
  schema.add("dp_replicate", c.dp_replicate)
      .unit("ranks")
      .at_least(1)
      .at_most(most_ranks)
      .help("Replicas of the sharded model (HSDP).");
  schema.add("dp_shard", c.dp_shard)
      .unit("ranks")
      .at_least(0)
      .at_most(most_ranks)
      .help("Ranks that share one copy of parameters, gradients and optimizer states (FSDP). 0: all that are left.");
  schema.add("tp", c.tp)
      .unit("ranks")
      .at_least(1)
      .at_most(most_ranks)
      .help(
          "Tensor parallelism with sequence parallelism, over neighbouring ranks. Must divide the model's heads, "
          "kv_heads, ffn_dim and vocab_size, and the tokens of a micro-batch.");
  schema.add("tp_keep_gathered", c.tp_keep_gathered)
      .help(
          "Keep the gathered inputs of q, k, v and of w1, w3 from forward to backward: two gathers a block less, for "
          "memory that tp does not divide. false: gather them again in backward.");
  schema.add("async_tp", c.async_tp)
      .help(
          "Asynchronous tensor parallelism: each rank's part of a gathered input and of a sum travels by itself, "
          "beside "
          "the GEMMs of the other parts, of the blocks' linears. The same numbers where a GEMM of some rows gives the "
          "bits of one of all, as on the CPU. Not with the rowwise recipes; float8 needs parts of 16 tokens.");
  schema.add("cp", c.cp)
      .unit("ranks")
      .at_least(1)
      .at_most(most_ranks)
      .help("Context parallelism. Not available yet: 1.");
  schema.add("pp", c.pp).unit("ranks").at_least(1).at_most(most_ranks).help("Pipeline stages. Not available yet: 1.");
  schema.add_choice("reshard_after_forward", c.reshard_after_forward, {"auto", "always", "never"})
      .help(
          "always: gathered weights are freed after forward and gathered again in backward. never: they stay until the "
          "optimizer step. auto: never where dp_shard is 1, else always.");
  schema.add_choice("overlap", c.overlap, {"auto", "true", "false"})
      .help(
          "Gather the next block's weights and reduce the last one's gradients on streams of their own while the model "
          "computes; takes the gradients of one more block. auto: on a GPU where dp_shard is above 1. true on a CPU, "
          "whose calls are done when they return, takes the memory and gains nothing.");
  schema.add_choice("gradient_wire", c.gradient_wire, {"fp32", "bf16"})
      .help(
          "Form in which gradients travel between the ranks of dp_shard; they are summed in fp32 either way. bf16: "
          "half "
          "the bytes, for one rounding of each rank's gradients; needs dp_shard above 1. Sums over replicas and tp "
          "stay "
          "fp32.");
  schema.add("one_rank_exchange", c.one_rank_exchange)
      .help(
          "For measurements: a shard group of one rank gathers and reduces as a larger one does, through NCCL on a "
          "GPU, "
          "so that a profile of one GPU shows what hides behind compute. Takes memory and time; sums over several "
          "micro-batches round in another order.");
  schema.add("check_replicas_every", c.check_replicas_every)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help(
          "Steps between comparisons of the fp32 master weights that ranks have in common: replicas all of theirs, a "
          "tp group what it does not cut. Those that differ end the run. 0: never.");
}

void declare_float8(Schema& schema, Float8Config& c) {
  schema.section("float8", "Details of `precision: float8`; without effect in the other precisions.");
  schema.add_choice("recipe", c.recipe, float8_recipe_names())
      .help(
          "How scales are chosen. tensorwise: one a tensor, from its absolute maximum at the time. rowwise: one for "
          "each row or column along which a GEMM sums, so that every operand is cast twice; weights travel in bf16. "
          "rowwise_with_gw_hp: rowwise, with the GEMM of the weight's gradient in bf16 and one scale for the weight in "
          "the GEMM of the input's gradient. delayed: one a tensor from the maxima of the steps before, as "
          "TransformerEngine; what is larger than they were saturates, and the first step is dynamic.");
  schema.add("delayed_history", c.delayed_history)
      .unit("steps")
      .at_least(1)
      .at_most(1 << 20)
      .help("Recipe delayed: absolute maxima that are remembered of each tensor.");
  schema.add("delayed_margin", c.delayed_margin)
      .unit("powers of two")
      .at_least(0)
      .at_most(16)
      .help("Recipe delayed: how far below the format's maximum the largest remembered value is put.");
  schema.add_choice("delayed_algorithm", c.delayed_algorithm, {"max", "most_recent"})
      .help("Recipe delayed: which of the remembered maxima gives the scale.");
  schema.add_choice("all_gather", c.all_gather, {"auto", "true", "false"})
      .help(
          "true: cast weights on the owning shard and gather 8-bit bytes. false: gather bf16 and cast afterwards. "
          "auto: true for the recipes that allow it, those of one scale a tensor, else false.");
  schema.add_choice("round_scales_to_power_of_two", c.round_scales_to_power_of_two, {"auto", "true", "false"})
      .help(
          "Round scales down to a power of two, so that multiplying by them rounds nothing. auto: true for the rowwise "
          "recipes, as torchao has it, false for the others.");
  schema.add_choice("accumulate", c.accumulate, {accumulate_names.begin(), accumulate_names.end()})
      .help(
          "How the CPU sums the products of 8-bit GEMMs. fp32. hopper: as an H100's tensor cores do, with 13 fraction "
          "bits; the forward GEMM with fast accumulation, the gradients promoted to fp32 every 128 products, as a run "
          "on the GPU has it. hopper_fast, hopper_slow: all three GEMMs fast, or all promoted. With device cuda the "
          "GPU's own way is the only one: fp32, the default.");
  schema.add("bf16_linears", c.bf16_linears)
      .help(
          "Linears that stay in bf16, by any part of their weights' names (attention.wq, feed_forward.w2, layers.3., "
          "...; layers.1 without a dot behind it is also layers.10).");
  schema.add("bf16_first_layers", c.bf16_first_layers)
      .unit("blocks")
      .at_least(0)
      .help("Blocks at the model's beginning whose linears stay in bf16.");
  schema.add("bf16_last_layers", c.bf16_last_layers)
      .unit("blocks")
      .at_least(0)
      .help("Blocks at the model's end whose linears stay in bf16.");
  schema.add("filter_small_kn", c.filter_small_kn)
      .help(
          "Linears that are too small to gain from 8 bits stay in bf16, as torchao's auto_filter_small_kn decides it "
          "for an H100 from outputs N and inputs K of the whole model's weight. tensorwise: N <= 1024 and K <= 4096.");
}

void declare_recompute(Schema& schema, RecomputeConfig& c) {
  schema.section("recompute",
                 "Activations that are made again before backward instead of kept from forward: less memory for more "
                 "work, and the same bits. The log shows at start what a choice costs; MFU does not count the work.");
  schema.add_choice("mode", c.mode, {recompute_modes.begin(), recompute_modes.end()})
      .help(
          "none: everything is kept. full: a block keeps its input alone. selective: it keeps what preset or keep "
          "says.");
  schema.add_choice("preset", c.preset, {recompute_presets.begin(), recompute_presets.end()})
      .help(
          "For selective, what is made again. elementwise: outputs of the norms, SwiGLU's product and, in float8, the "
          "cast of the attention output; no GEMM. ffn: gate and up too, most of the bytes. linears: everything but "
          "the attention output.");
  schema.add("keep", c.keep)
      .help(
          "For selective, in place of a preset, what is kept: any of attention_input, q, k, v, attention_output, "
          "attention_cast (float8), residual (after attention), ffn_input, gate, up, ffn_product.");
  schema.add("every", c.every)
      .unit("blocks")
      .at_least(1)
      .at_most(1e6)
      .help("Recompute in every N-th block only; the others keep everything.");
}

void declare_checkpoint(Schema& schema, CheckpointConfig& c) {
  schema.section("checkpoint",
                 "State saved to the folder checkpoints in the run's folder, and runs that go on from it.");
  schema.add("interval", c.interval)
      .unit("steps or minutes")
      .help(
          "How often the state is saved: N or \"N steps\", \"N min\", auto or off. auto: every 1 to 60 minutes, by the "
          "measured cost of a checkpoint and failure_gpu_hours. Unless off, a run that stops or finishes leaves a "
          "checkpoint of its last step too. off: nothing is saved.");
  schema.add("keep", c.keep)
      .unit("checkpoints")
      .at_least(1)
      .at_most(1e6)
      .help("The newest that stay, not counting damaged ones; older ones are removed after a newer one is committed.");
  schema.add("keep_every", c.keep_every)
      .unit("steps")
      .at_least(0)
      .at_most(most_steps)
      .help("Checkpoints of multiples of this step stay as well. 0: none.");
  schema.add_choice("resume", c.resume, {"never", "auto", "must"})
      .help(
          "auto: the run goes on from the newest valid checkpoint in its folder, where there is one. must: refused "
          "without one. never: refused with one.");
  schema.add("failure_gpu_hours", c.failure_gpu_hours)
      .unit("hours")
      .above(0)
      .at_most(1e12)
      .help(
          "Mean time between stops that nobody asked for, of one GPU (or rank): the whole run's times its ranks; for "
          "interval auto.");
  schema.add("test_write", c.test_write)
      .help("Save after the first step of every start as well, to prove that the storage works.");
  schema.add("writers_per_node", c.writers_per_node)
      .unit("ranks")
      .help(
          "all: every rank writes a file. A number: so many ranks of each node, each for its neighbours too, whose "
          "pieces lie in memory that the node shares; fewer and larger files.");
  schema.add("allow_changes", c.allow_changes)
      .help(
          "Options, such as optimizer.lr, with other values of which the run may go on, although they decide its "
          "result: precision, parallel.gradient_wire and those of optimizer, schedule and float8.");
}

void declare_machine(Schema& schema, RunConfig& c) {
  schema.section("comm", "Communication between ranks.");
  schema.add("timeout_seconds", c.comm.timeout_seconds)
      .unit("seconds")
      .above(0)
      .help("A collective that takes longer ends the job with a message that names it and its phase.");
  schema.add("start_timeout_seconds", c.comm.start_timeout_seconds)
      .unit("seconds")
      .above(0)
      .help(
          "The same until the end of the first step: ranks open data, compile and allocate for different lengths of "
          "time.");
  schema.add("checkpoint_timeout_seconds", c.comm.checkpoint_timeout_seconds)
      .unit("seconds")
      .above(0)
      .help("The same while checkpoints are written or read: ranks wait for the slowest disk.");
  schema.add("trace", c.comm.trace).help("Write every collective and GEMM to trace-rankN.jsonl in the run's folder.");
  schema.section("cpu", "The CPU backend.");
  schema.add_choice("gemm", c.cpu.gemm, {"auto", "f32", "bf16"})
      .help(
          "Type to which operands of bf16 and float8 GEMMs are widened. auto: by vendor and features of the "
          "processor.");
  schema.add("threads", c.cpu.threads)
      .unit("threads")
      .at_least(0)
      .at_most(4096)
      .help("OpenMP threads a rank. 0: OMP_NUM_THREADS, else the cores of the node over its ranks.");
}

void declare_cuda(Schema& schema, CudaSettings& c) {
  schema.section("cuda", "The CUDA backend.");
  schema.add("deterministic", c.deterministic)
      .help(
          "The same bits from run to run. Attention's backward then takes memory that grows with the square of the "
          "sequence (it is in the memory plan), and GEMMs lose some algorithms.");
  schema.add_choice("gemm", c.gemm, {"heuristic", "timed"})
      .help(
          "How a GEMM's algorithm is chosen when its shape is first met: cuBLASLt's first proposal, or the fastest of "
          "its proposals, measured once and logged.");
  schema.add("gemm_plans", c.gemm_plans)
      .help("File of choices: read and used again; with timed, new ones are added. Empty: none.");
}

void declare_nccl(Schema& schema, NcclSettings& c) {
  schema.section("nccl", "NCCL, which carries what the ranks of device cuda exchange.");
  const auto group = [&](const std::string& name, NcclGroupSettings& g) {
    schema.add(name + "_min_ctas", g.min_ctas)
        .unit("thread blocks")
        .at_least(0)
        .at_most(most_ctas)
        .help("Of the GPU, that a collective of " + name + " takes at least. 0: NCCL's choice.");
    schema.add(name + "_max_ctas", g.max_ctas)
        .unit("thread blocks")
        .at_least(0)
        .at_most(most_ctas)
        .help("The same at most: fewer leave more of the GPU to what is computed beside it. 0: NCCL's choice.");
    schema.add_choice(name + "_cta_policy", g.cta_policy, {std::begin(cta_policies), std::end(cta_policies)})
        .help("NCCL_CTA_POLICY of " + name +
              ": efficiency takes fewer, zero none where copy engines can do it (2.27, 2.28; zero needs symmetric "
              "buffers).");
  };
  group("dp_shard", c.dp_shard);
  schema.add_choice("dp_shard_buffers", c.dp_shard.buffers, {std::begin(nccl_buffers), std::end(nccl_buffers)})
      .help(
          "Memory of gathered weights and of gradients. plain: the device's pool. registered: NCCL's own, registered, "
          "so "
          "that network and NVLink reach it without a copy (NCCL 2.19). symmetric: as windows that are alike on all "
          "ranks, for NCCL's symmetric kernels and copy engines within an NVLink domain (2.27). Both keep every buffer "
          "until the end: see the memory plan.");
  group("dp_replicate", c.dp_replicate);
  group("tp", c.tp);
  schema.add("tuning_file", c.tuning_file)
      .help(
          "The cluster's tuning file, as octet tune fit writes it. Loads libnccl-tuner-octet.so into NCCL, which "
          "applies "
          "the file (it sets NCCL_TUNER_PLUGIN and OCTET_TUNING_FILE). The ranks compare what they have before NCCL "
          "starts. Empty: what the environment says.");
  schema.add("ranks_per_gpu", c.ranks_per_gpu)
      .unit("ranks")
      .at_least(1)
      .at_most(64)
      .help(
          "Ranks that share a GPU, for tests of several ranks on one: each gets an NCCL_HOSTID of its own, and they "
          "speak over the network.");
}

}  // namespace

void declare_options(Schema& schema, RunConfig& config) {
  declare_top(schema, config);
  declare_run(schema, config);
  declare_train(schema, config.train);
  declare_data(schema, config.data);
  declare_optimizer(schema, config.optimizer);
  declare_schedule(schema, config.schedule);
  declare_parallel(schema, config.parallel);
  declare_float8(schema, config.float8);
  declare_recompute(schema, config.recompute);
  declare_checkpoint(schema, config.checkpoint);
  declare_machine(schema, config);
  declare_cuda(schema, config.cuda);
  declare_nccl(schema, config.nccl);
}

void declare_stored_options(Schema& schema, RunConfig& config) {
  declare_options(schema, config);
  schema.section("model_shape", "The keys of the model's file.");
  declare_model_options(schema, config.model);
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

}  // namespace octet
