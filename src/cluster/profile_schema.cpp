#include "src/cluster/profile.h"

namespace octet {
namespace {

constexpr double most_nodes = 1 << 16;

// Above what any machine has, and below what it has in the next smaller unit (MiB; Mb/s, or the rate of a whole node).
constexpr double most_node_gib = 1 << 16;
constexpr double most_gpu_gib = 1024;
constexpr double most_card_gbps = 1600;

void declare_hardware(Schema& schema, ClusterProfile& p) {
  schema.section("nodes", "The machines.");
  schema.add("count", p.nodes.count)
      .unit("nodes")
      .between(0, most_nodes)
      .help("Most nodes that a job may have, with its spares. 0: no limit is known.");
  schema.add("memory_gib", p.nodes.memory_gib)
      .required()
      .unit("GiB")
      .between(1, most_node_gib)
      .help("Memory of a node.");

  schema.section("gpus", "The accelerators of a node.");
  schema.add("per_node", p.gpus.per_node).between(0, 64).help("GPUs of a node. 0: it trains on its CPUs.");
  schema.add("type", p.gpus.type).help("What they are, such as H100 SXM: for readers, and for the rates of a dry run.");
  schema.add("memory_gib", p.gpus.memory_gib)
      .unit("GiB")
      .between(0, most_gpu_gib)
      .help("Memory of one, as nvidia-smi shows it. The memory plan of a run is held against it.");
  schema.add("reserved_gib", p.gpus.reserved_gib)
      .unit("GiB")
      .at_least(0)
      .help("What of it the driver's context, kernels, cuBLASLt and cuDNN take, which the plan does not know.");
  schema.add_choice("request", p.gpus.request)
      .help("How sbatch is asked for them: --gpus-per-node=N, --gres=gpu:N, or not at all.");
  schema.add("slurm_type", p.gpus.slurm_type)
      .help(
          "Slurm's name of the type to ask for, such as h100 where `sinfo --format=%G` prints gpu:h100:8. Empty: any.");

  schema.section("nics", "The network cards of a node that carry the training's traffic.");
  schema.add("per_node", p.nics.per_node).between(0, 64).help("Cards of a node.");
  schema.add("gbps", p.nics.gbps).unit("Gb/s").between(0, most_card_gbps).help("Rate of one.");
  schema.add("hca", p.nics.hca)
      .help(
          "Names of the verbs devices that NCCL may use, matched whole, nics.per_node of them. Empty: all, also those "
          "of "
          "a storage network.");
  schema.add("frontend", p.nics.frontend)
      .help(
          "Interface of the ordinary network, which NCCL's bootstrap and MPI use. If several are given, with commas "
          "between them, each node uses those that it has. Empty: NCCL and MPI choose one, and MPI may choose the "
          "bridge of a container runtime.");
  schema.add("traffic_class", p.nics.traffic_class)
      .between(-1, 255)
      .help(
          "The fabric's lossless class (NCCL_IB_TC). On RoCE it is the byte of the IP header, 4 * DSCP + ECN bits: "
          "DSCP "
          "26 is 104, or 106 with ECT(0). -1: not set.");

  schema.section("cpu", "The processors of a node.");
  schema.add("cores", p.cpu.cores).required().between(1, 4096).help("Cores of a node.");
  schema.add("threads_per_core", p.cpu.threads_per_core)
      .between(1, 8)
      .help("Hardware threads of a core as Slurm counts CPUs: 2 where it counts hyper-threads.");
  schema
      .add_choice<CoreBinding>("bind", p.cpu.bind,
                               {{"auto", CoreBinding::automatic},
                                {"off", CoreBinding::off},
                                {"cores", CoreBinding::automatic},
                                {"none", CoreBinding::off}})
      .help(
          "auto: each rank binds itself to cores near its GPU, which the ranks of a node share (docs/slurm.md). off: "
          "wherever there is room, unless the run says cpu.bind. cores and none are their old names.");
}

void declare_network(Schema& schema, NetworkProfile& n) {
  schema.section("network", "The switches between the cards, which octet tune draws and simulates.");
  schema.add("rails", n.rails)
      .help(
          "Cards of equal index hang on one leaf, and each index has a leaf of its own (rail-optimised). Otherwise all "
          "cards of a node hang on the same leaf.");
  schema.add("leaf_nodes", n.leaf_nodes)
      .unit("nodes")
      .between(0, most_nodes)
      .help("Nodes on the same leaf; with rails, on the same set of leaves. 0: unknown.");
  schema.add("oversubscription", n.oversubscription)
      .between(1, 1000)
      .help("Rate of a leaf down to the cards over its rate up. 1: as much up as down.");
  schema.add("pod_nodes", n.pod_nodes)
      .unit("nodes")
      .between(0, most_nodes)
      .help(
          "Nodes of a pod. Leaves of one pod reach each other without the switches that join pods. 0: all nodes are "
          "one pod.");
  schema.add("pod_oversubscription", n.pod_oversubscription)
      .between(1, 1000)
      .help("Rate of a pod's leaves up over the pod's rate to other pods.");
  schema.add("latency_us", n.latency_us)
      .unit("us")
      .above(0)
      .at_most(10000)
      .help(
          "Time of a small message from a card to a card on another leaf of the same pod, without software: half of a "
          "round trip, which is what ib_write_lat prints.");
}

void declare_slurm(Schema& schema, SlurmProfile& s) {
  schema.section("slurm", "What sbatch is told. An empty text is left out.");
  schema.add("partition", s.partition).help("--partition.");
  schema.add("account", s.account).help("--account.");
  schema.add("qos", s.qos).help("--qos.");
  schema.add("constraint", s.constraint).help("--constraint: features of nodes.");
  schema.add("reservation", s.reservation).help("--reservation.");
  schema.add("mail_user", s.mail_user).help("--mail-user: whom Slurm writes to; default: who submits.");
  schema.add("mail_type", s.mail_type)
      .help(
          "--mail-type: the events of which Slurm writes, such as END,FAIL,TIME_LIMIT_80. It replaces a --mail-type in "
          "slurm.options.");
  schema.add("time", s.time).help("Time limit of a job where --time is not given: minutes, H:MM:SS, D-H, D-H:MM:SS.");
  schema.add("exclusive", s.exclusive).help("Whole nodes: --exclusive and --mem=0.");
  schema.add_choice("topology", s.topology)
      .help("The cluster's topology plugin; jobs ask for few leaves (--switches) or whole blocks (--segment).");
  schema.add("leaf_nodes", s.leaf_nodes)
      .unit("nodes")
      .between(0, most_nodes)
      .help(
          "Nodes below one leaf switch; with block the base of Slurm's BlockSizes, which is at most the smallest block "
          "(scontrol show topology). 0: unknown, and the job asks for no number of leaves.");
  schema.add("switch_wait_minutes", s.switch_wait_minutes)
      .unit("minutes")
      .between(0, 100000)
      .help("How long the job may wait for as few leaves as possible; it starts on more after that.");
  schema.add("options", s.options)
      .help(
          "Further options of sbatch, one a text: [--comment=my comment]. A value with spaces is one argument. An "
          "option that the job script sets itself, or that conflicts with it, is refused; the message says why, or "
          "which key to use.");
}

void declare_launcher(Schema& schema, LauncherProfile& l) {
  schema.section("launcher", "How ranks are started, and what the job script does when they end.");
  schema.add_choice("mpi", l.mpi, {"pmi2", "pmix"})
      .help("srun --mpi. pmi2 works with MPICH as Debian has it; pmix needs one that was built with it.");
  schema.add("ranks_per_node", l.ranks_per_node)
      .between(0, 1024)
      .help("Ranks that are started on each node. 0: one for each GPU; nodes without GPUs need a number.");
  schema.add_choice("rank_order", l.rank_order)
      .help("Order of the nodes' ranks: leaf by leaf of Slurm's topology, or as Slurm lists the nodes.");
  schema.add("min_lead_seconds", l.min_lead_seconds)
      .unit("s")
      .between(10, 36000)
      .help(
          "Least time before the limit at which the job is told to save and stop. Where a run directory knows how long "
          "a "
          "checkpoint takes, the lead is twice that and 60 s, if that is more.");
  schema.add("max_restarts", l.max_restarts)
      .between(0, 1000)
      .help("Restarts without a new checkpoint after which the job stops.");
  schema.add("preflight", l.preflight).help("Check every node (octet doctor) before training.");
  schema.add("srun_options", l.srun_options)
      .help(
          "Further options of the srun that starts the ranks, one a text: [--network=job_vni]. An option that the job "
          "script sets itself, or that conflicts with it, is refused; the message says why, or which key to use.");
}

void declare_software(Schema& schema, ClusterProfile& p) {
  schema.section("storage", "File systems that all nodes see.");
  schema
      .add_list<FileSystem>(
          "file_systems", p.file_systems,
          [](Schema& element, FileSystem& f) {
            element.add("path", f.path).required().help("Absolute path of its root.");
            element.add("kind", f.kind).required().help("lustre, gpfs, nfs, local.");
            element.add("advice", f.advice).help("Striping for run directories.");
            element.add("locks", f.locks).help("Whether flock works, which preparing data needs and a run does not.");
          })
      .help(
          "A list of {path, kind, advice, locks}. The advice for the file system of the run directory is printed; with "
          "locks false programs that use HDF5 as it comes, such as h5py, are told not to lock files.");

  schema.section("software", "What programs need on a node.");
  schema.add("modules", p.software.modules).help("Environment modules that the job loads, in this order.");
  schema.add("container", p.software.container)
      .help(
          "Words that the job puts before octet-train, and before nothing else: octet itself runs on the host. For "
          "containers that container.image cannot describe; the two exclude each other. Empty: none.");
  schema.add("container_program", p.software.container_program).help("The training program behind these words.");

  ContainerProfile& c = p.container;
  schema.section("container", "A container that has octet and octet-train; the host needs neither.");
  schema.add("image", c.image)
      .help(
          "The image, as the runtime names it: /images/octet.sif, /images/octet.sqsh, docker://ghcr.io/me/octet. "
          "Empty: "
          "programs are on the host.");
  schema.add_choice("runtime", c.runtime)
      .help("What starts it: the program apptainer on each node, or pyxis, a plugin of srun.");
  schema.add("mounts", c.mounts)
      .help(
          "Folders of the host, SOURCE:TARGET or SOURCE:TARGET:FLAGS. The run directory, the folders of the data, of "
          "the "
          "model's file and of the submission, and /tmp are mounted under their own paths without being named.");
  schema.add("workdir", c.workdir)
      .help("Folder in which programs start. Empty: that of the submission, from which relative paths begin.");
  schema.add("programs", c.programs).help("Folder of octet and octet-train in it. Empty: they are on its PATH.");
  schema.add("options", c.options)
      .help(
          "Further words of apptainer exec ([--sharens]), or options of pyxis ([--container-writable]). --nv is there "
          "where nodes have GPUs.");

  schema.section("environment", "Environment variables of the job.");
  schema.add("generate", p.environment.generate).help("Generate what the fabric needs.");
  schema
      .add_list<EnvironmentValue>(
          "variables", p.environment.variables,
          [](Schema& element, EnvironmentValue& v) {
            element.add("name", v.name).required().help("Name.");
            element.add("value", v.value)
                .help("Value. An empty one is a value too, which NCCL may take for a name; see unset.");
            element.add("reason", v.reason).required().help("Why.");
            element.add("review", v.review)
                .help(
                    "Release of NCCL from which the reason may no longer hold; octet doctor "
                    "--env says so then.");
            element.add("unset", v.unset)
                .help(
                    "In place of a value: the job has no such variable, neither a generated "
                    "one nor one of the shell that submits. What nccl.conf says on the nodes "
                    "stays: write a value to replace it.");
          })
      .help(
          "A list of {name, value, reason, review}, which win over generated values, or {name, unset: true, reason}.");
}

}  // namespace

void declare_profile(Schema& schema, ClusterProfile& p) {
  schema.add("description", p.description).required().help("One line for readers.");
  schema.add("name", p.name).help("Name of the cluster in messages. Empty: the name of the file.");
  schema.add_choice("fabric", p.fabric)
      .required()
      .help(
          "What joins the nodes. custom is a network of verbs devices for which the profile itself says all values; "
          "none "
          "is a machine whose nodes are virtual.");
  declare_hardware(schema, p);
  declare_network(schema, p.network);
  declare_slurm(schema, p.slurm);
  declare_launcher(schema, p.launcher);
  declare_software(schema, p);
}

}  // namespace octet
