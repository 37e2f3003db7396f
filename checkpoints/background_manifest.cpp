#include "checkpoints/background_manifest.h"

#include <chrono>

#include "checkpoints/commit.h"

namespace octet::checkpoint {
namespace {

WrittenManifest run(const std::string& root, const RunState& state, const std::shared_ptr<const SavePlan>& plan,
                    const std::vector<StoredFile>& files, const Owner& owner) {
  const auto start = std::chrono::steady_clock::now();
  const Manifest manifest = make_manifest(state, *plan, files);
  const std::string directory = write_manifest(root, manifest, owner);
  Verdicts::Files seen = Verdicts::look_at(directory, manifest.files);
  return {std::move(seen), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace

void BackgroundManifest::start(std::string root, RunState state, std::shared_ptr<const SavePlan> plan,
                               std::vector<StoredFile> files, Owner owner) {
  running_ = std::async(std::launch::async | std::launch::deferred, run, std::move(root), std::move(state),
                        std::move(plan), std::move(files), std::move(owner));
}

bool BackgroundManifest::is_done() const {
  return !running_.valid() || running_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

}  // namespace octet::checkpoint
