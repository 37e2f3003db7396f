#include "src/cluster/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/options/text.h"
#include "src/cluster/shell_text.h"

namespace octet {
namespace {

/// SOURCE, TARGET and, where there are any, FLAGS.
std::vector<std::string> parts_of(std::string_view mount) {
  std::vector<std::string> parts(1);
  for (const char c : mount) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

bool holds(const std::string& folder, const std::string& path) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

std::string workdir_of(const ContainerProfile& container, const ContainerUse& use) {
  return container.workdir.empty() ? use.workdir : container.workdir;
}

std::string command(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_word(word);
  }
  return out;
}

}  // namespace

std::vector<std::string> container_mounts(const ContainerProfile& container, const ContainerUse& use) {
  std::vector<std::string> targets, out = container.mounts;
  for (const std::string& mount : container.mounts) targets.push_back(parts_of(mount).at(1));
  for (const std::string& folder : use.folders) {
    const bool seen = std::ranges::any_of(targets, [&](const std::string& target) { return holds(target, folder); });
    const bool within = std::ranges::any_of(
        use.folders, [&](const std::string& other) { return other != folder && holds(other, folder); });
    if (seen || within) continue;
    targets.push_back(folder);
    out.push_back(fmt::format("{}:{}", folder, folder));
  }
  return out;
}

std::vector<std::string> pyxis_options(const ContainerProfile& container, const ContainerUse& use) {
  if (container.image.empty() || container.runtime != ContainerRuntime::pyxis) return {};
  std::vector<std::string> out = {"--container-image=" + container.image,
                                  "--container-mounts=" + joined(container_mounts(container, use), ","),
                                  "--container-workdir=" + workdir_of(container, use)};
  out.insert(out.end(), container.options.begin(), container.options.end());
  return out;
}

std::vector<std::string> apptainer_words(const ContainerProfile& container, const ContainerUse& use, bool gpus) {
  std::vector<std::string> out = {"apptainer", "exec"};
  if (gpus) out.emplace_back("--nv");
  for (const std::string& mount : container_mounts(container, use)) {
    out.emplace_back("--bind");
    out.push_back(mount);
  }
  out.emplace_back("--pwd");
  out.push_back(workdir_of(container, use));
  out.insert(out.end(), container.options.begin(), container.options.end());
  out.push_back(container.image);
  return out;
}

std::string program_in(const ContainerProfile& container, const std::string& name) {
  return container.programs.empty() ? name : fmt::format("{}/{}", container.programs, name);
}

std::string container_octet(const ContainerProfile& container, const ContainerUse& use, bool gpus) {
  std::string script = "#!/bin/bash\n# Written by octet submit: octet in its container.\n";
  if (container.runtime == ContainerRuntime::apptainer) {
    script += fmt::format("exec {}", command(apptainer_words(container, use, gpus)));
  } else {
    script += fmt::format(
        "exec srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 "
        "--nodelist=\"$SLURMD_NODENAME\" "
        "\\\n  --cpu-bind=none --mpi=none --no-kill --input=none {}",
        command(pyxis_options(container, use)));
  }
  return script + fmt::format(" {} \"$@\"\n", shell_word(program_in(container, "octet")));
}

std::string mount_problem(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  const bool absolute = parts.size() >= 2 && parts[0].starts_with('/') && parts[1].starts_with('/');
  if (!absolute || parts.size() > 3) return "expected SOURCE:TARGET or SOURCE:TARGET:FLAGS with absolute paths";
  // pyxis and apptainer split at them.
  return text.find_first_of(",\n") == std::string::npos ? "" : "found a comma or a line break, which no mount can have";
}

std::string container_option_problem(const std::string& text, ContainerRuntime runtime) {
  if (text.empty() || text.find('\n') != std::string::npos) return "expected one word";
  if (runtime == ContainerRuntime::apptainer) return "";
  constexpr std::array<std::pair<std::string_view, const char*>, 3> own = {
      {{"--container-image", "container.image says it"},
       {"--container-mounts", "container.mounts says it"},
       {"--container-workdir", "container.workdir says it"}}};
  const std::string name = text.substr(0, text.find('='));
  for (const auto& [option, why] : own) {
    if (name == option) return why;
  }
  const bool of_pyxis = name.starts_with("--container-") || name.starts_with("--no-container-");
  return of_pyxis ? ""
                  : "expected an option of pyxis, --container-... or --no-container-...; others are for "
                    "launcher.srun_options";
}

}  // namespace octet
