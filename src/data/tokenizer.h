#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Turns the bytes of documents into token ids, chunk by chunk, so that no document must fit into memory.
/// An object holds the state of one document at a time and belongs to one thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string_view name() const = 0;
  /// Ids are in [0, vocab_size).
  virtual std::int32_t vocab_size() const = 0;
  /// The id that `finish` puts behind a document; no text encodes to it.
  virtual std::int32_t end_of_document() const = 0;

  /// Offset of the first byte that text must not contain, if there is one.
  virtual std::optional<std::size_t> find_refused(std::span<const std::uint8_t> bytes) const = 0;
  /// Appends the ids of the document's next bytes; ids that depend on bytes still to come may be held back.
  virtual void encode(std::span<const std::uint8_t> bytes, std::vector<std::int32_t>& ids) = 0;
  /// Ends the document: appends what was held back and end_of_document().
  virtual void finish(std::vector<std::int32_t>& ids) = 0;
};

/// A tokenizer by name; a usage error lists the known names.
///   bytes   the id is the byte (vocabulary 256). The end of a document is id 0, so text with a NUL byte is refused.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

/// "bytes, ...", for help texts.
std::string tokenizer_names();

}  // namespace octet
