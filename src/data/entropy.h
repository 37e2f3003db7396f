#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/data/sampler.h"
#include "src/data/token_file.h"

namespace octet {

/// Conditional entropies of a byte stream's empirical distribution in nats a byte, by order:
///   H_k = - sum over (context c of k bytes, next byte b) of n(c, b) / N_k * ln(n(c, b) / n(c))
/// A model that has learned nothing but byte frequencies scores H_0, byte pairs H_1, triples H_2.
struct ByteEntropies {
  double order0 = 0;
  double order1 = 0;
  double order2 = 0;
};

/// Counts bytes, pairs and triples of a stream. The table of triples is 128 MiB of address space, of which only the
/// pages of triples that occur become memory (about 10 MiB for English text). Not thread-safe.
class ByteEntropyCounter {
 public:
  ByteEntropyCounter();

  /// Forgets the context: what follows is a text of its own.
  void begin();
  /// Sets the byte before the next one without counting it.
  void context(std::int32_t byte);
  /// The stream's next bytes, ids in [0, 256); a byte counts for order k when k bytes before it are known.
  void add(std::span<const std::int32_t> bytes);

  ByteEntropies entropies() const;

 private:
  struct Free {
    void operator()(std::uint64_t* memory) const { std::free(memory); }
  };
  std::vector<std::uint64_t> single_;
  std::vector<std::uint64_t> pairs_;
  std::unique_ptr<std::uint64_t[], Free> triples_;
  std::uint32_t recent_ = 0;  ///< the last two bytes
  int known_ = 0;             ///< how many of them are valid
};

/// The entropies of the whole token stream, end-of-document tokens included; nothing for a file whose tokens are not
/// bytes (uint8).
std::optional<ByteEntropies> stream_entropies(const TokenFile& file);

/// The entropies of the targets of the first `batches` validation batches (0: all), with the context that the model
/// has: what a validation loss over the same batches is to be compared with. Nothing unless vocab_size is 256.
std::optional<ByteEntropies> validation_entropies(const Sampler& sampler, std::int64_t batches = 0);

}  // namespace octet
