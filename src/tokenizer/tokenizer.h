#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// A token with a name of its own, such as <|end_of_text|>.
struct SpecialToken {
  std::string text;
  std::int32_t id = 0;
};

/// What tells a tokenizer apart and what others must know of it.
struct TokenizerInfo {
  std::string kind;                   ///< bytes, bpe, tiktoken or sentencepiece
  std::string path;                   ///< of its file; empty for bytes
  std::uint64_t fingerprint = 0;      ///< XXH3-64 of its file; 0 for bytes
  std::int32_t vocab_size = 0;        ///< ids are in [0, vocab_size)
  std::optional<std::int32_t> bos{};  ///< what may stand before a document
  std::optional<std::int32_t> eos{};  ///< what may stand behind one
  std::vector<SpecialToken> special{};
  /// Whether the library that the file is made for puts them around every text unless it is told otherwise.
  bool adds_bos = false, adds_eos = false;
};

/// Turns text into ids, with the caches that make it fast. It belongs to one thread.
class Encoder {
 public:
  virtual ~Encoder() = default;

  /// Appends the ids of `text`: a whole document, or a piece that ends at a place which Tokenizer::last_cut has named.
  /// Neither bos nor eos is added. Text for a tokenizer that needs UTF-8 must be that.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;
};

/// A tokenizer does not change once it is made, so threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  const TokenizerInfo& info() const { return info_; }
  /// The tokenizer must outlive its encoders.
  virtual std::unique_ptr<Encoder> make_encoder() const = 0;
  /// The bytes of ids; a usage error for an id that is none of the vocabulary. Special tokens come as their text.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  /// Whether text must be UTF-8.
  virtual bool needs_utf8() const = 0;
  /// Offset of the first byte that text must not hold, whatever its encoding, if there is one.
  virtual std::optional<std::size_t> find_refused(std::string_view text) const = 0;
  /// The last place behind which a document, of which `text` is the beginning or a further piece, may be cut so that
  /// the pieces' ids are those of the whole; 0 where there is none. More text follows.
  virtual std::size_t last_cut(std::string_view text) const = 0;

 protected:
  explicit Tokenizer(TokenizerInfo info) : info_(std::move(info)) {}

 private:
  TokenizerInfo info_;
};

}  // namespace octet
