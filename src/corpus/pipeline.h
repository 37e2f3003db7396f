#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/corpus/chunk_encoder.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/part_plan.h"
#include "src/corpus/part_writer.h"

namespace octet {

struct PipelineOptions {
  int workers = 1;
  ReaderOptions read{};
  EncodeOptions encode{};
};

/// Which parts are to be made, and where they go. The calls come from any worker, one at a time.
struct PartWork {
  std::span<const InputPart> parts;
  std::vector<std::size_t> todo;  ///< places in parts, in order
  std::function<std::unique_ptr<PartWriter>(std::size_t part)> open;
  std::function<void(std::size_t part, const PartCounts&)> finished;
};

/// Text that may be in memory at a time, not yet written; a worker has twice a chunk, and documents that are longer
/// than a chunk come on top, one for each part that is worked on. The ids need up to four times as much.
constexpr std::int64_t text_in_flight(const PipelineOptions& options) {
  return 2 * (options.workers + 1) * options.read.chunk_bytes;
}

/// Reads, encodes and writes parts, by `workers` threads of which each does what is needed next: writing chunks whose
/// turn it is, encoding, reading on (a part is read by one thread at a time) or beginning a further part. A part's
/// tokens do not depend on the number of workers. The error of the first part that has one ends the work and is thrown;
/// what is not finished then is gone.
void work_on_parts(const PartWork& work, const Tokenizer& tokenizer, const PipelineOptions& options);

}  // namespace octet
