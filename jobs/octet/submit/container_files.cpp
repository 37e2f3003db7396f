#include "jobs/octet/submit/container_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "jobs/octet/submit/absolute_path.h"
#include "jobs/octet/submit/program.h"
#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/container.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

std::string container_script(const std::vector<std::string>& words, const std::string& program) {
  return fmt::format(
      "#!/bin/bash\n# Written by octet submit: the training program in its container.\nexec {} {} \"$@\"\n",
      command_text(words), command_text({program}));
}

/// What a run reads and writes: whole folders, since programs write beside a file before they rename.
ContainerUse container_use(const RunConfig& c, const std::string& working_dir) {
  ContainerUse use{.folders = {working_dir, c.run_dir}, .workdir = working_dir};
  for (const DataSource& source : c.data.train) use.folders.push_back(fs::path(source.path).parent_path());
  std::error_code unknown;
  if (fs::exists(c.model_name, unknown)) use.folders.push_back(fs::path(absolute_path(c.model_name)).parent_path());
  if (fs::exists(c.init.from, unknown)) {
    use.folders.push_back(absolute_path(c.init.from));  // a run that goes on does not read it
  }
  for (const std::string& file : {c.nccl.tuning_file, c.cuda.gemm_plans}) {
    if (!file.empty()) use.folders.push_back(fs::path(absolute_path(file)).parent_path());
  }
  use.folders.emplace_back("/tmp");
  std::ranges::sort(use.folders);
  use.folders.erase(std::unique(use.folders.begin(), use.folders.end()), use.folders.end());
  return use;
}

}  // namespace

ContainerFiles set_container(JobScript& job, const RunConfig& config) {
  ContainerFiles out;
  const ContainerProfile& container = job.profile.container;
  if (!job.profile.software.container.empty()) {
    const SoftwareProfile& software = job.profile.software;
    out.octet_train = container_script(software.container, software.container_program);
    job.octet_train = job.run_dir + "/octet-train.sh";
  }
  if (container.image.empty()) return out;
  const ContainerUse use = container_use(config, job.working_dir);
  for (const std::string& mount : container_mounts(container, use)) {
    if (mount_problem(mount).empty()) continue;
    throw usage_error("submit",
                      "{}: cannot be mounted in the container, since its name has a colon or a comma; expected another "
                      "folder, or one above it in container.mounts",
                      in_quotes(mount.substr(0, mount.size() / 2)));
  }
  const bool gpus = job.profile.gpus.per_node > 0;
  out.octet = container_octet(container, use, gpus);
  job.octet = job.run_dir + "/octet.sh";
  job.octet_train = program_in(container, "octet-train");
  job.container_options = pyxis_options(container, use);
  if (container.runtime == ContainerRuntime::pyxis) {
    job.octet_in_step = program_in(container, "octet");
  } else {
    out.octet_train = container_script(apptainer_words(container, use, gpus), job.octet_train);
    job.octet_train = job.run_dir + "/octet-train.sh";
  }
  return out;
}

}  // namespace octet::submit
