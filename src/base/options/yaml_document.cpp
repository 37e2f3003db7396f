#include "src/base/options/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

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

}  // namespace

void refuse_control_characters(const std::string& text, const std::string& source) {
  std::int64_t line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if ((c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      throw usage_error("config", "{}:{}: the character 0x{:02x}, expected YAML, which is text", source, line, int{c});
    }
  }
}

YAML::Node yaml_document(const std::string& text, const std::string& source) {
  refuse_control_characters(text, source);
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
