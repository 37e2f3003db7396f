#include "src/base/options/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <sstream>
#include <string_view>

#include "src/base/error.h"

namespace octet {
namespace {

/// Where the content of one document begins.
class DocumentEvents : public YAML::EventHandler {
 public:
  bool is_empty() const { return line_ == 0; }
  int line() const { return line_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { met(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { met(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    met(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    met(mark);
  }
  void OnMapEnd() override {}

 private:
  void met(const YAML::Mark& mark) {
    if (line_ == 0) line_ = mark.line + 1;
  }

  int line_ = 0;
};

/// Throws where the text has a second document. (Of some texts that are no YAML, yaml-cpp reads documents without end.)
void refuse_second_document(const std::string& text, const std::string& source) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  DocumentEvents first, second;
  if (parser.HandleNextDocument(first) && parser.HandleNextDocument(second) && !second.is_empty()) {
    throw usage_error("config", "{}:{}: a second YAML document, expected one in a file", source, second.line());
  }
}

/// The length of the UTF-8 character at the start of `text`, which is not empty; 0 where none is (Unicode's table 3-7).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

void refuse_what_is_no_text(const std::string& text, const std::string& source) {
  std::int64_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    const std::size_t length = character_length(std::string_view(text).substr(i));
    if (length == 0) {
      throw usage_error("config", "{}:{}: the byte 0x{:02x} is not UTF-8, expected text, also in the names of files",
                        source, line, static_cast<unsigned char>(c));
    }
    i += length;
    if ((c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      throw usage_error("config", "{}:{}: the character 0x{:02x}, expected YAML, which is text", source, line, int{c});
    }
  }
}

YAML::Node yaml_document(const std::string& text, const std::string& source) {
  refuse_what_is_no_text(text, source);
  try {
    refuse_second_document(text, source);
    YAML::Node document = YAML::Load(text);
    if (document.IsNull()) throw usage_error("config", "{}: the file is empty, expected a map of options", source);
    return document;
  } catch (const YAML::Exception& error) {
    throw usage_error("config", "{}:{}: no valid YAML: {} (column {})", source, error.mark.line + 1, error.msg,
                      error.mark.column + 1);
  }
}

}  // namespace octet
