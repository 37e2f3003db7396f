#include "src/base/error.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/parquet_rows.h"

namespace octet {
namespace {

Error not_built(std::string_view room, const std::string& path) {
  return usage_error(room,
                     "{}: is Parquet, which this build does not read: run jobs/install-arrow.sh and build again "
                     "(docs/data.md), or convert it to JSONL",
                     path);
}

}  // namespace

std::unique_ptr<ChunkReader> read_parquet(const InputUnit& unit, const ReaderOptions& /*options*/) {
  throw not_built("corpus", unit.path);
}

void read_parquet_rows(std::string_view /*bytes*/, const std::string& path, std::string_view room,
                       const std::function<void(std::int64_t, const nlohmann::json&)>& /*read*/) {
  throw not_built(room, path);
}

}  // namespace octet
