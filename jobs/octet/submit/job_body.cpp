#include "jobs/octet/submit/job_body.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/installation.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

constexpr const char* folder = "slurm/train-body";

/// Those of the first folder that has any: never some of one version and some of another.
std::set<fs::path> parts() {
  std::set<fs::path> found;
  for (const std::string& place : installed_folders(folder)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(place, error)) {
      if (entry.path().extension() == ".sh") found.insert(entry.path());
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace

std::string job_body() {
  std::string body;
  for (const fs::path& part : parts()) {
    const std::string text = text_of_file("submit", part);
    const std::size_t begin = text.starts_with("# shellcheck shell=") ? text.find('\n') + 1 : 0;
    body += (body.empty() ? "" : "\n") + text.substr(begin);
  }
  if (!body.empty()) return body;
  throw usage_error("submit", "{} is not there, expected it in one of {}", folder,
                    fmt::join(installed_folders("slurm"), ", "));
}

}  // namespace octet::submit
