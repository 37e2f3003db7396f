#include "src/tokenizer/sentencepiece/model_facts.h"

#include <algorithm>
#include <unordered_set>

#include "src/base/error.h"
#include "src/base/utf8_piece.h"
#include "src/tokenizer/sentencepiece/character_map.h"
#include "src/tokenizer/sentencepiece/wire_reader.h"

namespace octet {
namespace {

using Type = SentencePieceFacts::Type;

constexpr std::size_t most_pieces = 1 << 24;

class FactsReader {
 public:
  explicit FactsReader(const std::string& file) : file_(file) {}

  SentencePieceFacts read(std::string_view bytes) {
    over(bytes, "the file", [&](const WireReader::Field& field) {
      if (field.number == 1) read_piece(of_bytes(field, "a piece"));
      if (field.number == 2) read_trainer(of_bytes(field, "trainer_spec"));
      if (field.number == 3) read_normalizer(of_bytes(field, "normalizer_spec"));
      if (field.number == 5) read_normalizer(of_bytes(field, "denormalizer_spec"));
    });
    check_pieces();
    return std::move(facts_);
  }

 private:
  template <typename Call>
  void over(std::string_view bytes, std::string_view what, const Call& call) const {
    WireReader reader(bytes);
    while (!reader.done()) {
      const auto field = reader.next();
      if (!field) throw damaged("{} breaks off", what);
      call(*field);
    }
  }

  template <typename... Args>
  Error damaged(fmt::format_string<Args...> what, Args&&... args) const {
    return usage_error("tokenizer", "{}: is no SentencePiece model: {}", file_,
                       fmt::format(what, std::forward<Args>(args)...));
  }

  std::string_view of_bytes(const WireReader::Field& field, std::string_view what) const {
    if (field.type != 2) throw damaged("{} is no message", what);
    return field.bytes;
  }

  void read_piece(std::string_view bytes) {
    SentencePieceFacts::Piece piece;
    over(bytes, "a piece", [&](const WireReader::Field& field) {
      if (field.number == 1) piece.text = of_bytes(field, "the text of a piece");
      if (field.number != 3) return;
      if (field.type != 0 || field.value < 1 || field.value > 6)
        throw damaged("a piece is of the type {}", field.value);
      piece.type = static_cast<Type>(field.value);
    });
    if (facts_.pieces.size() == most_pieces) throw damaged("it has more than {} pieces", most_pieces);
    facts_.pieces.push_back(piece);
  }

  void read_trainer(std::string_view bytes) {
    over(bytes, "trainer_spec", [&](const WireReader::Field& field) {
      if (field.number == 3) facts_.model = static_cast<int>(std::min<std::uint64_t>(field.value, 100));
      if (field.number == 35) facts_.byte_fallback = field.value != 0;
    });
  }

  void read_normalizer(std::string_view bytes) const {
    over(bytes, "a normalizer", [&](const WireReader::Field& field) {
      if (field.number != 2) return;
      const std::string wrong = wrong_in_character_map(of_bytes(field, "precompiled_charsmap"));
      if (!wrong.empty()) throw damaged("precompiled_charsmap: {}", wrong);
    });
  }

  void check_pieces() const {
    std::unordered_set<std::string_view> texts;
    int unknown = 0;
    std::size_t bytes = 0;
    for (std::size_t id = 0; id < facts_.pieces.size(); ++id) {
      const auto& piece = facts_.pieces[id];
      // The library keeps them as texts that end with a NUL.
      if (piece.text.empty() || piece.text.find('\0') != std::string_view::npos) {
        throw damaged("piece {} is empty or has a NUL", id);
      }
      if (!is_utf8(piece.text)) throw damaged("piece {} is no UTF-8", id);
      if (!texts.insert(piece.text).second) throw damaged("piece {} is there twice", id);
      unknown += piece.type == Type::unknown ? 1 : 0;
      bytes += piece.type == Type::byte ? 1 : 0;
    }
    if (unknown != 1) throw damaged("{} pieces stand for what is unknown; expected one", unknown);
    const std::size_t expected = facts_.byte_fallback ? 256 : 0;
    if (bytes != expected) throw damaged("{} pieces are bytes; expected {}", bytes, expected);
  }

  const std::string& file_;
  SentencePieceFacts facts_;
};

}  // namespace

bool is_sentencepiece_model(std::string_view bytes) {
  // The first field of a message is its first piece, the first field of that its text, and then come score and type.
  WireReader message(bytes);
  const auto piece = message.next();
  if (!piece || piece->number != 1 || piece->type != 2) return false;
  WireReader fields(piece->bytes);
  const auto text = fields.next();
  if (!text || text->number != 1 || text->type != 2) return false;
  const auto behind = fields.next();
  return behind ? behind->number == 2 || behind->number == 3 : fields.done();
}

SentencePieceFacts read_sentencepiece_facts(std::string_view bytes, const std::string& file) {
  return FactsReader(file).read(bytes);
}

}  // namespace octet
