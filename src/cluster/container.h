#pragma once

#include <string>
#include <vector>

#include "src/cluster/profile.h"

namespace octet {

/// What a job needs of the host within its container, beside container.mounts.
struct ContainerUse {
  std::vector<std::string> folders;  ///< absolute; seen there under the same paths
  std::string workdir;               ///< absolute; stands in for container.workdir where the profile has none
};

/// "SOURCE:TARGET[:FLAGS]" of every mount: the profile's, and each folder that lies below none of their targets or of
/// another folder.
std::vector<std::string> container_mounts(const ContainerProfile& container, const ContainerUse& use);

/// The options by which pyxis' srun starts a step in the container; none with another runtime.
std::vector<std::string> pyxis_options(const ContainerProfile& container, const ContainerUse& use);

/// The words before a program that runs in the container on this node: apptainer and its options. With `gpus` the
/// driver is passed in.
std::vector<std::string> apptainer_words(const ContainerProfile& container, const ContainerUse& use, bool gpus);

/// octet or octet-train, as it is called in the container.
std::string program_in(const ContainerProfile& container, const std::string& name);

/// A script that stands for `octet` on a node that has it in the container alone: it starts it by apptainer, or by a
/// step of srun on the job's first node.
std::string container_octet(const ContainerProfile& container, const ContainerUse& use, bool gpus);

/// Why an entry of container.mounts, or of container.options, cannot be one; empty where it can.
std::string mount_problem(const std::string& text);
std::string container_option_problem(const std::string& text, ContainerRuntime runtime);

}  // namespace octet
