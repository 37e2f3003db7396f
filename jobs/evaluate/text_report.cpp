#include "jobs/evaluate/text_report.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "src/base/files.h"
#include "src/base/replace_file.h"

namespace octet::evaluate {
namespace {

std::string shown(const Estimate& e, bool sign) {
  const auto number = [sign](double x) { return sign ? fmt::format("{:+.6f}", x) : fmt::format("{:.6f}", x); };
  if (!e.interval) return number(e.value) + "  (one document: no interval)";
  return fmt::format("{}  [{}, {}]", number(e.value), number(e.interval->low), number(e.interval->high));
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

void put(Json& json, const std::string& key, const std::optional<Estimate>& e) {
  json[key] = e ? Json(e->value) : Json();
  json[key + "_interval"] = e && e->interval ? Json({e->interval->low, e->interval->high}) : Json();
}

std::string text_of(const TextSummary& s) {
  std::string text = fmt::format("documents      {}: {} tokens", s.documents, s.tokens);
  if (s.bytes) text += fmt::format(", {} bytes", *s.bytes);
  text += "\nloss           " + shown(s.loss, false) + "\nperplexity     " + shown(s.perplexity, false);
  text += "\nbits per byte  " + (s.bits_per_byte ? shown(*s.bits_per_byte, false) : "not known without the tokenizer");
  return text;
}

std::string text_of(const TextDifference& d) {
  std::string text = "loss           " + (d.loss ? shown(*d.loss, true) : "of other tokens: not to be compared");
  if (d.bits_per_byte) text += "\nbits per byte  " + shown(*d.bits_per_byte, true);
  return text;
}

Json json_of(const TextSummary& s) {
  Json json{{"documents", s.documents}, {"tokens", s.tokens}, {"bytes", or_null(s.bytes)}};
  put(json, "loss", s.loss);
  put(json, "perplexity", s.perplexity);
  put(json, "bits_per_byte", s.bits_per_byte);
  if (s.bits_per_byte) json["bits_per_byte,none"] = s.bits_per_byte->value;  // lm-eval's key
  return json;
}

Json json_of(const TextDifference& d) {
  Json json;
  put(json, "loss", d.loss);
  put(json, "bits_per_byte", d.bits_per_byte);
  return json;
}

Json bootstrap_json(const BootstrapOptions& bootstrap) {
  return {{"samples", bootstrap.samples}, {"seed", bootstrap.seed}};
}

std::string document_lines(const std::vector<DocumentScore>& scores) {
  std::string lines;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const DocumentScore& s = scores[i];
    const double loss = s.loss_sum / static_cast<double>(s.tokens);
    Json json{
        {"doc_id", i},  {"tokens", s.tokens},          {"bytes", or_null(s.bytes)}, {"log_likelihood", -s.loss_sum},
        {"loss", loss}, {"perplexity", std::exp(loss)}};
    const bool known = s.bytes && *s.bytes > 0;
    json["bits_per_byte"] = known ? Json(s.loss_sum / std::numbers::ln2 / static_cast<double>(*s.bytes)) : Json();
    lines += json.dump() + "\n";
  }
  return lines;
}

void write_result(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = folder + "/" + name;
  if (!replace_file(path, text)) throw not_written("evaluate", path);
}

}  // namespace octet::evaluate
