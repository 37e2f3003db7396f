#include "checkpoints/restore/open_shards.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "src/base/open_files.h"

namespace octet::checkpoint {
namespace {

std::atomic<std::size_t> kept_by_process = 0;  // a tool may read several checkpoints side by side

}  // namespace

OpenShards::Kept::Kept(const std::string& path) : reader(path) {
  ++kept_by_process;
}
OpenShards::Kept::~Kept() {
  --kept_by_process;
}

std::size_t OpenShards::most_by_default() {
  constexpr rlim_t of_others = 256;
  raise_limit_of_open_files();
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= of_others) return 0;
  return std::min<std::size_t>((files.rlim_cur - of_others) / 2, enough);
}

const ShardReader& OpenShards::open(const std::string& path) {
  if (const auto kept = kept_.find(path); kept != kept_.end()) return kept->second.reader;
  if (kept_by_process < most_) return kept_.try_emplace(path, path).first->second.reader;
  if (!passing_ || passing_path_ != path) {
    passing_.reset();  // never two at a time
    passing_.emplace(path);
    passing_path_ = path;
  }
  return *passing_;
}

void OpenShards::close_all() {
  kept_.clear();
  passing_.reset();
}

}  // namespace octet::checkpoint
