#include "src/run_config/options/resume_rules.h"
#include "src/run_config/options/sections.h"

namespace octet {

void declare_checkpoint(Schema& schema, CheckpointConfig& c) {
  schema.section("checkpoint",
                 "State saved to the folder checkpoints in the run's folder, and runs that go on from it.");
  schema.add("interval", c.interval)
      .unit("steps or minutes")
      .help(
          "How often the state is saved: N or \"N steps\", \"N min\", auto or off. auto: every 1 to 60 minutes, by the "
          "measured cost of a checkpoint and failure_gpu_hours. Unless off, a run that stops or finishes leaves a "
          "checkpoint of its last step too. off: nothing is saved.");
  schema.add("max_age", c.max_age)
      .unit("steps or minutes")
      .help(
          "How old the last committed checkpoint may get where saves fail, in the forms of interval. A failed save is "
          "logged and tried again at the next interval; when the last committed checkpoint is that old one more is "
          "tried, and when it fails too the run ends with 70. auto: twice the interval. off: the run goes on.");
  schema.add("keep", c.keep)
      .unit("checkpoints")
      .between(1, 1e6)
      .help(
          "The newest that stay, not counting damaged ones; older ones are removed after each commit and at a start.");
  schema.add("keep_every", c.keep_every)
      .unit("steps")
      .between(0, most_steps)
      .help("Checkpoints of multiples of this step stay as well. 0: none.");
  schema.add_choice("resume", c.resume)
      .help(
          "auto: the run goes on from the newest valid checkpoint in its folder, where there is one. must: refused "
          "without one. never: refused with one.");
  schema.add("failure_gpu_hours", c.failure_gpu_hours)
      .unit("hours")
      .above(0)
      .at_most(1e12)
      .help(
          "For interval auto: mean time between unplanned stops of one GPU (or rank), which is the whole run's mean "
          "time between unplanned stops multiplied by its number of ranks.");
  schema.add("test_write", c.test_write)
      .help(
          "Save after the first step of every start as well, to prove that the storage works; when that fails the run "
          "ends.");
  schema.add("writers_per_node", c.writers_per_node)
      .unit("ranks")
      .help(
          "all: every rank writes a file. A number: so many ranks of each node write, each also for its neighbours, "
          "which copy their pieces into memory that the ranks of the node share. That makes fewer and larger files.");
  schema.add("allow_changes", c.allow_changes)
      .help(
          "Options, such as optimizer.lr, that may have other values than in the checkpoint from which the run goes "
          "on, although they decide its result. Possible are " +
          allowed_changes_text() + ".");
}

void declare_machine(Schema& schema, RunConfig& c) {
  schema.section("comm", "Communication between ranks.");
  schema.add("timeout_seconds", c.comm.timeout_seconds)
      .unit("seconds")
      .above(0)
      .help(
          "A collective that takes longer, or a rank that stands still for longer, ends the job with a message that "
          "names what it was in and the phase.");
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
  schema.add_choice("gemm", c.cpu.gemm)
      .help(
          "Type to which operands of bf16 and float8 GEMMs are widened; with f32, attention in bf16 multiplies in fp32 "
          "too. auto: by vendor and features of the processor.");
  schema.add("threads", c.cpu.threads)
      .unit("threads")
      .between(0, 4096)
      .help(
          "OpenMP threads of each rank. 0: OMP_NUM_THREADS if it is set, else the cores of the node divided by its "
          "ranks.");
  schema.add_choice("bind", c.cpu.bind)
      .help(
          "auto: each rank binds itself to cores near its GPU; the ranks of a node divide fairly the cores that the "
          "job has there. On device cpu ranks are bound only within a Slurm job. bindings.txt in the run's folder says "
          "which rank has which cores. off: ranks run where the launcher lets them.");
}

void declare_cuda(Schema& schema, RunConfig& config) {
  CudaSettings& c = config.cuda;
  schema.section("cuda", "The CUDA backend.");
  schema.add("deterministic", c.deterministic)
      .help(
          "The same bits from run to run. Attention's backward then takes memory that grows with the square of the "
          "sequence (in the plan that a run makes on its GPU, not in those of dry runs and submit), and GEMMs lose "
          "some algorithms.");
  schema.add_choice("gemm", c.gemm)
      .help(
          "How the algorithms of GEMMs are chosen: cuBLASLt's first proposals; or the fastest of its proposals, timed "
          "before the first step, kept in gemm-plans in the run's folder and used again at every resume. auto: timed "
          "where the trials cost less than 1 % of the FLOPs that the run still has to do, except with "
          "cuda.deterministic.");
  schema.add("gemm_plans", c.gemm_plans)
      .help(
          "A file of chosen GEMM algorithms that takes the place of gemm-plans in the run's folder: the choices in it "
          "are used, and where GEMMs are timed the new choices are added to it. Empty: the run's own gemm-plans.");
  schema.add_choice("attention", c.attention)
      .help(
          "How the plans of cuDNN's attention are chosen, forward and backward, for rows that are one document: its "
          "first proposals; or the fastest of its proposals, timed before the first step and kept in attention-plans "
          "in the run's folder. auto decides as cuda.gemm does, but adds to the cost of the trials one second for each "
          "pass, in which cuDNN builds plans, counted in FLOPs at the bf16 peak of the GPU's data sheet.");
  schema.add_choice("document_attention", c.document_attention)
      .help(
          "With data.document_mask: what computes attention in rows that hold several documents. cudnn: cuDNN, for up "
          "to 1024 documents a micro-batch; Octet's own kernels for more, with cuda.deterministic, and where cuDNN has "
          "no plan. own: always Octet's own kernels, which give the same bits in every run but do not use the tensor "
          "cores, and are many times slower.");
  schema.add_choice("graphs", config.graphs)
      .help(
          "Whether forward and backward of a micro-batch are given to the GPU as one CUDA graph where they repeat: the "
          "same bits, with shorter gaps between kernels. Not where ranks exchange within it (parallel.dp_shard, "
          "parallel.tp). auto: where kernels take less than 100 us on average by the GPU's data sheet; the log has the "
          "figures.");
}

}  // namespace octet
