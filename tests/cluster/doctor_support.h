#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "src/cluster/doctor/doctor_checks.h"
#include "tests/data/support.h"

namespace octet::test {

inline const std::string fixtures = OCTET_SOURCE_DIR "/tests/cluster/doctor/";

/// What the two snapshots should be.
inline ClusterProfile expected_node() {
  return read_profile("ibm-infiniband");
}

/// State and texts of all findings of one check, a line each.
inline std::string lines_of_check(const Findings& findings, const std::string& check) {
  std::string out;
  for (const Finding& f : findings) {
    if (f.check == check) out += fmt::format("{}: {}\n", name_of(f.state), f.seen);
  }
  return out;
}

inline Findings examine_snapshot(const std::string& folder, const ClusterProfile* profile) {
  const Machine machine(folder);
  return examine({machine, profile, "/gpfs/run"});
}

/// A snapshot of its own: a copy of a good node, with files changed.
class Changed {
 public:
  Changed() {
    std::filesystem::copy(fixtures + "good", folder_.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  }
  Changed& with(const std::string& file, const std::string& text) {
    write_bytes(folder_ / file, text);
    return *this;
  }
  Changed& without(const std::string& file) {
    std::filesystem::remove_all(folder_ / file);
    return *this;
  }
  std::string check(const std::string& name, const ClusterProfile* profile) const {
    return lines_of_check(examine_snapshot(folder_.path(), profile), name);
  }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

}  // namespace octet::test
