#include "jobs/dry_run/dry_run_options.h"

#include "src/base/options/document.h"
#include "src/metrics/peak.h"

namespace octet {

void declare(Schema& schema, DryRunOptions& o) {
  schema.add("ranks", o.ranks).required().between(1, 1 << 20).help("Ranks of the run.");
  schema.add("rank", o.rank).between(0, 1 << 20).help("The rank whose memory, collectives and timeline are shown.");
  schema.add("cluster", o.cluster)
      .help(
          "Profile under configs/clusters, or path of one: its GPUs, nodes and links. "
          "--cluster.section.key VALUE changes a key of it.");
  schema.add("gpu", o.gpu).help("A GPU by its name, where no cluster is given: " + known_gpus() + ".");
  schema.add("ranks-per-node", o.ranks_per_node)
      .between(1, 1024)
      .help("Ranks that share a node; default: the profile's, else 8.");
  schema.add("trace", o.trace)
      .help("Write the rank's collectives and GEMMs of two steps to this file, as comm.trace does.");
  schema.add("schedule", o.schedule)
      .help("Write a picture (SVG) of the pipeline's passes over time to this file (parallel.pp).");
  schema.add("timeline", o.timeline).help("Write a timeline for Perfetto to this file, as train.profile does.");
  schema.add("order", o.order)
      .help("Write each kernel and collective of a step, with its stream and what it waits for, to this file.");
}

std::string dry_run_usage() {
  DryRunOptions options;
  Schema schema;
  declare(schema, options);
  return "  --dry-run          memory plan, collectives and timeline of a rank; no MPI, no data and no device:\n"
         "                     octet-train RUN.yaml --dry-run --ranks 512 [OPTIONS]\n" +
         help_text(schema);
}

}  // namespace octet
