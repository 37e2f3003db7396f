#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/corpus/chunk_encoder.h"
#include "src/corpus/document_splitter.h"
#include "src/corpus/file_format.h"
#include "src/data/token_file.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// A text as the model is asked for it: without what stands before or behind a document.
struct EvaluatedDocument {
  std::vector<std::int32_t> tokens;
  std::optional<std::int64_t> bytes{};  ///< of the text; none where no tokenizer is there to say it
};

/// Documents in order, one at a time. One thread.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// False at the end. Usage error for a file that is broken or changed.
  virtual bool next(EvaluatedDocument& document) = 0;
  /// How much of the input was read so far, 0 to 1.
  virtual double share() const = 0;
};

/// Documents of a token file. A first token `bos` and a last one `eos` are left out: likelihoods are those of the text,
/// the same as by read_texts. `tokenizer` (may be null) says how many bytes tokens stand for;
/// only ids below `vocab_size` are taken. Usage error for a file without documents.
struct TokenDocuments {
  std::shared_ptr<const TokenFile> file;
  std::int64_t vocab_size = 0;
  std::optional<std::int32_t> bos{}, eos{};
  const Tokenizer* tokenizer = nullptr;
};
std::unique_ptr<DocumentReader> read_token_documents(const TokenDocuments& options);

/// Documents of texts as `octet prepare` reads them. The tokenizer outlives the reader.
struct TextDocuments {
  std::string input;                   ///< a file, a folder, a pattern or @LIST (src/corpus/input_files.h)
  std::optional<TextFormat> format{};  ///< none: told by content and name
  std::string field = "text";
  SplitDocuments split = SplitDocuments::none;
  std::int64_t max_document = 64 << 20;  ///< bytes; a longer record or text that cannot be cut is refused
};
std::unique_ptr<DocumentReader> read_texts(const TextDocuments& options, const Tokenizer& tokenizer);

}  // namespace octet
