#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoints/restore/resharding.h"
#include "checkpoints/restore/restore.h"
#include "tests/jobs/job.h"

namespace octet::test {

/// The committed checkpoints of a run, newest first.
inline std::vector<std::string> checkpoints_of(const TrainedRun& run) {
  return checkpoint::list_checkpoints(run.file("checkpoints"));
}

inline std::vector<std::int64_t> steps_of(const TrainedRun& run) {
  std::vector<std::int64_t> steps;
  for (const std::string& path : checkpoints_of(run)) steps.push_back(checkpoint::read_manifest(path).state.step);
  return steps;
}

/// All tensors of a checkpoint, whole, as their bytes.
inline std::map<std::string, std::string> tensors_of(const std::string& directory) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(directory);
  std::map<std::string, std::string> tensors;
  std::vector<checkpoint::WantedPiece> wanted;
  for (const checkpoint::StoredTensor& t : manifest.tensors) {
    std::string& bytes = tensors[t.name];
    bytes.resize(static_cast<std::size_t>(t.shape.elements() * size_of(t.dtype)));
    wanted.push_back(
        {.tensor = t.name, .box = {.offset = {}, .extent = t.shape}, .data = bytes.data(), .dtype = t.dtype});
  }
  checkpoint::read_pieces(directory, manifest, wanted);
  return tensors;
}

/// Both have the same tensors, to the bit; those of a model that has been trained.
inline void expect_same_tensors(const std::string& a, const std::string& b) {
  const auto first = tensors_of(a), second = tensors_of(b);
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(first.size() % 3, 0u);
  for (const auto& [name, bytes] : first) {
    const auto other = second.find(name);
    ASSERT_NE(other, second.end()) << name;
    EXPECT_TRUE(bytes == other->second) << name << " differs";
    EXPECT_NE(bytes.find_first_not_of('\0'), std::string::npos) << name << " is zero";
  }
}

}  // namespace octet::test
