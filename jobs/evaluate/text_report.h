#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/evaluate/bootstrap.h"
#include "src/evaluate/text_scores.h"

namespace octet::evaluate {

/// Of results: keys stay in the order in which they are told.
using Json = nlohmann::ordered_json;

/// Lines for people: loss, perplexity and bits per byte, each with its interval.
std::string text_of(const TextSummary& summary);
std::string text_of(const TextDifference& difference);

/// The same for results.json: "loss", "loss_interval": [low, high], ...; what is not known is null.
Json json_of(const TextSummary& summary);
Json json_of(const TextDifference& difference);

/// The draws behind the intervals.
Json bootstrap_json(const BootstrapOptions& bootstrap);

/// Members KEY and KEY_interval, [low, high]; null where they are not known.
void put(Json& json, const std::string& key, const std::optional<Estimate>& estimate);

/// documents.jsonl: a line a document, with its number, tokens, bytes, loss, perplexity and bits_per_byte.
std::string document_lines(const std::vector<DocumentScore>& scores);

/// Writes a file of the folder of results. Usage error where it cannot be made.
void write_result(const std::string& folder, const std::string& name, const std::string& text);

}  // namespace octet::evaluate
