// Texts of a corpus: the beginning of a file, JSONL, packed files, and what stands in a folder of parts.
#include "src/base/error.h"
#include "src/corpus/chunk_encoder.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/file_format.h"
#include "src/corpus/part_folder.h"
#include "src/corpus/utf8.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

const std::string records =
    "{\"id\": 1, \"text\": \"a\\n\\u00e9 \xF0\x9F\x98\x80 \\ud83d\\ude00\", \"x\": [1, {\"text\": null}]}\n\n"
    "{\"text\": \"\"}\r\n{\"text\": null}\n[]\n{\"text\": \"\\ud83d\xE2\x82\"}\n{\"text\": \"last\"}";

/// The ids of all chunks.
std::vector<std::int32_t> ids_of(const InputUnit& unit, std::int64_t chunk_bytes) {
  static const auto tokenizer = make_tokenizer("bytes");
  const ReaderOptions read{.split = SplitDocuments::blank_lines, .chunk_bytes = chunk_bytes, .max_document = 4096};
  ChunkEncoder encoder(*tokenizer, {.bad_utf8 = BadUtf8::replace, .max_document = 4096});
  const auto reader = read_unit(unit, read, *tokenizer);
  std::vector<std::int32_t> ids;
  Chunk chunk;
  while (reader->next(chunk)) {
    const EncodedChunk encoded = encoder.encode(chunk);
    ids.insert(ids.end(), encoded.ids.begin(), encoded.ids.end());
    if (encoded.refused) throw usage_error("corpus", "{}", encoded.refused->what);
  }
  return ids;
}

/// A file of any kind; what is read does not depend on the pieces in which it is.
void read_file(const std::string& text) {
  const std::string path = put("input", text);
  const FileFormat format = format_of_file(path, {});
  const InputUnit unit{path, 0, static_cast<std::int64_t>(text.size()), format};
  if (ids_of(unit, 1 << 20) != ids_of(unit, 7)) throw std::logic_error("the size of chunks makes a difference");
}

void read_packed(const std::string& text, Packing packing) {
  const auto stream = open_packed(put("packed", text), packing);
  std::vector<char> block(4096);
  for (std::size_t all = 0, got = 1; got > 0 && all < (8 << 20); all += got) got = stream->read(block);
}

/// A line that is mended has no bad UTF-8 any more, and what was good stays.
void mend(const std::string& text) {
  std::string mended, again;
  const bool good = mend_json(text, mended) == 0;
  if (good && mended != text) throw std::logic_error("a good line was changed");
  if (find_bad_utf8(mended) || mend_json(mended, again) != 0) throw std::logic_error("a mended line is bad");
}

/// The note of a part that is finished.
void read_part(const std::string& text) {
  static const PartFolder parts((folder() / "x").string(), {{"--input", "y"}}, true);
  put("x.parts/00000.idx", "");
  put("x.parts/00000.json", text);
  const auto counts = parts.finished(0);
  if (!counts) return;
  parts.set_finished(1, *counts);
  put("x.parts/00001.idx", "");
  if (!parts.finished(1)) throw std::logic_error("what was read is not read again");
}

/// What a folder of parts was made of: of anything but this it is begun anew or refused.
void read_making(const std::string& text) {
  std::filesystem::create_directories(folder() / "y.parts");
  put("y.parts/making.json", text);
  PartFolder parts((folder() / "y").string(), {{"--input", "y"}}, false);
}

std::vector<std::string> packed_seeds(const std::string& program) {
  const std::string path = put("seed", records), out = (folder() / "seed.packed").string();
  if (std::system((program + " -q -c " + path + " >" + out).c_str()) != 0) return {records};  // not installed
  return {*read_text_file(out)};
}

std::vector<std::string> part_seeds() {
  const PartFolder parts((folder() / "seed").string(), {{"--input", "y"}}, true);
  parts.set_finished(0, {});
  return {*read_text_file(parts.prefix_of(0) + ".json")};
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"corpus-file", read_file, texts({records, "plain\n\n \n\ntext", "\xEF\xBB\xBF" + records})},
      {"gzip", [](const std::string& text) { read_packed(text, Packing::gzip); }, [] { return packed_seeds("gzip"); }},
      {"zstd", [](const std::string& text) { read_packed(text, Packing::zstd); }, [] { return packed_seeds("zstd"); }},
      {"mend-json", mend, texts({records})},
      {"part", read_part, part_seeds},
      {"making", read_making, texts({"{\"--input\": \"y\"}"})},
  };
  return all;
}

}  // namespace octet::fuzz
