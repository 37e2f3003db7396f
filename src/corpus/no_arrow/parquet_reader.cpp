#include "src/base/error.h"
#include "src/corpus/chunk_reader.h"

namespace octet {

std::unique_ptr<ChunkReader> read_parquet(const Unit& unit, const ReaderOptions& /*options*/) {
  throw usage_error(
      "corpus",
      "{}: is Parquet, which this build of octet does not read: run jobs/install-arrow.sh and build again "
      "(docs/data.md), or convert it to JSONL",
      unit.path);
}

}  // namespace octet
