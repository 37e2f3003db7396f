#include "checkpoints/hugging_face/export.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoints/format/durable.h"
#include "checkpoints/format/model_tensors.h"
#include "checkpoints/hugging_face/hugging_face.h"
#include "checkpoints/hugging_face/safetensors.h"

namespace octet::checkpoint {
namespace {

/// The model's tensors in files of at most max_shard_bytes.
std::vector<std::vector<SafetensorsEntry>> plan_files(const ExportOptions& options) {
  std::vector<std::vector<SafetensorsEntry>> files(1);
  std::int64_t in_file = 0;
  for (const StoredTensor& t : model_tensors(options.model)) {
    const std::int64_t bytes = t.shape.elements() * size_of(options.type);
    if (!files.back().empty() && in_file + bytes > options.max_shard_bytes) {
      files.emplace_back();
      in_file = 0;
    }
    in_file += bytes;
    files.back().push_back({.name = hugging_face_name(t.name),
                            .dtype = std::string(names_of(options.type).safetensors),
                            .shape = t.shape.list()});
  }
  return files;
}

std::string data_file_name(std::size_t file, std::size_t files) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", file + 1, files);
}

SafetensorsHeader header_of(const std::vector<SafetensorsEntry>& file, const ExportOptions& options) {
  // Readers of Hugging Face refuse a file that does not say "format".
  return lay_out_safetensors(file, {{"format", "pt"}, {"producer", options.program}});
}

std::string index_json(const std::vector<std::vector<SafetensorsEntry>>& files, std::int64_t bytes) {
  nlohmann::ordered_json json;
  json["metadata"]["total_size"] = bytes;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (const SafetensorsEntry& t : files[f]) json["weight_map"][t.name] = data_file_name(f, files.size());
  }
  return json.dump(2) + "\n";
}

/// Their masters, by name, in the same order.
std::vector<StoredTensor> masters(const ModelConfig& model) {
  auto tensors = model_tensors(model);
  for (StoredTensor& t : tensors) t.name = stored_name(TensorKind::master, t.name);
  return tensors;
}

}  // namespace

ExportReport export_hugging_face(const std::vector<WholeCheckpoint>& from, const std::string& to,
                                 const ExportOptions& options, const ByteProgress& progress) {
  for (const WholeCheckpoint& c : from) check_model(c.manifest.tensors, options.model, c.directory);
  const auto files = plan_files(options);
  const auto tensors = masters(options.model);
  ExportReport report{.tensors = static_cast<std::int64_t>(tensors.size()),
                      .bytes = bytes_of(tensors) / 4 * size_of(options.type),
                      .files = static_cast<int>(files.size())};
  PendingDirectory pending(to, report.bytes + report.tensors * 1024);
  const std::string& folder = pending.temporary();
  MeanReader reader(from, tensors);
  Rounding rounded(options.type);
  auto part = reader.parts().begin();
  std::int32_t tensor = 0;
  for (std::size_t f = 0; f < files.size(); ++f) {
    SafetensorsWriter writer(folder + "/" + data_file_name(f, files.size()), header_of(files[f], options));
    for (const std::int32_t end = tensor + static_cast<std::int32_t>(files[f].size()); tensor < end; ++tensor) {
      for (; part != reader.parts().end() && part->tensor == tensor; ++part) {
        const std::int64_t elements = part->box.extent.elements();
        writer.append(rounded(reader.next(), tensors[static_cast<std::size_t>(tensor)], *part),
                      elements * size_of(options.type));
        if (progress) progress(elements * 4);
      }
    }
    writer.finish();
  }
  report.small = rounded.small();
  write_file(folder + "/model.safetensors.index.json", index_json(files, report.bytes));
  write_file(folder + "/config.json", hugging_face_config(options.model, options.max_positions,
                                                          std::string(names_of(options.type).torch), options.ids));
  for (const PlainFile& file : options.beside) write_file(folder + "/" + file.name, file.bytes);
  const bool has_generation = std::ranges::count(options.beside, generation_config, &PlainFile::name) > 0;
  if (!has_generation && !options.ids.empty()) {
    write_file(folder + "/" + generation_config, hugging_face_generation_config(options.ids));
  }
  pending.commit();
  return report;
}

}  // namespace octet::checkpoint
