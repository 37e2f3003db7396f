#include "src/base/options/text.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/run_config/options/sections.h"

namespace octet {

void declare_parallel(Schema& schema, ParallelConfig& c) {
  schema.section("parallel", "Mesh of ranks, outermost dimension first: pp, dp_replicate, dp_shard, cp, tp.");
  schema.add("dp_replicate", c.dp_replicate)
      .unit("ranks")
      .between(1, most_ranks)
      .help("Replicas of the sharded model (HSDP).");
  schema.add("dp_shard", c.dp_shard)
      .unit("ranks")
      .between(0, most_ranks)
      .help("Ranks that share one copy of parameters, gradients and optimizer states (FSDP). 0: all that are left.");
  schema.add("tp", c.tp)
      .unit("ranks")
      .between(1, most_ranks)
      .help(
          "Tensor parallelism with sequence parallelism, over neighbouring ranks. Must divide the model's heads, "
          "kv_heads, ffn_dim and vocab_size, and the tokens of a micro-batch.");
  schema.add("tp_keep_gathered", c.tp_keep_gathered)
      .help(
          "Keep the gathered inputs of q, k, v and of w1, w3 from forward to backward: two gathers a block less, for "
          "memory that tp does not divide. false: gather them again in backward.");
  schema.add("async_tp", c.async_tp)
      .help(fmt::format(
          "Asynchronous tensor parallelism: in the blocks' linears each rank's part of a gathered input, or of a sum, "
          "travels by itself, while the GEMMs of the other parts compute. The bits are the same if a GEMM of some rows "
          "gives the same bits as a GEMM of all rows, as in float8 on the CPU. Not with the float8 recipes that gather "
          "in bf16 ({}). In float8 each part must have a multiple of 16 tokens.",
          joined(float8_recipes_where(&Recipe::casts_where_read))));
  schema.add("cp", c.cp).unit("ranks").between(1, most_ranks).help("Context parallelism. Not available yet: 1.");
  schema.add("pp", c.pp)
      .unit("ranks")
      .between(1, most_ranks)
      .help(
          "Pipeline parallelism: the blocks are divided among so many groups of ranks, and micro-batches go through "
          "them one after the other. Needs at least as many micro-batches a step.");
  schema.add_choice("pp_schedule", c.pp_schedule)
      .help(
          "Order of a pipeline's passes. 1f1b: one stage a rank, a backward after each forward. interleaved: pp_chunks "
          "stages a rank, a smaller bubble for more messages and memory. zb-h1: gradients of weights apart, where a "
          "rank would wait.");
  schema.add("pp_chunks", c.pp_chunks).between(1, 1024).help("Stages a rank, with pp_schedule interleaved.");
  schema.add("pp_layout", c.pp_layout)
      .help(
          "Blocks of each pipeline stage from the first on, as \"7, 8, 8, 7\"; stage s is on rank s modulo pp. The "
          "embedding is with the first block, the head with the last. auto: as even as the FLOPs of blocks and head "
          "allow.");
  schema.add_choice("zero", c.zero)
      .was("reshard_after_forward", {{"auto", "auto"}, {"always", "3"}, {"never", "2"}})
      .help(
          "What each rank of dp_shard keeps whole. 3: nothing, weights are gathered and let go around each use. 2: "
          "weights, gathered once a step, at their first use after the update. 1: as 2, and gradients in fp32, which "
          "are reduced once a step in place of once a micro-batch. auto: 3, or 2 where dp_shard is 1 or pp is above 1. "
          "2 and 3 have the same bits, 1 sums micro-batches in another order.");
  schema.add_choice("whole_gradients", c.whole_gradients)
      .help(
          "Type in which zero 1 keeps the sum of the gradients of the earlier micro-batches of a step; the last "
          "micro-batch is added in fp32. bf16: half the memory, but the sum is rounded after each of the earlier ones. "
          "Needs parallel.zero 1, dp_shard above 1 and several micro-batches a step.");
  schema.add_choice("overlap", c.overlap)
      .help(
          "Gather the next block's weights and reduce the last one's gradients on streams of their own while the model "
          "computes; takes the gradients of one more block. auto: on a GPU where dp_shard is above 1. true on a CPU, "
          "whose calls are done when they return, takes the memory and gains nothing.");
  schema.add_choice("gradient_wire", c.gradient_wire)
      .help(
          "Type in which gradients travel between the ranks of dp_shard; they are summed in fp32 either way. bf16: "
          "half the bytes, and each rank's gradients are rounded once, in the blocks' linears by the GEMMs that make "
          "them. With dp_shard 1 nothing travels: bf16 then keeps the gradients of the blocks' linears in bf16 for the "
          "optimizer, and needs one micro-batch a step, no replicas, no pipeline and a precision other than fp32. Sums "
          "over replicas and tp stay in fp32.");
  schema.add("one_rank_exchange", c.one_rank_exchange)
      .help(
          "For measurements: a shard group of one rank gathers and reduces as a larger one does, through NCCL on a "
          "GPU, so that a profile of one GPU shows what hides behind compute. Takes memory and time; sums over several "
          "micro-batches round in another order.");
  schema.add("check_replicas_every", c.check_replicas_every)
      .unit("steps")
      .between(0, most_steps)
      .help(
          "Steps between comparisons of the fp32 master weights that several ranks hold: all weights between replicas, "
          "within a tp group the weights that tp does not cut, and a tied embedding between the first and the last "
          "stage of a pipeline. They are compared before each checkpoint too. A difference ends the run with exit code "
          "76. 0: never, except a tied embedding in a pipeline, before each checkpoint.");
}

void declare_nccl(Schema& schema, NcclSettings& c) {
  schema.section("nccl", "NCCL, which carries what the ranks of device cuda exchange.");
  const auto group = [&](const std::string& name, NcclGroupSettings& g) {
    schema.add(name + "_min_ctas", g.min_ctas)
        .unit("thread blocks")
        .between(0, most_ctas)
        .help("Fewest thread blocks of the GPU that a collective of " + name + " takes. 0: NCCL's choice.");
    schema.add(name + "_max_ctas", g.max_ctas)
        .unit("thread blocks")
        .between(0, most_ctas)
        .help("Most thread blocks of the GPU that a collective of " + name +
              " takes: fewer leave more of it to what is computed beside the collective. 0: NCCL's choice.");
    const char* policies =
        name == "dp_shard"
            ? "efficiency takes fewer where NVLink SHARP serves registered buffers, in one node or with SHARP across "
              "nodes, no tuner is loaded, and neither NCCL_ALGO nor NCCL_PROTO is set (2.27); zero takes none where "
              "copy "
              "engines can gather symmetric buffers, in one node (2.28). Elsewhere NCCL keeps to its default."
            : "default alone, since NCCL applies the others to registered buffers, which this group has not got.";
    schema.add_choice(name + "_cta_policy", g.cta_policy).help("NCCL_CTA_POLICY of " + name + ": " + policies);
  };
  group("dp_shard", c.dp_shard);
  schema.add_choice("dp_shard_buffers", c.dp_shard.buffers)
      .help(
          "Memory of gathered weights and of gradients. plain: the device's pool. registered: NCCL's own, registered, "
          "so that NVLink SHARP (NCCL 2.19), NVLink (2.23) and, where NCCL_PXN_DISABLE is 1, the network reach it "
          "without a copy. symmetric: as windows that are alike on all "
          "ranks, for NCCL's symmetric kernels and copy engines within an NVLink domain (2.27). Both keep every buffer "
          "until the end: see the memory plan.");
  group("dp_replicate", c.dp_replicate);
  group("tp", c.tp);
  schema.add("pp_max_ctas", c.pp.max_ctas)
      .unit("thread blocks")
      .between(0, most_ctas)
      .help(
          "Most thread blocks of the GPU, a power of two, that a message between two stages of a pipeline takes. The "
          "receiver takes its blocks one pass early and holds them until the message has come: within a node, fewer "
          "blocks leave more of the GPU to that pass. 0: NCCL's choice, up to 32 within a node and 2 or 4 across "
          "nodes.");
  schema.add("tuning_file", c.tuning_file)
      .help(
          "The cluster's tuning file, as octet tune fit writes it. Loads libnccl-tuner-octet.so into NCCL, which "
          "applies the file (it sets NCCL_TUNER_PLUGIN and OCTET_TUNING_FILE). The ranks compare what they have before "
          "NCCL starts. Empty: what the environment says.");
  schema.add("ranks_per_gpu", c.ranks_per_gpu)
      .unit("ranks")
      .between(1, 64)
      .help(
          "Ranks that share a GPU, for tests of several ranks on one: each gets an NCCL_HOSTID of its own, and they "
          "speak over the network.");
}

}  // namespace octet
