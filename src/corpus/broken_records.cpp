#include "src/corpus/broken_records.h"

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {
namespace {

constexpr std::int64_t shown = 10;

}  // namespace

void BrokenRecords::add(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  ++count_;
  refuse_too_many(what);
  if (count_ <= shown) log::warning("{}; left out", what);
  if (count_ == shown) log::warning("further broken records are counted only");
}

void BrokenRecords::add(std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  count_ += count;
  refuse_too_many("");
}

void BrokenRecords::refuse_too_many(const std::string& last) const {
  if (count_ <= allowed_) return;
  throw usage_error("corpus", "{}{}broken records: {}, more than --max-bad {} allows", last, last.empty() ? "" : "; ",
                    count_, allowed_);
}

}  // namespace octet
