#include "src/cluster/profile.h"

#include <filesystem>

#include "src/base/installation.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& cluster) {
  return cluster.find('/') != std::string::npos || cluster.ends_with(".yaml") || cluster.ends_with(".yml");
}

std::string find_profile(const std::string& cluster) {
  if (is_path(cluster)) return cluster;
  std::string found = find_shared("configs/clusters/" + cluster + ".yaml");
  if (!found.empty()) return found;
  const std::vector<std::string> names = shared_names("configs/clusters", ".yaml");
  throw usage_error("cluster", "cluster {}: expected one of {}, or the path of a profile; nearest: {} (looked in {})",
                    in_quotes(cluster), joined(names), nearest(cluster, names),
                    joined(shared_folders("configs/clusters")));
}

void apply_override(Schema& schema, const std::string& key, const std::string& value) {
  Option* option = schema.find(key);
  if (option == nullptr) {
    throw usage_error("config", "command line: unknown key {} of a cluster's profile; nearest: {}", key,
                      nearest(key, schema.names()));
  }
  read_argument(*option, value);
}

}  // namespace

std::int64_t ClusterProfile::ranks_per_node() const {
  return launcher.ranks_per_node > 0 ? launcher.ranks_per_node : gpus.per_node;
}

std::int64_t ClusterProfile::cpus_per_rank() const {
  return cpu.cores / ranks_per_node() * cpu.threads_per_core;
}

const FileSystem* ClusterProfile::file_system_of(const std::string& path) const {
  const FileSystem* best = nullptr;
  for (const FileSystem& f : file_systems) {
    const bool holds = path == f.path || path.starts_with(f.path.ends_with('/') ? f.path : f.path + "/");
    if (holds && (best == nullptr || f.path.size() > best->path.size())) best = &f;
  }
  return best;
}

ClusterProfile read_profile(const std::string& cluster, const ProfileOverrides& overrides, std::int64_t leaf_nodes) {
  const std::string path = find_profile(cluster);
  ClusterProfile profile;
  Schema schema;
  declare_profile(schema, profile);
  std::vector<std::string> missing;
  read_yaml_file(schema, path, &missing);
  for (const auto& [key, value] : overrides) apply_override(schema, key, value);
  schema.add_missing(path, "", missing);
  if (!missing.empty()) {
    throw usage_error("config", "{}: {} required key(s) are missing:\n  {}", path, missing.size(),
                      joined(missing, "\n  "));
  }
  if (profile.name.empty()) profile.name = fs::path(path).stem();
  if (profile.network.leaf_nodes == 0) profile.network.leaf_nodes = leaf_nodes;
  validate(profile, schema.origins());
  return profile;
}

std::string to_yaml(ClusterProfile profile) {
  Schema schema;
  declare_profile(schema, profile);
  return to_yaml(schema);
}

std::string profile_reference_page() {
  ClusterProfile profile;
  Schema schema;
  declare_profile(schema, profile);
  return R"(# Cluster profiles

<!-- Written by `octet submit --print-reference`; a test compares. Change src/cluster/profile_schema.cpp instead. -->

A cluster is described by a YAML file, [configs/clusters/](../configs/clusters)`NAME.yaml`, and named by
`octet submit --cluster NAME`, or by the path of such a file. A name is looked up in `configs/clusters` of the current
directory, in `share/octet/configs/clusters` of the installation, and in the source tree. Every command
that takes `--cluster NAME` takes `--cluster.section.key VALUE` too, which changes a key for once: `octet submit`, `octet doctor`,
`octet tune` and `octet-train --dry-run`. `octet submit --cluster NAME --print-profile` prints what results.

A key whose default is "required" must be there; `environment.variables[].reason` is a key of each element of the list
`environment.variables`. What is missing is told all at once. Unknown and repeated keys, wrong types and impossible
combinations are errors.

From the fabric, the cards and the container come the environment variables of NCCL, UCX, enroot and HDF5 that such a cluster
needs, each with its reason in the job script; a value under `environment.variables` wins over a generated one of that name, and
`unset: true` there leaves it out. A network that comes with a plugin of NCCL needs that:
[tuning/custom.md](tuning/custom.md) says what to write.

## At the top of the file
)" + markdown(schema);
}

}  // namespace octet
